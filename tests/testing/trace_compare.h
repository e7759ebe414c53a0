// Whether the engine answered as the model says, and in words what they say.
//
// Each Compare returns nothing where they agree, else one line for each thing that differs.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/decide/engine/answer.h"
#include "tests/testing/reference_model.h"

namespace headgate::model {

std::string CompareAnswers(const Decision& expected, const absl::Status& status,
                           const engine::CheckAnswer& actual);
// `actual` is an answer's explanation, so both were answered.
std::string CompareExplanations(const Decision& expected, const engine::Explanation& actual);
// All that one explanation says, for comparing it with another.
std::string Describe(const engine::Explanation& explanation);
std::string Describe(const engine::CheckAnswer& answer);
std::string Describe(const ExpectedAnswer& answer);
std::string Describe(const engine::CheckRequest& request);

}  // namespace headgate::model
