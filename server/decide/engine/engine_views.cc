#include "server/decide/engine/engine_views.h"

#include <algorithm>
#include <memory>

#include "server/decide/engine/auto_rate.h"
#include "server/decide/engine/limits.h"

namespace headgate::engine {
namespace {

absl::Duration RealTimeUntil(const VirtualClock::Reading& reading, int64_t virtual_at_ns, Now now) {
  const int64_t at = reading.RealTimeOf(virtual_at_ns);
  if (at == VirtualClock::kNever) return absl::InfiniteDuration();
  return absl::Nanoseconds(std::max<int64_t>(at - now.monotonic_ns, 0));
}

// A budget of a policy, on one of its targets.
struct BudgetAt {
  const Policy& policy;
  const Budget& budget;
  const Target& target;
};

BudgetView ViewBudget(const Tables& tables, const BudgetAt& at, const Now& now) {
  const Policy& policy = at.policy;
  const Budget& budget = at.budget;
  const Target& target = at.target;
  const BudgetSpec& spec = policy.budget_specs[budget.spec];
  BudgetView view;
  view.target = target.name;
  view.budget = spec.name;
  view.mode = spec.mode;
  view.split = spec.split;
  view.unit = budget.unit;
  if (budget.profile != kNoRule) view.health = policy.profiles[budget.profile].name;
  view.max_concurrency = spec.max_concurrency;
  view.max_cost = spec.max_cost;
  if (budget.limits_concurrency && budget.split == SplitKind::kNone) {
    view.outstanding = CountOutstanding(tables, budget, Ledger::kSingleTag, now.monotonic_ns);
  }
  if (budget.ledger == nullptr) return view;
  const VirtualClock::Reading reading = budget.clock->Read(now.monotonic_ns);
  const int64_t now_ns = budget.ledger->Now(reading.virtual_ns);
  const int64_t debt_ns = budget.ledger->LargestDebt(now_ns);
  view.debt = budget.ledger->ToUnits(debt_ns);
  view.burst = budget.ledger->ToUnits(budget.burst_ns);
  view.overruns = budget.ledger->overruns();
  view.overrun_sum = budget.ledger->overrun_sum();
  view.is_auto = budget.is_auto;
  view.speed = reading.health.speed;
  view.rate = RateOf(spec, policy.target_specs[&target - policy.targets.data()]);
  view.buckets_owing = budget.ledger->table() == nullptr
                           ? static_cast<size_t>(debt_ns > 0)
                           : budget.ledger->table()->CountOwing(now_ns);
  view.buckets = budget.ledger->capacity();
  if (budget.ledger->table() != nullptr) {
    view.live_evictions = budget.ledger->table()->live_evictions();
  }
  if (budget.is_auto) {
    const double shown = budget.ledger->shown_rate();
    view.rate = shown >= 0 ? shown : reading.health.speed / Ledger::kAutoSpeed;
    view.speed = 1;
    view.activity = ActivityOf(tables, budget, now);
  }
  return view;
}

}  // namespace

absl::StatusOr<AutoActivity> EngineViews::ReadAutoActivity(std::string_view target,
                                                           std::string_view budget, Now now) const {
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  absl::StatusOr<const Budget*> found = FindAutoBudget(*policy, target, budget);
  if (!found.ok()) return found.status();
  return ActivityOf(core_.tables, **found, EngineCore::Bounded(now));
}

EngineStats EngineViews::ReadStats(Now now) const {
  now = EngineCore::Bounded(now);
  EngineStats stats;
  stats.permits_live = core_.permits.CountLive(now.monotonic_ns);
  stats.request_ids = core_.requests.size();
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return stats;
  for (const auto& ledger : policy->ledgers) {
    if (ledger == nullptr || ledger->table() == nullptr) continue;
    const int64_t now_ns = ledger->clock().Read(now.monotonic_ns).virtual_ns;
    stats.buckets += ledger->capacity();
    stats.buckets_owing += ledger->table()->CountOwing(now_ns);
    stats.live_evictions += ledger->table()->live_evictions();
  }
  return stats;
}

PermitStats EngineViews::ReadPermitStats(Now now) const {
  now = EngineCore::Bounded(now);
  return {.capacity = core_.permits.capacity(),
          .live = core_.permits.CountLive(now.monotonic_ns),
          .overdue = core_.permits.CountOverdue(now.monotonic_ns),
          .abandoned = core_.permits.abandoned(),
          .recycled_early = core_.permits.recycled_early(),
          .turned_away = core_.permits.holders().turned_away(),
          .without = core_.permits.holders().without_permit(),
          .max_share = core_.permits.holders().max_share(),
          .most_for_one = core_.permits.holders().RoomForOne()};
}

std::vector<BudgetView> EngineViews::ReadBudgets(Now now) const {
  now = EngineCore::Bounded(now);
  std::vector<BudgetView> views;
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return views;
  for (uint32_t target = 0; target < policy->targets.size(); ++target) {
    for (size_t i = 0; i < policy->budget_specs.size(); ++i) {
      const BudgetAt at{*policy, policy->BudgetsOf(target)[i], policy->targets[target]};
      views.push_back(ViewBudget(core_.tables, at, now));
      const size_t place = target * policy->budget_specs.size() + i;
      views.back().is_charged = now.wall() < policy->charged_until[place];
    }
  }
  return views;
}

std::vector<FullBucket> EngineViews::ReadFullestBuckets(const FullestQuery& query, Now now) const {
  now = EngineCore::Bounded(now);
  std::vector<FullBucket> fullest;
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return fullest;
  const auto fuller = [](const FullBucket& a, const FullBucket& b) { return a.fill > b.fill; };
  for (size_t i = 0; i < policy->budgets.size(); ++i) {
    const Budget& on = policy->budgets[i];
    const Target& at = policy->targets[i / policy->budget_specs.size()];
    const BudgetSpec& spec = policy->budget_specs[on.spec];
    if (on.ledger == nullptr || on.ledger->table() == nullptr) continue;
    if (!query.target.empty() && at.name != query.target) continue;
    if (!query.budget.empty() && spec.name != query.budget) continue;
    const VirtualClock::Reading reading = on.clock->Read(now.monotonic_ns);
    const int64_t now_ns = on.ledger->Now(reading.virtual_ns);
    for (const BucketTable::Debtor& debtor :
         on.ledger->table()->LargestDebtors(now_ns, query.most)) {
      const int64_t debt_ns = debtor.empties_at_ns - now_ns;
      fullest.push_back({.target = at.name,
                         .budget = spec.name,
                         .bucket = core_.names.Find(debtor.tag),
                         .unit = on.unit,
                         .debt = on.ledger->ToUnits(debt_ns),
                         .fill = static_cast<double>(debt_ns) /
                                 static_cast<double>(std::max<int64_t>(on.burst_ns, 1)),
                         .empty_in = RealTimeUntil(reading, debtor.empties_at_ns, now)});
    }
  }
  std::stable_sort(fullest.begin(), fullest.end(), fuller);
  if (fullest.size() > query.most) fullest.resize(query.most);
  return fullest;
}

}  // namespace headgate::engine
