// The engine's answers in protobuf.
//
// Every Check passes here: the common answer builds no text and, into a message that is reused,
// allocates nothing. That is why messages are overwritten field by field and never cleared: Clear()
// would free what is nested.
//
// Pure functions.
//
//   FillDecision(answer, request.identity(), *response.mutable_decision());

#pragma once

#include <headgate/v1/throttler_service.pb.h>

#include <string_view>

#include "server/decide/engine/answer.h"

namespace headgate::rpc {

// An answer that has its policy, which has the names. `identity` is the Check's.
void FillDecision(const engine::CheckAnswer& answer, std::string_view identity,
                  v1::Decision& decision);

void FillExplanation(const engine::Explanation& explanation, std::string_view identity,
                     v1::ExplainResponse& response);

v1::BudgetUnit ToBudgetUnit(engine::BudgetUnit unit);

// The state, speed and pressure; not the names and the age.
void FillHealth(const engine::Health& from, v1::Health& to);

}  // namespace headgate::rpc
