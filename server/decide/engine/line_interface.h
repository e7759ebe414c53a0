// What the engine asks of the line: whether a Check may pass a bucket while others wait for it.
//
// The engine decides by debts and permits alone, and knows neither who waits nor for how long.
// Where somebody waits it asks the line, bucket by bucket, whether others are before the Check,
// and how much of the burst is held for them; and it tells the line what it admits, what Reports
// change and where room has come. Lines are known by their key, which is that of the bucket
// (ConcurrencyKeyOf in decision.h, the same for its debt and its permits); Checks that wait for
// something else, a gate or the end of a pause, have the key that their violation names
// (Violation::line_key).
//
// Guarantees: a Check that meets no line pays for one relaxed load. The line may refuse for the
// sake of order, and never admits: what it lets pass still has to fit.
//
// Thread-safe: any thread may call any of these, and may hold locks of the engine's. So the line
// must not call the engine back, nor wait for anything that does.
//
//   if (line.IsAnybodyHere()) {
//     const PlaceInLine standing = line.Arrive({.key = key, .flow = flow, .cost_ns = cost_ns,
//     ...}); if (standing.behind) ... refuse; its turn is expected in standing.turn_in ...
//   }

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/identity.h"

namespace headgate::engine {

// One level of an identity on one target, among its siblings.
struct FlowLevel {
  uint64_t key = 0;  // keyed hash of the target and of the level's whole text; odd
  double weight = 1;
};

// Who asks, as a line sees it: the levels of the identity, the root first. The key of the last one
// is the subject's (Resolved::subject_key).
struct LineFlow {
  int priority = 0;  // the higher goes first
  int depth = 0;     // levels in use; 0: not known
  std::array<FlowLevel, Identity::kMaxSegments> levels;

  uint64_t LeafKey() const { return depth == 0 ? 0 : levels[static_cast<size_t>(depth) - 1].key; }
};

// A Check that comes to a bucket. Valid for the call.
struct LineArrival {
  uint64_t key = 0;
  const LineFlow& flow;
  uint64_t subject_key = 0;  // the leaf's
  uint64_t ticket = 0;       // it has waited, and the line itself asks for it; 0: it is new
  bool waits = false;        // it will wait if it is refused, and so needs no place of a poller
  // It is told what it would be told if it asked, and did not wait, and nothing is kept for it:
  // nobody asks, or a holder of leases that does not wait.
  bool explains = false;
  // Of its bucket, in nanoseconds of virtual time. All but the cost are 0 where the bucket has no
  // debt but permits: each Check then costs 1.
  int64_t cost_ns = 0;
  int64_t burst_ns = 0;
  // That may be owed where a Check begins, if that is less than its burst leaves.
  int64_t start_level_ns = std::numeric_limits<int64_t>::max();
  int64_t debt_ns = 0;
  double speed = 1;  // virtual nanoseconds in a real one
  Now now;
};

struct PlaceInLine {
  bool behind = false;     // others are before it: refuse it, whether it fits or not
  int64_t held_ns = 0;     // of the burst, for others
  absl::Duration turn_in;  // where it is behind: when its turn is expected, above zero
  int64_t others = 0;      // that wait there besides
};

// A Check that was charged at one limit, from the line there or past it.
struct LineAdmission {
  uint64_t key = 0;  // of the line
  const LineFlow& flow;
  uint64_t subject_key = 0;
  int64_t cost_ns = 0;  // as in LineArrival
  uint64_t ticket = 0;  // 0: it did not wait
};

class LineInterface {
 public:
  virtual ~LineInterface() = default;

  // Whether anybody waits, or a line still remembers shares.
  // relaxed: who misses a line that is just being made is refused by what its first Check met.
  bool IsAnybodyHere() const { return lines_.load(std::memory_order_relaxed) != 0; }

  // Whether the Check may pass this bucket now. Asked once for each bucket of an examination, which
  // may yet refuse the Check elsewhere. A key that has no line is answered with an empty standing.
  virtual PlaceInLine Arrive(const LineArrival& arrival) = 0;
  virtual void Admitted(const LineAdmission& admission) = 0;
  // A Report, or an answer that was withdrawn, has added to what the subject was charged there, or
  // given some of it back where it is below zero; what had drained already is not counted.
  virtual void Settled(uint64_t key, uint64_t leaf_key, int64_t delta_ns) = 0;
  // A permit was given back, or debt forgiven: there may be room now.
  virtual void RoomFreed(uint64_t key) = 0;
  // Policy, health or an auto rate: what is known of each line may be wrong now. Told whether
  // anybody waits or not: there are those who hold leases, and wait for a change alone.
  virtual void Changed() = 0;
  // The same of rules, overrides and budgets: of each who waits another limit may refuse it now.
  virtual void PolicyChanged() { Changed(); }

 protected:
  LineInterface() = default;

  std::atomic<int64_t> lines_{0};
};

}  // namespace headgate::engine
