// What the engine's tests share: time by hand, policies in a few words, and an engine whose calls
// fail the test instead of returning a status.
//
//   TestEngine engine(OneBudget(RateBudget("b", 10, 100)));  // charged by everything below "etl"
//   EXPECT_TRUE(engine.Admits("job:etl", 100));
//   EXPECT_EQ(engine.Debt("job:etl", "b", At(absl::Seconds(4))), 60);
#pragma once

#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "tests/testing/test_scale.h"

namespace headgate::engine {

// `since` after 2026-01-01T00:00:00Z, a Thursday, when the monotonic time is 1000 s.
inline Now At(absl::Duration since = absl::ZeroDuration()) {
  const int64_t ns = absl::ToInt64Nanoseconds(since);
  return {.monotonic_ns = 1'000'000'000'000 + ns, .wall_ns = 1'767'225'600'000'000'000 + ns};
}

inline Now operator+(Now now, absl::Duration by) {
  const int64_t ns = absl::ToInt64Nanoseconds(by);
  return {.monotonic_ns = now.monotonic_ns + ns, .wall_ns = now.wall_ns + ns};
}
inline Now operator-(Now now, absl::Duration by) { return now + -by; }

inline BudgetSpec RateBudget(std::string name, double rate, double burst) {
  BudgetSpec budget;
  budget.name = std::move(name);
  budget.rate = UnitsPerSecond{rate};
  budget.burst = burst;
  return budget;
}

inline BudgetSpec ConcurrencyBudget(std::string name, int64_t permits) {
  BudgetSpec budget;
  budget.name = std::move(name);
  budget.max_concurrency = permits;
  return budget;
}

inline BudgetSpec MaxCostBudget(std::string name, double cost) {
  BudgetSpec budget;
  budget.name = std::move(name);
  budget.max_cost = cost;
  return budget;
}

// An empty identity matches every Check.
inline RuleSpec RuleOn(std::string name, std::string identity, ActionSpec action) {
  RuleSpec rule;
  rule.name = std::move(name);
  rule.match.identity = std::move(identity);
  rule.action = std::move(action);
  return rule;
}

inline RuleSpec ChargeRule(std::string name, std::string identity,
                           std::vector<std::string> budgets) {
  return RuleOn(std::move(name), std::move(identity), ChargeAction{std::move(budgets)});
}

// The budgets, all charged by a rule "charge" on "etl".
inline PolicySpec Budgets(std::vector<BudgetSpec> budgets) {
  PolicySpec spec;
  ChargeAction action;
  for (BudgetSpec& budget : budgets) {
    action.budgets.push_back(budget.name);
    spec.budgets.push_back(std::move(budget));
  }
  spec.rules.push_back(RuleOn("charge", "etl", std::move(action)));
  return spec;
}
inline PolicySpec OneBudget(BudgetSpec budget) {
  std::vector<BudgetSpec> budgets;
  budgets.push_back(std::move(budget));
  return Budgets(std::move(budgets));
}

// The same on two targets, with a rule that exempts somebody on the first.
inline PolicySpec OnTwoTargets(PolicySpec policy, const std::string& first,
                               const std::string& second, const std::string& rule,
                               const std::string& exempt) {
  policy.targets.resize(2);
  policy.targets[0].name = first;
  policy.targets[1].name = second;
  policy.rules.push_back(RuleOn(rule, exempt, ExemptAction{}));
  policy.rules.back().match.target = first;
  return policy;
}

inline CheckRequest Request(std::string_view identity, std::optional<double> cost) {
  return {.identity = identity, .estimated_cost = cost};
}

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

class TestEngine {
 public:
  static EngineOptions Options() {
    EngineOptions options;
    options.seed = 7;
    options.max_permits = 1024;
    options.max_permit_share = 1;  // one job has the table to itself
    return options;
  }

  explicit TestEngine(PolicySpec spec, const EngineOptions& options = Options())
      : engine_(options) {
    Install(std::move(spec));
  }

  Engine& operator*() { return engine_; }
  Engine* operator->() { return &engine_; }

  void Install(PolicySpec spec, Now now = At()) {
    const absl::Status status = engine_.Install(std::move(spec), now);
    EXPECT_TRUE(status.ok()) << status;
  }

  CheckAnswer Check(const CheckRequest& request, Now now = At()) {
    CheckAnswer answer;
    const absl::Status status = engine_.Check(request, now, answer);
    EXPECT_TRUE(status.ok()) << status;
    return answer;
  }
  CheckAnswer Check(std::string_view identity, double cost, Now now = At()) {
    return Check(Request(identity, cost), now);
  }
  bool Admits(std::string_view identity, double cost, Now now = At()) {
    return Check(identity, cost, now).verdict == Verdict::kAllowed;
  }

  // The status of a Check that should be an error.
  absl::Status CheckError(const CheckRequest& request, Now now = At()) {
    CheckAnswer answer;
    return engine_.Check(request, now, answer);
  }

  // What it cost; of its busy time nothing is said.
  ReportOutcome Report(PermitId permit, double actual, Now now = At()) {
    return Settle(permit, {.cost = actual}, now).outcome;
  }
  Settlement Settle(PermitId permit, const ActualCost& actual, Now now = At()) {
    absl::StatusOr<Settlement> settled = engine_.Report(permit, actual, now);
    EXPECT_TRUE(settled.ok()) << settled.status();
    Settlement none;
    none.outcome = ReportOutcome::kForgotten;
    return settled.ok() ? *std::move(settled) : std::move(none);
  }

  Explanation Explain(const CheckRequest& request, Now now = At()) {
    absl::StatusOr<Explanation> explanation = engine_.Explain(request, now);
    EXPECT_TRUE(explanation.ok()) << explanation.status();
    return explanation.ok() ? *std::move(explanation) : Explanation{};
  }

  BucketView Bucket(const CheckRequest& request, std::string_view budget, Now now = At()) {
    const Explanation explanation = Explain(request, now);
    for (const BucketView& view : explanation.buckets) {
      if (explanation.answer.policy->budget_specs[view.budget].name == budget) return view;
    }
    ADD_FAILURE() << request.identity << " is not charged to " << budget;
    return {};
  }
  double Debt(const CheckRequest& request, std::string_view budget, Now now = At()) {
    return Bucket(request, budget, now).debt;
  }
  double Debt(std::string_view identity, std::string_view budget, Now now = At()) {
    return Debt(Request(identity, 0), budget, now);
  }

  void SetHealth(std::string_view profile, const Health& health, Now now = At()) {
    const absl::Status status = engine_.SetHealth("", profile, health, now);
    EXPECT_TRUE(status.ok()) << status;
  }

 private:
  Engine engine_;
};

// The name of the budget that a violation is of.
inline std::string BudgetOf(const CheckAnswer& answer, size_t violation) {
  return answer.policy->budget_specs[answer.violations[violation].budget].name;
}

}  // namespace headgate::engine
