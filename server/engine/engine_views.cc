// What status pages and controllers read, and what controllers set. Off the path of Checks.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/engine/engine.h"
#include "server/engine/limits.h"

namespace headgate::engine {
namespace {

absl::Duration RealTimeUntil(const VirtualClock::Reading& reading, int64_t virtual_at_ns, Now now) {
  const int64_t at = reading.RealTimeOf(virtual_at_ns);
  if (at == VirtualClock::kNever) return absl::InfiniteDuration();
  return absl::Nanoseconds(std::max<int64_t>(at - now.monotonic_ns, 0));
}

}  // namespace

absl::StatusOr<const Budget*> Engine::FindAuto(const Policy& policy, std::string_view target,
                                               std::string_view budget) const {
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

absl::Status Engine::SetAutoRate(std::string_view target, std::string_view budget,
                                 const AutoRateSetting& setting, Now now) {
  now = Bounded(now);
  constexpr double kMaxAutoRate = 1024;
  const std::shared_ptr<const Policy> policy = policies_.Get();
  if (policy == nullptr) return NotInstalled();
  if (!(setting.rate >= 0 && setting.rate <= kMaxAutoRate)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rate: must be 0 to ", kMaxAutoRate, "; it is ", setting.rate));
  }
  if (!(setting.start_level >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("start_level: must not be below 0; it is ", setting.start_level));
  }
  absl::StatusOr<const Budget*> found = FindAuto(*policy, target, budget);
  if (!found.ok()) return found.status();
  VirtualClock& clock = *(*found)->ledger->axis().clock;
  const Health before = clock.Read(now.monotonic_ns).health;
  const double speed = setting.rate * Ledger::kAutoSpeed;
  clock.Set({.speed = speed,
             .status = HealthStatus::kHealthy,
             .gate_shut = setting.shut,
             .next_sample_at_ns = setting.next_change_at_ns},
            now.monotonic_ns);
  Ledger& ledger = *(*found)->ledger;
  const int64_t level_before_ns = ledger.start_level_ns();
  ledger.AdviseChunk(setting.chunk_seconds);
  ledger.SetStartLevel(setting.start_level);
  ledger.ShowRate(setting.shown_rate.value_or(setting.rate));
  ledger.DistrustReports(setting.distrusts_reports);
  if (before.speed != speed || before.gate_shut != setting.shut ||
      ledger.start_level_ns() != level_before_ns) {
    TellChanged();
  }
  return absl::OkStatus();
}

ControlState Engine::ReadControlState(std::string_view target) const {
  const std::shared_ptr<const Policy> policy = policies_.Get();
  uint32_t place = 0;
  if (policy == nullptr || !policy->ResolveTarget(target, place).ok()) return {};
  return control_states_.Get(policy->target_specs[place].name);
}

absl::Status Engine::SetControlState(std::string_view target, std::string_view bytes,
                                     uint64_t adoption) {
  const std::shared_ptr<const Policy> policy = policies_.Get();
  if (policy == nullptr) return NotInstalled();
  uint32_t place = 0;
  if (absl::Status found = policy->ResolveTarget(target, place); !found.ok()) return found;
  if (!IsControl(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("the state of a controller has ", bytes.size(),
                                                   " bytes; at most ", kMaxControlBytes));
  }
  if (!control_states_.Set(policy->target_specs[place].name, bytes, adoption)) {
    return absl::AbortedError("the target has been adopted from another owner");
  }
  return absl::OkStatus();
}

absl::StatusOr<AutoActivity> Engine::ReadAutoActivity(std::string_view target,
                                                      std::string_view budget, Now now) const {
  const std::shared_ptr<const Policy> policy = policies_.Get();
  if (policy == nullptr) return NotInstalled();
  absl::StatusOr<const Budget*> found = FindAuto(*policy, target, budget);
  if (!found.ok()) return found.status();
  return ActivityOf(**found, Bounded(now));
}

AutoActivity Engine::ActivityOf(const Budget& budget, Now now) const {
  const Ledger& ledger = *budget.ledger;
  AutoActivity activity;
  activity.checks = ledger.checks();
  activity.reports = ledger.reports();
  activity.reported_cost = ledger.reported_cost();
  if (budget.limits_concurrency && budget.split == SplitKind::kNone) {
    activity.outstanding = CountOutstanding(tables_, budget, Ledger::kSingleTag, now.monotonic_ns);
  }
  return activity;
}

Engine::Stats Engine::ReadStats(Now now) const {
  now = Bounded(now);
  Stats stats;
  stats.permits_live = permits_.CountLive(now.monotonic_ns);
  stats.request_ids = requests_.size();
  const std::shared_ptr<const Policy> policy = policies_.Get();
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

Engine::PermitStats Engine::ReadPermitStats(Now now) const {
  now = Bounded(now);
  return {.capacity = permits_.capacity(),
          .live = permits_.CountLive(now.monotonic_ns),
          .overdue = permits_.CountOverdue(now.monotonic_ns),
          .abandoned = permits_.abandoned(),
          .recycled_early = permits_.recycled_early(),
          .turned_away = permits_.holders().turned_away(),
          .without = permits_.holders().without_permit(),
          .max_share = permits_.holders().max_share(),
          .most_for_one = permits_.holders().RoomForOne()};
}

BudgetView Engine::ViewBudget(const Policy& policy, const Budget& budget, const Target& target,
                              Now now) const {
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
    view.outstanding = CountOutstanding(tables_, budget, Ledger::kSingleTag, now.monotonic_ns);
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
    view.activity = ActivityOf(budget, now);
  }
  return view;
}

std::vector<BudgetView> Engine::ReadBudgets(Now now) const {
  now = Bounded(now);
  std::vector<BudgetView> views;
  const std::shared_ptr<const Policy> policy = policies_.Get();
  if (policy == nullptr) return views;
  for (uint32_t target = 0; target < policy->targets.size(); ++target) {
    for (size_t i = 0; i < policy->budget_specs.size(); ++i) {
      views.push_back(
          ViewBudget(*policy, policy->BudgetsOf(target)[i], policy->targets[target], now));
      const size_t place = target * policy->budget_specs.size() + i;
      views.back().is_charged = now.wall() < policy->charged_until[place];
    }
  }
  return views;
}

std::vector<FullBucket> Engine::ReadFullestBuckets(std::string_view target, std::string_view budget,
                                                   size_t most, Now now) const {
  now = Bounded(now);
  std::vector<FullBucket> fullest;
  const std::shared_ptr<const Policy> policy = policies_.Get();
  if (policy == nullptr) return fullest;
  const auto fuller = [](const FullBucket& a, const FullBucket& b) { return a.fill > b.fill; };
  for (size_t i = 0; i < policy->budgets.size(); ++i) {
    const Budget& on = policy->budgets[i];
    const Target& at = policy->targets[i / policy->budget_specs.size()];
    const BudgetSpec& spec = policy->budget_specs[on.spec];
    if (on.ledger == nullptr || on.ledger->table() == nullptr) continue;
    if ((!target.empty() && at.name != target) || (!budget.empty() && spec.name != budget)) {
      continue;
    }
    const VirtualClock::Reading reading = on.clock->Read(now.monotonic_ns);
    const int64_t now_ns = on.ledger->Now(reading.virtual_ns);
    for (const BucketTable::Debtor& debtor : on.ledger->table()->LargestDebtors(now_ns, most)) {
      const int64_t debt_ns = debtor.empties_at_ns - now_ns;
      fullest.push_back({.target = at.name,
                         .budget = spec.name,
                         .bucket = names_.Find(debtor.tag),
                         .unit = on.unit,
                         .debt = on.ledger->ToUnits(debt_ns),
                         .fill = static_cast<double>(debt_ns) /
                                 static_cast<double>(std::max<int64_t>(on.burst_ns, 1)),
                         .empty_in = RealTimeUntil(reading, debtor.empties_at_ns, now)});
    }
  }
  std::stable_sort(fullest.begin(), fullest.end(), fuller);
  if (fullest.size() > most) fullest.resize(most);
  return fullest;
}

void Engine::NoteNames(const CheckRequest& request, const Resolved& resolved,
                       const CheckAnswer& answer) {
  for (const Violation& violation : answer.violations) {
    if (violation.budget == Violation::kNoBudget) continue;
    for (int i = 0; i < resolved.candidates_used; ++i) {
      const Candidate& candidate = resolved.candidates[i];
      const Budget& budget = *candidate.budget;
      if (budget.spec != violation.budget || budget.split == SplitKind::kNone) continue;
      if (budget.split == SplitKind::kDepth) {
        names_.Note(candidate.tag, resolved.identity.Level(BucketLevel(budget, resolved.identity)));
      }
      for (const Tag& tag : request.tags) {
        if (budget.split == SplitKind::kTag && tag.key == budget.split_tag) {
          names_.Note(candidate.tag, tag.value);
        }
      }
    }
  }
}

}  // namespace headgate::engine
