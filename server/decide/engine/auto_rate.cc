#include "server/decide/engine/auto_rate.h"

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/decide/engine/limits.h"

namespace headgate::engine {

absl::StatusOr<const Budget*> FindAutoBudget(const Policy& policy, std::string_view target,
                                             std::string_view budget) {
  uint32_t place = 0;
  if (absl::Status found = policy.ResolveTarget(target, place); !found.ok()) return found;
  for (uint32_t i = 0; i < policy.budget_specs.size(); ++i) {
    if (policy.budget_specs[i].name != budget) continue;
    const Budget& found = policy.BudgetsOf(place)[i];
    if (found.ledger == nullptr || !found.is_auto) break;
    return &found;
  }
  return absl::NotFoundError(
      absl::StrCat("budget: no budget '", Sv(budget), "' with an auto rate"));
}

AutoActivity ActivityOf(const Tables& tables, const Budget& budget, const Now& now) {
  const Ledger& ledger = *budget.ledger;
  AutoActivity activity;
  activity.checks = ledger.checks();
  activity.reports = ledger.reports();
  activity.reported_cost = ledger.reported_cost();
  if (budget.limits_concurrency && budget.split == SplitKind::kNone) {
    activity.outstanding = CountOutstanding(tables, budget, Ledger::kSingleTag, now.monotonic_ns);
  }
  return activity;
}

}  // namespace headgate::engine
