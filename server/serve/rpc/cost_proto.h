// Learnt costs in protobuf, and where the next page of them begins.
//
// Pure functions.
//
//   for (const engine::LearntCost& cost : costs) FillLearntCost(cost, *response.add_costs());

#pragma once

#include <headgate/v1/cost_service.pb.h>

#include <string>

#include "absl/status/statusor.h"
#include "server/decide/engine/learnt_cost.h"

namespace headgate::rpc {

void FillLearntCost(const engine::LearntCost& from, v1::LearntCost& to);

// Only those fields of a learnt cost by which lists are ordered: its subject, and when it was
// reported last.
engine::LearntCost PlaceOf(const v1::LearntCost& cost);
// A page token holds those fields of the last entry on the page before, so that the next page
// begins behind it. Callers cannot read it. They can tamper with it, but that only changes where
// their page begins.
std::string MakeCostToken(const engine::LearntCost& last);
// InvalidArgument: not one of ours.
absl::StatusOr<engine::LearntCost> ReadCostToken(const std::string& token);

}  // namespace headgate::rpc
