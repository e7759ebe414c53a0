// YieldProbe: whether a backend that is lowered yields to one that is not, on this machine, in the
// very group in which PostgreSQL's backends are.
//
// Two sessions of the agent's own spin on one processor. Once both have run, one of them is lowered
// by the means in question; while the other one runs for kMeasureNs more, the lowered one gets next
// to nothing, or it does not yield. Then it is put back, which has to be possible too. How busy the
// machine is makes it longer, and changes nothing of the outcome.
//
// It costs a processor half a second, and 4 s where that was too short.
//
// Thread-compatible.
//
//   absl::StatusOr<YieldProbe::Outcome> outcome = YieldProbe(options).Try(means);
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/agent/cpu_group.h"
#include "client/agent/database.h"
#include "client/agent/processes.h"

namespace headgate::agent {

class YieldProbe {
 public:
  static constexpr int64_t kWarmUpNs = 20'000'000;
  static constexpr int64_t kMeasureNs = 200'000'000;
  static constexpr double kMostShare = 0.1;  // of one that yields

  struct Outcome {
    int64_t lowered_ns = 0;  // what the lowered one ran
    int64_t other_ns = 0;    // while the other one ran for so long
    bool sets_io_priority = false;

    double share() const {
      return static_cast<double>(lowered_ns) / static_cast<double>(std::max<int64_t>(other_ns, 1));
    }
    bool yields() const { return share() <= kMostShare; }
  };

  explicit YieldProbe(const Database::Options& options) : options_(options) {}

  // Errors: Database's; PermissionDenied (a privilege is missing), FailedPrecondition (it can't be
  // done here), DeadlineExceeded (the two got too little processor time to say anything).
  absl::StatusOr<Outcome> Try(const Means& means);

 private:
  absl::StatusOr<Outcome> TryFor(const Means& means, absl::Duration time);

  const Database::Options options_;
};

// All that is known of yielding here.
struct YieldFindings {
  struct Finding {
    Means::Kind kind = Means::Kind::kGroup;
    bool yields = false;
    std::string said = {};  // "ran 1 ms while another ran 200 ms", or why it can't be
  };
  std::vector<Finding> findings = {};
  std::optional<Means> means = {};  // the first that yields
  std::unique_ptr<CpuGroup> group = {};
  double share = 1;           // of `means`
  bool is_undecided = false;  // the machine was too busy to try something

  // "yes, by a cgroup with cpu.idle", or "no, because ..."
  std::string Words() const;
  // "a cgroup with cpu.idle", or "a cgroup with cpu.idle: ...; SCHED_IDLE: ..."
  std::string MeansOrReasons() const;
};

enum class FindYield : uint8_t { kFirst, kAll };

// Tries the means one after the other, the most effective first. An error is one of the database.
absl::StatusOr<YieldFindings> FindMeans(const Database::Options& options, int postmaster,
                                        FindYield which);

}  // namespace headgate::agent
