// One line: who stands in its queue, what is held there, and what is known of its bucket.
//
// Plain data with few rules of its own; guarded by its owner.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/cause.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/line/bucket_state.h"
#include "server/decide/line/fair_queue.h"
#include "server/decide/line/instants.h"
#include "server/decide/line/kept_flow.h"
#include "server/decide/line/patience.h"
#include "server/decide/line/waiting_check.h"

namespace headgate::line {

// Kept for somebody who polls and was told when its turn is expected.
struct Place {
  uint64_t id = 0;
  uint64_t key = 0;  // of the line
  uint64_t subject = 0;
  engine::LineFlow flow;
  int64_t cost_ns = 0;
  int64_t held_ns = 0;     // see Line::HeldFor
  uint64_t held_in = 0;    // of Line::yields
  int64_t ends_at_ns = 0;  // dropped if it has not come back by then
  bool had_turn = false;
  bool came_back = false;  // at least once
  bool is_large = false;   // in the queue, and shut out where half of the burst is held
};

// A Check that was examined and refused while all of its line are examined: it leaves the queue, so
// that the next one can be its head, and is put back when all have been examined.
struct Requeued {
  uint64_t ticket;
  KeptFlow flow;
};

// What a line is at, for people. See LineView.
struct LineNames {
  std::string target, budget, bucket, rule, profile;
};

// By what somebody was refused, in numbers that are compared quickly.
struct RefusedBy {
  engine::Reason reason = engine::Reason::kNone;
  engine::Limit limit = engine::Limit::kLine;
  int16_t signal = engine::Violation::kNoSignal;
  uint32_t budget = engine::Violation::kNoBudget;
  uint32_t rule = engine::kNoRule;
  uint64_t policy = 0;  // its version: the numbers are its places

  friend bool operator==(const RefusedBy&, const RefusedBy&) = default;
};

// What somebody takes in a queue. Nothing is free there: else it would not count for shares.
inline double QueueCost(int64_t cost_ns) {
  return static_cast<double>(std::max<int64_t>(cost_ns, 1));
}

struct Line {
  Line(uint64_t line_key, const FairQueue::Options& options) : key(line_key), queue(options) {}

  const uint64_t key;
  FairQueue queue;
  BucketState bucket;
  int64_t held_ns = 0;                     // of all turns and places
  int64_t held_for_absent_ns = 0;          // of that, of places
  uint64_t yields = 0;                     // how often all of that was let go
  Patience patience;                       // of those who are here with those who are not
  int64_t due_ns = kNever;                 // when its head is looked at again
  std::optional<uint64_t> head_asked;      // at the last look, which set due_ns
  size_t waiting = 0;                      // Checks, those in to_requeue included
  absl::btree_set<uint64_t> places;        // ids
  absl::flat_hash_set<uint64_t> had_turn;  // tickets of those that have a Turn here
  size_t large_places = 0;
  uint64_t priced_by = 0;  // the policy's version that its costs are of
  bool is_bucket = true;
  // Each Check is examined once, since some may be admitted though those before them are refused.
  bool look_at_all = false;
  std::vector<Requeued> to_requeue;
  int64_t empty_since_ns = 0;
  int64_t interval_ns = 0;  // between admissions, smoothed; 0: not known
  int64_t admitted_at_ns = 0;
  engine::Limit limit = engine::Limit::kBurst;  // that refused whoever came last
  LineNames names;
  // What those in it wait for, and what was compared at the last refusal. Set from the first on.
  std::shared_ptr<const engine::Cause> cause;
  RefusedBy refused_by;
  double observed = 0;
  double limit_value = 0;

  // Of one in this line.
  engine::LineFlow FlowOf(const WaitingCheck& its) const {
    if (!its.awaits_requeue) return queue.FlowOf(its.ticket);
    return std::find_if(to_requeue.begin(), to_requeue.end(),
                        [&](const Requeued& each) { return each.ticket == its.ticket; })
        ->flow.Flow();
  }
  // Somebody was charged, from the queue or past it, when the bucket was as it is noted.
  void Charge(const engine::LineFlow& flow, int64_t cost_ns) {
    queue.Charge(flow, QueueCost(cost_ns));
    bucket.debt_ns += cost_ns;
    const int64_t since_ns = bucket.at_ns - admitted_at_ns;
    if (admitted_at_ns != 0 && since_ns >= 0) {
      interval_ns += (since_ns - interval_ns) / (interval_ns == 0 ? 1 : 8);
    }
    admitted_at_ns = bucket.at_ns;
  }
  // For a caller that is not here. What it held before all had to yield is held no more.
  int64_t HeldFor(const Place& place) const { return place.held_in == yields ? place.held_ns : 0; }
  void HoldFor(Place& place, int64_t in_all_ns) {
    const int64_t more_ns = in_all_ns - HeldFor(place);
    held_ns += more_ns;
    held_for_absent_ns += more_ns;
    place.held_ns = in_all_ns;
    place.held_in = yields;
  }
  // For one that has had its turn here, and is refused elsewhere: as much as its cost, or as may be
  // held.
  void HoldFor(WaitingCheck& its) {
    Turn* turn = its.TurnAt(key);
    if (turn == nullptr) turn = &its.turns.emplace_back(Turn{.key = key});
    had_turn.insert(its.ticket);
    const auto wanted_ns = static_cast<int64_t>(its.cost) - turn->held_ns;
    const int64_t more_ns = std::clamp<int64_t>(wanted_ns, 0, RoomToHold());
    turn->held_ns += more_ns;
    held_ns += more_ns;
  }
  // Nothing is held any more for those who are not here.
  void YieldHeld() {
    held_ns -= held_for_absent_ns;
    held_for_absent_ns = 0;
    ++yields;
  }
  // Which may be more than half of a burst that has become smaller.
  int64_t HeldByOthers(int64_t own_ns) const {
    return std::clamp<int64_t>(held_ns - own_ns, 0, bucket.MostHeld());
  }
  // Whether such a cost has no room while so much is held, however much drains.
  bool IsShutOut(double cost_ns, int64_t others_hold_ns) const {
    return bucket.burst_ns > 0 && bucket.RoomFor(cost_ns, static_cast<double>(others_hold_ns)) < 0;
  }
  // How much more may be held.
  int64_t RoomToHold() const { return std::max<int64_t>(bucket.MostHeld() - held_ns, 0); }
};

}  // namespace headgate::line
