// A lease: an amount that its holder spends piece by piece without asking, charged in advance.
//
// It is a Check that may be granted in part. The limits are examined for `least`, what one piece
// costs; who has no room for that is refused as a Check of it would be. Then the grant is enlarged,
// up to the estimate, by the room in all buckets, and no bucket is charged another share of it than
// the others. Its permit ends with the lease, and a Report with the sum of what was spent settles
// it (ActualCost::estimate); a lease that nobody returns counts as used.
//
// Where others wait for a bucket, a grant takes no more of it than drains there in the lease's
// time, divided by them and itself, or one piece. A budget that only warns limits nothing. One
// whose rate is auto has room up to where a chunk may begin, and a lease on it ends before its
// controller changes the rate.
//
// A holder whose pieces are to run side by side in a budget with max_concurrency takes as many
// leases: each holds one place, and is spent one piece after the other.
//
// Thread-safe; a Decision belongs to one thread.
// Source: Doorman's leases of capacity, and DynamoDB's global admission control, which draws tokens
// for some seconds in advance.
//
//   if (request.lease != nullptr) EnlargeGrant(decision, *request.lease, *request.estimated_cost);
//   outcome = Admit(decision);

#pragma once

#include <optional>

#include "absl/status/status.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/decision.h"
#include "server/decide/engine/permit_table.h"
#include "server/decide/engine/resolve.h"
#include "server/decide/engine/safe_rates.h"

namespace headgate::engine {

// Ok, or InvalidArgument that names the field: a lease has an estimate of at least `least`, which
// is above 0, and a time of at least kShortestLease.
absl::Status ValidateLease(const CheckRequest& request);

// After Admit: reserves the safe rate that the lease asks for, as far as there is any, and says so
// in the answer. None where a budget has max_concurrency, whose places end with the lease, or where
// a rate is auto, which is measured without what nobody can stop, nor for a probe.
void GrantSafeRate(const Decision& decision, SafeRates& safe_rates);

// After ExamineLimits has allowed what one piece costs: makes the decision one about the whole
// grant, of at most `most` in the unit of the estimate, and says in the answer what that is.
void EnlargeGrant(Decision& decision, const LeaseTerms& lease, double most);

// The same answer once more, of a lease that was granted before: what is left of its time. `permit`
// is what is known of the lease's; none: it has just ended.
void TellGrantAgain(const Resolved& resolved, const std::optional<LivePermit>& permit,
                    const SafeRates& safe_rates, const Now& now, CheckAnswer& answer);

}  // namespace headgate::engine
