// What an admitted Check is charged: the second half of a decision.
//
// Admit charges bucket after bucket, those of the deepest rules first. Each charge decides again on
// what it exchanges, because others may have charged meanwhile; if one refuses, those before it are
// undone and the Check is refused after all. A permit remembers what was charged.
//
// Where no rule charges there is no permit, for there would be nothing to settle. Where its
// holder may have no more (permit_holders.h), a Check that only owes is charged without one: its
// predicted cost stays. Only one that would hold concurrency is refused, since somebody has to give
// that back.
//
// Several Checks of one subject and one cost would be admitted one after another at the same
// instant. AdmitTogether charges each bucket once with their sum, which gives the same debts, the
// same permits and the same places for refunds, for one exchange a bucket instead of one for each
// Check.
//
// Thread-safe; a Decision belongs to one thread.
//
//   if (answer.verdict == Verdict::kAllowed) outcome = Admit(decision);

#pragma once

#include <cstddef>

#include "absl/types/span.h"
#include "server/decide/engine/decision.h"

namespace headgate::engine {

// After ExamineLimits has allowed.
Outcome Admit(Decision& decision);

// Whether it can only be admitted with a permit. A budget that only warns is left alone without
// one.
bool NeedsPermit(Decision& decision);

// Instead of Admit, for a run of Checks that resolve alike and have the same estimate; `answers`
// are theirs, the first being the one that was examined. Returns how many of the first were
// admitted, with their answers; 0 where they have to be decided one by one.
size_t AdmitTogether(Decision& decision, absl::Span<CheckAnswer> answers);

}  // namespace headgate::engine
