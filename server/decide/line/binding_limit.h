// Which limit a refused Check waits for, if time cures what refuses it.
//
// Time cures a full bucket, permits that are out, a shut gate, a moment of measuring, others that
// are before it, and a pause, which somebody ends or which expires. It does not cure a cost above a
// maximum, an explicit 0, a rule that is there for good, or a roll of the dice: who waits for
// another roll would get past any ratio.
//
// Pure functions; thread-safe.
//
//   const engine::Violation* binding = BindingViolation(answer);
//   if (binding != nullptr) ... wait in line binding->line_key ...

#pragma once

#include "server/decide/engine/answer.h"

namespace headgate::line {

bool IsCurable(const engine::Violation& violation);

// That one of the limits which deny that has room last; it points into the answer. Null where the
// answer is no denial, or where time does not cure one of those limits.
const engine::Violation* BindingViolation(const engine::CheckAnswer& answer);

// Whether its line is at a bucket, whose room is handed out one after the other; else everyone in
// the line is let go at once, as at a gate that opens.
bool IsOfBucket(engine::Limit limit);

// What a Check takes of its line: a bucket's room, or at a gate its share of those who are let go.
double CostAtLine(const engine::Violation& violation, const engine::CheckAnswer& answer);

}  // namespace headgate::line
