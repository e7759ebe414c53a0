// What a line is called, for people: the target, the budget and its bucket, or the profile or rule
// whose gate is shut.
//
// A pure function.
//
//   line.names = NamesOf(violation, answer, request);

#pragma once

#include "server/decide/engine/answer.h"
#include "server/decide/line/line.h"

namespace headgate::line {

// The names of the line at the limit that `violation` names, as far as the answer has its policy.
LineNames NamesOf(const engine::Violation& violation, const engine::CheckAnswer& answer,
                  const engine::CheckRequest& request);

}  // namespace headgate::line
