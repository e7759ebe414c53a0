// YieldPlan: which batch sessions yield at this moment, and which have the rank that they came
// with.
//
// A batch session yields, unless
//   - somebody who is not batch work waits for a lock that it holds, itself or through others that
//     wait in turn: it is raised until nobody does;
//   - it holds a transaction's locks or snapshot, wants to run, and has run for less than kLeastRun
//     in kStarvedAfter: others would wait for it, or vacuum would. It is raised until it has run
//     for kRelief, or the transaction has ended, for kLongestRelief at most;
//   - batch work as a whole gets less than its floor (ProcessorFloor): some of its sessions are
//     raised for a moment, by turns: of those that have wanted to run within kWantedLately.
// A parallel worker has the rank of its leader, and its leader that of all its workers. Whoever is
// not given any more is no batch session any more: the caller has it be as it was.
//
// Pure but for what it remembers of sessions. Thread-compatible.
//
//   for (const Assignment& one : plan.Decide(sessions, waits, {.monotonic_ns = now_ns})) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "client/agent/work_times.h"

namespace headgate::agent {

// A session of batch work, as PostgreSQL shows it.
struct BatchSession {
  int pid = 0;
  int64_t began_us = 0;     // of the session, by the server's wall clock; with the pid it is unique
  int leader = 0;           // of a parallel worker; 0: it is none
  bool holds = false;       // a transaction id, or a snapshot
  Work work = Work::kNone;  // what it is at
  std::optional<int64_t> ran_ns = {};  // processor time so far; absent: it was not looked at

  bool wants() const { return work == Work::kProcessor; }
};

// A session that waits for a lock, and who stands before it.
struct LockWait {
  int pid = 0;
  std::vector<int> blockers = {};
};

enum class Rank : uint8_t {
  kYields,
  kRaisedForWaiter,
  kRaisedForStarving,
  kRaisedForFloor,
};

struct Assignment {
  int pid = 0;
  int64_t began_us = 0;
  Rank rank = Rank::kYields;
  int waiter = 0;  // kRaisedForWaiter: one of those who wait

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

class YieldPlan {
 public:
  using Leaders = absl::flat_hash_map<int, int>;  // of each batch session; itself where it has none
  static constexpr int64_t kStarvedAfterNs = 1'000'000'000;
  static constexpr int64_t kLeastRunNs = 20'000'000;
  static constexpr int64_t kReliefNs = 200'000'000;
  static constexpr int64_t kLongestReliefNs = 2'000'000'000;
  static constexpr int64_t kWantedLatelyNs = 1'000'000'000;
  static constexpr size_t kMostRelieved = 4;

  // `most_relieved`: so many queries at once, with their workers, for the floor.
  explicit YieldPlan(size_t most_relieved = kMostRelieved) : most_relieved_(most_relieved) {}

  struct Now {
    int64_t monotonic_ns = 0;
    bool relieves = false;  // as the floor says
  };
  // In the order of `sessions`.
  std::vector<Assignment> Decide(absl::Span<const BatchSession> sessions,
                                 absl::Span<const LockWait> waits, const Now& now);

  // Whether its processor time would say something at this look.
  bool AsksProcessorTime(const BatchSession& session) const;

 private:
  struct Hunger {
    int64_t began_us = 0;
    int64_t since_ns = 0;    // when the look began that is under way, or the relief
    int64_t ran_ns = 0;      // by then
    bool is_raised = false;  // ran_ns is what it had run by then
  };

  bool Starves(const BatchSession& session, int64_t now_ns);
  void NoteWanting(absl::Span<const BatchSession> sessions, const Leaders& leaders, int64_t now_ns);
  void Relieve(const Now& now);

  absl::flat_hash_map<int, Hunger> hungers_;  // by pid
  const size_t most_relieved_;
  absl::flat_hash_map<int, int64_t> wanted_at_ns_;  // when it or a worker last did; by leader
  absl::flat_hash_set<int> relieved_;               // leaders
  int last_relieved_ = 0;                           // whom the next ones come after
};

}  // namespace headgate::agent
