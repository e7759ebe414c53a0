// Reporting: tells headgated what the agent does: at once where something has changed, and else
// twice a second.
//
// Of a standby nothing is told, since targets are told of by their primary's agent; nor, where one
// can't be watched any more, that it can't.
//
// Names of sessions are asked for every two seconds, twice a second where one is new, and only of
// those that are shown.
//
// Thread-compatible.
//
//   absl::Status status = reporting.Watch(database, yielder, {.changed = !changes.empty(), ...});
//   reporting.TellTrouble("PostgreSQL can't be watched: ...", counted);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "client/agent/agent_report.h"
#include "client/agent/database.h"
#include "client/agent/headgated.h"
#include "client/agent/yielder.h"

namespace headgate::agent {

class Reporting {
 public:
  static constexpr int64_t kEachNs = 450'000'000;
  static constexpr int64_t kNamesEachNs = 2'000'000'000;

  // Null: nobody is told. It outlives this.
  explicit Reporting(Headgated* headgated) : headgated_(headgated) {}

  struct Look {
    bool changed = false;    // some session's rank
    std::string means = {};  // by which sessions yield
    Counted counted = {};
    int64_t now_ns = 0;  // monotonic
  };
  // After each look at the sessions. Errors: the database's.
  absl::Status Watch(Database& database, Yielder& yielder, const Look& look);
  // No session yields, and why.
  void TellTrouble(const std::string& why, const Counted& counted);
  // What is told from now on is of a standby, or is not. Whether that is news.
  bool SetStandby(bool is_standby);

 private:
  absl::Status RefreshNames(Database& database, const std::vector<Assignment>& yielding,
                            const std::vector<Assignment>& raised, int64_t now_ns);
  NamedSession NamedOf(int pid) const;

  Headgated* const headgated_;
  bool is_standby_ = false;
  int64_t told_at_ns_ = 0;
  int64_t named_at_ns_ = 0;
  double processor_seconds_before_ = 0;  // of yielders before this one
  double processor_seconds_ = 0;         // of this one
  absl::flat_hash_map<int, NamedSession> names_;
};

}  // namespace headgate::agent
