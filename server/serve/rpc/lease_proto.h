// Leases in protobuf, and in the engine's terms.
//
// Pure functions.
//
//   if (check.has_lease()) terms = ToLeaseTerms(check.lease());
//   if (check.has_lease()) FillLease(answer, *decision.mutable_lease());

#pragma once

#include <headgate/v1/throttler_service.pb.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/lease_pieces.h"
#include "server/decide/engine/settlement.h"

namespace headgate::rpc {

// For which a lease is asked that does not say so.
inline constexpr absl::Duration kUsualLease = absl::Seconds(1);

engine::LeaseTerms ToLeaseTerms(const v1::LeaseTerms& from);

// Whether it decides nothing, and waits for an order that takes leases back.
inline bool IsWatch(const v1::CheckRequest& check) { return check.lease().has_watch(); }

// Of a Check that asks for a lease. What stands in `to` is overwritten, but for what was returned.
void FillLease(const engine::CheckAnswer& from, v1::Lease& to);

engine::ActualCost::Spent ToSpent(const v1::LeaseUse& from);
engine::PieceOutcome ToPieceOutcome(const v1::PieceCount& from);
// Ok, or InvalidArgument that names the field.
absl::Status ValidateCounts(const v1::LeaseUse& use);

}  // namespace headgate::rpc
