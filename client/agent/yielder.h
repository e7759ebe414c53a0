// Yielder: has processes be what a plan says they should be, and knows which of them it has
// lowered.
//
// A session is touched only if its process is a child of the given postmaster, and is still the
// same afterwards: the instant at which the process began is read before, is in the journal, and is
// read again after the change. A process whose number was used again meanwhile is put back.
//
// Thread-compatible.
//
//   Yielder yielder(processes, journal, {.kind = Means::Kind::kIdleClass});
//   const std::vector<Yielder::Change> changes = yielder.Apply(assignments, postmaster);
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/agent/journal.h"
#include "client/agent/processes.h"
#include "client/agent/yield_plan.h"

namespace headgate::agent {

class Yielder {
 public:
  struct Change {
    enum class Kind : uint8_t {
      kYields,    // or yields again
      kRaised,    // for the assignment's reason
      kRestored,  // is no batch work any more
      kEnded,     // the process is gone
      kFailed,    // it is as it was, and should not be, or the other way round; told once
    };
    Kind kind = Kind::kYields;
    Assignment assignment = {};
    absl::Status why = {};  // kFailed
    bool is_news = true;    // else it comes and goes with the floor, once or twice a second
  };

  Yielder(Processes& processes, Journal& journal, Means means)
      : processes_(processes), journal_(journal), means_(std::move(means)) {}

  // Of all batch sessions that there are: whoever is not among them is restored.
  std::vector<Change> Apply(absl::Span<const Assignment> assignments, int postmaster);

  // All of them are as they were, or `why` says what is left.
  std::vector<Change> RestoreAll();

  bool Yields(int pid) const;
  size_t yielding() const { return yielding_; }
  size_t raised() const { return raised_; }
  // Some of them, those with the lowest numbers first.
  enum class Which : uint8_t { kYield, kRaised };
  std::vector<Assignment> Some(Which which, size_t most) const;

  // Adds what sessions have run since the last time, whatever their rank: of kMostCounted of them
  // at most, the others being next.
  static constexpr size_t kMostCounted = 64;
  void CountProcessorTime();
  // Of sessions since they were first seen, as far as it was counted; grows.
  double processor_seconds() const { return static_cast<double>(ran_ns_) * 1e-9; }

 private:
  struct Session {
    Assignment assignment;
    Record record;
    bool is_lowered = false;
    enum class Told : uint8_t { kNothing, kYields, kRaised } last_told = Told::kNothing;
    bool is_refused = false;  // nothing is tried again
    bool told = false;        // that something failed
    int64_t ran_ns = 0;       // as far as it was counted
    uint64_t round = 0;       // in which that was
  };

  void Assign(const Assignment& assignment, int postmaster, std::vector<Change>& changes);
  void Lower(Session& session, int postmaster, std::vector<Change>& changes);
  void TellRaised(Session& session, std::vector<Change>& changes);
  absl::Status TryToLower(Session& session, int postmaster);
  // Whether it is as it was.
  bool Restore(Session& session, Change::Kind kind, std::vector<Change>& changes);
  void Tell(Session& session, absl::Status why, std::vector<Change>& changes);
  void AddProcessorTime(Session& session);
  void Count();

  Processes& processes_;
  Journal& journal_;
  const Means means_;
  absl::flat_hash_map<int, Session> sessions_;  // by pid
  size_t yielding_ = 0;
  size_t raised_ = 0;
  int64_t ran_ns_ = 0;
  uint64_t round_ = 1;
};

}  // namespace headgate::agent
