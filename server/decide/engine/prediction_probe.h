// Checks whose prediction is above what a budget could ever admit, though what they estimate need
// not be: what was learnt says so, and it may be wrong. Who is always refused never reports, and so
// could never put it right. So once in kProbeIntervalNs, for each pattern or root that predicts too
// much, one such Check is let through, is charged a whole burst, and is measured. All others are
// told when that may next be, and not that waiting is in vain.
//
// An estimate that is itself above the burst or the max_cost is refused for good, and so is what is
// predicted by nothing but the estimate or a default.
//
// The turn is taken while limits are looked at, and given back where the Check is refused after
// all. It is one number in the cost model's cell: fixed memory, no lock.
//
// Thread-safe; a Decision belongs to one thread.
//
//   if (candidate.cost_ns > budget.burst_ns && IsLearnt(decision, candidate)) {
//     ExamineTooCostly(decision, candidate, Limit::kBurst);
//   }

#pragma once

#include <cstdint>

#include "server/decide/engine/decision.h"
#include "server/decide/engine/retry_after.h"

namespace headgate::engine {

inline constexpr int64_t kProbeIntervalNs = 10'000'000'000;

// Whether waiting may help where the candidate's prediction is above `limit`, kBurst or kMaxCost.
bool MayProbe(const Decision& decision, const Candidate& candidate, Limit limit);

// Takes a turn to let such a Check through, capping what the candidate is charged, or else says in
// the answer when there may be one. True: it has a turn, and needs room for its charge as any does.
bool TakeProbe(Decision& decision, Candidate& candidate, Limit limit);

// Gives back what turns the decision has taken: it is refused after all.
void ReturnProbes(Decision& decision);

// Says in the answer that the Check is let through as a probe, if it is.
void TellProbe(Decision& decision);

// When such a Check may be let through: its turn, and room for a burst. The debt has been read.
Room RoomForProbe(const Decision& decision, const Candidate& candidate);

}  // namespace headgate::engine
