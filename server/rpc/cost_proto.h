// Learnt costs in protobuf, and where the next page of them begins.
//
// Pure functions.
//
//   for (const engine::LearntCost& cost : costs) FillLearntCost(cost, *response.add_costs());

#pragma once

#include <headgate/v1/cost_service.pb.h>

#include <string>

#include "absl/status/statusor.h"
#include "server/engine/learnt_cost.h"

namespace headgate::rpc {

void FillLearntCost(const engine::LearntCost& from, v1::LearntCost& to);

// Of all that is said of one, what tells where it stands in a list: which it is, and when it was
// reported last.
engine::LearntCost PlaceOf(const v1::LearntCost& cost);
// A token is the last one on the page before: which it was and when it was reported, for that is
// what lists are ordered by. Opaque to callers, who may tamper with it: it only says where to
// begin.
std::string MakeCostToken(const engine::LearntCost& last);
// InvalidArgument: not one of ours.
absl::StatusOr<engine::LearntCost> ReadCostToken(const std::string& token);

}  // namespace headgate::rpc
