#include "tests/sim/leases/model_policy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::leases {
namespace {

engine::RuleSpec Rule(std::string name, std::string_view team, engine::ActionSpec action) {
  engine::RuleSpec rule;
  rule.name = std::move(name);
  rule.match.segment = std::string(team);
  rule.action = std::move(action);
  return rule;
}

engine::BudgetSpec SpecOf(const ModelBudget& budget) {
  engine::BudgetSpec spec;
  spec.name = budget.name;
  spec.rate = engine::UnitsPerSecond{budget.rate};
  spec.burst = budget.burst;
  spec.mode = budget.warns ? engine::Mode::kWarn : engine::Mode::kEnforce;
  spec.max_buckets = 1024;
  if (budget.depth > 0) spec.split = engine::SplitByDepth{budget.depth};
  return spec;
}

}  // namespace

std::string IdentityOf(std::string_view job, int team) {
  return absl::StrCat(Sv(job), ":", Sv(kTeams[static_cast<size_t>(team)]),
                      team == kPaid ? ":dev" : ":etl");
}

ModelPolicy::ModelPolicy()
    : budgets_{{{.name = "all", .rate = 2000, .burst = 1000},
                {.name = "teams", .rate = 800, .burst = 400, .depth = 2},
                {.name = "jobs", .rate = 300, .burst = 300, .depth = 3},
                {.name = "soft", .rate = 1000, .burst = 200, .warns = true}}} {}

void ModelPolicy::ChangeLimits(Chance& chance) {
  ModelBudget& budget = budgets_[static_cast<size_t>(chance.Pick(kBudgets))];
  if (chance.Happens(0.5)) {
    budget.rate = chance.Happens(0.05) ? 0 : chance.Uniform(100, 3000);
  } else {
    const double before = std::exchange(
        budget.burst, chance.Happens(0.3) ? chance.Uniform(1000, 6000) : chance.Uniform(20, 1500));
    smaller_bursts_ += budget.burst < before ? 1 : 0;
  }
}

void ModelPolicy::Change(Chance& chance) {
  const auto team = static_cast<size_t>(chance.Pick(kTeams.size()));
  switch (chance.Pick(8)) {
    case 0: {
      ModelBudget& budget = budgets_[static_cast<size_t>(chance.Pick(kBudgets))];
      budget.warns = !budget.warns && chance.Happens(0.3);
      return;
    }
    case 1:
      max_cost_ = chance.Uniform(5, 200);
      return;
    case 2:
      places_ = 1 + chance.Pick(6);
      return;
    case 3:
      weights_[team] = chance.Uniform(0.2, 5);
      return;
    case 4:
    case 5:
      // Paused and the like by an order, and back.
      standings_[team] = standings_[team] == Standing::kCharged
                             ? static_cast<Standing>(1 + chance.Pick(3))
                             : Standing::kCharged;
      return;
    default:
      ChangeLimits(chance);
  }
}

engine::PolicySpec ModelPolicy::Compile() const {
  engine::PolicySpec spec;
  spec.profiles.push_back({.name = "db", .signals = {"lag"}});
  for (const std::string_view target : kTargets) {
    engine::TargetSpec& added = spec.targets.emplace_back();
    added.name = std::string(target);
    added.default_health = "db";
  }
  engine::ChargeAction all;
  for (const ModelBudget& budget : budgets_) {
    spec.budgets.push_back(SpecOf(budget));
    all.budgets.push_back(budget.name);
  }
  engine::BudgetSpec& jobs = spec.budgets[2];
  jobs.max_cost = max_cost_;
  engine::BudgetSpec places;
  places.name = "places";
  places.max_concurrency = places_;
  spec.budgets.push_back(std::move(places));
  spec.rules.push_back(Rule("charge", "", std::move(all)));
  spec.rules.push_back(Rule("doors", kTeams[kDoors], engine::ChargeAction{{"places"}}));
  for (size_t i = 0; i < kTeams.size(); ++i) {
    const std::string_view team = kTeams[i];
    spec.rules.push_back(
        Rule(absl::StrCat("weight-", Sv(team)), team, engine::WeightAction{weights_[i]}));
    engine::RuleSpec order = Rule(absl::StrCat("order-", Sv(team)), team, engine::ExemptAction{});
    order.ends_by_hand = true;
    switch (standings_[i]) {
      case Standing::kCharged:
        continue;
      case Standing::kPaused:
        order.action = engine::DenyAction{};
        break;
      case Standing::kExempt:
        break;
      case Standing::kRejected:
        order.action = engine::RejectAction{.ratio = kRejectRatio};
        break;
    }
    spec.rules.push_back(std::move(order));
  }
  return spec;
}

}  // namespace headgate::leases
