// What is known of a line's bucket: as it was when somebody last came to it.
//
// Plain data, guarded by its owner.
//
//   bucket.Note(arrival);
//   if (bucket.FitsAt(cost_ns, held_ns, now_ns) <= now_ns) ... there is room ...

#pragma once

#include <algorithm>
#include <cstdint>

#include "server/decide/engine/line_interface.h"
#include "server/decide/line/instants.h"

namespace headgate::line {

struct BucketState {
  int64_t at_ns = 0;
  int64_t debt_ns = 0;  // of virtual time, as burst and costs are
  int64_t burst_ns = 0;
  int64_t start_level_ns = kNever;  // that may be owed where a Check begins
  double speed = 1;

  void Note(const engine::LineArrival& arrival) {
    at_ns = arrival.now.monotonic_ns;
    debt_ns = arrival.debt_ns;
    burst_ns = arrival.burst_ns;
    start_level_ns = arrival.start_level_ns;
    speed = arrival.speed;
  }
  double DebtAt(int64_t now_ns) const {
    const double drained = static_cast<double>(std::max<int64_t>(now_ns - at_ns, 0)) * speed;
    return std::max(static_cast<double>(debt_ns) - drained, 0.0);
  }
  // What may be held for all who have had their turn, together: half of what may be owed where
  // another begins.
  int64_t MostHeld() const { return std::min(burst_ns, start_level_ns) / 2; }
  // What may be owed for such a Check to begin, less what is ahead of it or held. Below 0: it does
  // not fit in however much drains.
  double RoomFor(double cost_ns, double ahead_ns) const {
    return std::min(static_cast<double>(burst_ns) - cost_ns, static_cast<double>(start_level_ns)) -
           ahead_ns;
  }
  // When so much fits in, if what is ahead of it or held will be owed; kNever: not at this speed.
  int64_t FitsAt(double cost_ns, double ahead_ns, int64_t now_ns) const {
    if (burst_ns <= 0) return now_ns;  // it has permits: nobody knows
    return DrainsTo(RoomFor(cost_ns, ahead_ns), now_ns);
  }
  // When no more than that is owed; kNever: not at this speed.
  int64_t DrainsTo(double level_ns, int64_t now_ns) const {
    const double over = DebtAt(now_ns) - level_ns;
    if (over <= 0) return now_ns;
    constexpr double kFar = 1e17;
    if (!(speed > 0) || over / speed > kFar) return kNever;
    return now_ns + static_cast<int64_t>(over / speed) + 1;
  }
};

}  // namespace headgate::line
