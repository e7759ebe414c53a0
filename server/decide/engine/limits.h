// Which limits refuse a Check: the first half of a decision, which only reads.
//
// The stages come in the order of the contract: exempt, deny, reject ratio, health gate, then every
// limit of every budget. What refuses is written into the answer (violations.h).
//
// Thread-safe; a Decision belongs to one thread.
//
//   Outcome outcome = ExamineLimits(decision, dice);

#pragma once

#include <algorithm>
#include <cstdint>

#include "server/decide/engine/decision.h"

namespace headgate::engine {

// `dice` in [0, 1): the Check is rejected where it is below a rule's ratio; 1 never rejects.
Outcome ExamineLimits(Decision& decision, double dice);

// The same, but for what buckets know: debts, permits, and what auto budgets found. A candidate
// that nothing more can refuse is skipped, and so is one that is refused already.
void ExamineAllButBuckets(Decision& decision, double dice);

// How many permits of a budget may be out at once: what its configuration says, or less where its
// controller says so. The budget limits them.
inline int64_t MostPermitsOf(const Budget& budget) {
  const Ledger* const ledger = budget.is_auto ? budget.ledger : nullptr;
  return ledger == nullptr ? budget.max_concurrency
                           : std::min(budget.max_concurrency, ledger->most_permits());
}

// Permits of a bucket that are out and have not expired; the budget limits them.
int64_t CountOutstanding(const Tables& tables, const Budget& budget, uint64_t tag, int64_t now_ns);

}  // namespace headgate::engine
