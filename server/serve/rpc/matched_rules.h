// What each rule that matches a Check does, and which of them won: for Explain.
//
// Exempt wins over everything, resume over deny and ratios, deny over ratios; of ratios the highest
// counts, of priorities the deepest selector's. What refuses, refuses before budgets and health are
// looked at; what is exempt is charged to nothing.
//
// Pure functions.
//
//   FillMatchedRules(explanation, *response.mutable_matched_rules());

#pragma once

#include <google/protobuf/repeated_field.h>
#include <headgate/v1/throttler_service.pb.h>

#include "server/decide/engine/answer.h"

namespace headgate::rpc {

void FillMatchedRules(const engine::Explanation& explanation,
                      google::protobuf::RepeatedPtrField<v1::MatchedRule>& rules);

}  // namespace headgate::rpc
