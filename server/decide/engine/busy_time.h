// Busy time: the seconds for which work keeps the database busy, where Checks are charged for it
// and Reports tell it.
//
// Thread-safe; a Decision belongs to one thread.
//
//   if (resolved.charges_busy_time) PredictBusyTime(decision);

#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/decide/engine/decision.h"
#include "server/decide/engine/settlement.h"

namespace headgate::engine {

// Sets what the decision's candidates of busy time are charged, and says in the answer what that
// is: the largest, where nothing is known and the budgets' defaults differ.
void PredictBusyTime(Decision& decision);

// How far this much busy time is from what a chunk should take, as a factor for the next chunk; 0:
// it is right, which is from two thirds to four thirds of `best`, or 5 to 50 ms where that is 0.
double ChunkScaleFor(double busy_seconds, double best);

// Ok, or InvalidArgument: no work can have kept a database busy for so long.
absl::Status ValidateBusyTime(absl::Duration busy_time, absl::Duration permit_ttl);

// What a Report says, or else the time since its permit was issued, in seconds.
double BusySecondsOf(const ActualCost& actual, const Permit& permit, const Now& now,
                     absl::Duration permit_ttl);

}  // namespace headgate::engine
