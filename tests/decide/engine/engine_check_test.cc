// The order of the stages, all or nothing, every violation, warning, disabled budgets.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

PolicySpec ThreeLevels() {
  PolicySpec spec;
  spec.budgets = {RateBudget("leaf", 1, 10), RateBudget("middle", 1, 20),
                  RateBudget("root", 1, 30)};
  spec.rules = {ChargeRule("on leaf", "a:b:c", {"leaf"}),
                ChargeRule("on middle", "b:c", {"middle"}), ChargeRule("on root", "c", {"root"})};
  return spec;
}

TEST(EngineCheck, AdmitsUpToTheBurstAndNoMore) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  EXPECT_FALSE(engine.Admits("etl", 40.001));
  EXPECT_TRUE(engine.Admits("etl", 40));
  EXPECT_FALSE(engine.Admits("etl", 0.001));
}

TEST(EngineCheck, DrainsAtTheRate) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  EXPECT_TRUE(engine.Admits("etl", 100));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(4))), 60);
  EXPECT_FALSE(engine.Admits("etl", 40.001, At(absl::Seconds(4))));
  EXPECT_TRUE(engine.Admits("etl", 40, At(absl::Seconds(4))));
}

TEST(EngineCheck, AllowsAnIdentityThatNoRuleMatches) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer answer = engine.Check("other", 1e15);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.reason, Reason::kNone);
  EXPECT_EQ(answer.permit, 0U);
}

TEST(EngineCheck, ChargesEveryLevel) {
  TestEngine engine(ThreeLevels());
  EXPECT_TRUE(engine.Admits("a:b:c", 6));
  EXPECT_DOUBLE_EQ(engine.Debt("a:b:c", "leaf"), 6);
  EXPECT_DOUBLE_EQ(engine.Debt("a:b:c", "middle"), 6);
  EXPECT_DOUBLE_EQ(engine.Debt("a:b:c", "root"), 6);
}

TEST(EngineCheck, RefusalByTheRootChargesNoLevel) {
  TestEngine engine(ThreeLevels());
  EXPECT_TRUE(engine.Admits("other:c", 25));
  const CheckAnswer answer = engine.Check("a:b:c", 6);
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  EXPECT_EQ(answer.permit, 0U);
  EXPECT_DOUBLE_EQ(engine.Debt("a:b:c", "leaf"), 0);
  EXPECT_DOUBLE_EQ(engine.Debt("a:b:c", "middle"), 0);
  EXPECT_DOUBLE_EQ(engine.Debt("a:b:c", "root"), 25);
}

TEST(EngineCheck, RefusalByTheLeafChargesNoLevel) {
  TestEngine engine(ThreeLevels());
  EXPECT_FALSE(engine.Admits("a:b:c", 11));
  EXPECT_DOUBLE_EQ(engine.Debt("a:b:c", "middle"), 0);
  EXPECT_DOUBLE_EQ(engine.Debt("a:b:c", "root"), 0);
}

TEST(EngineCheck, RefusalByConcurrencyChargesNoBudget) {
  TestEngine engine(Budgets({RateBudget("rate", 1, 100), ConcurrencyBudget("jobs", 1)}));
  EXPECT_TRUE(engine.Admits("etl", 5));
  EXPECT_FALSE(engine.Admits("etl", 5));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "rate"), 5);
}

TEST(EngineCheck, RefusalByRateTakesNoPermit) {
  TestEngine engine(Budgets({ConcurrencyBudget("jobs", 2), RateBudget("rate", 1, 10)}));
  EXPECT_FALSE(engine.Admits("etl", 11));
  EXPECT_FALSE(engine.Admits("etl", 11));
  EXPECT_EQ(engine.Bucket(Request("etl", 0), "jobs").outstanding, 0);
  EXPECT_TRUE(engine.Admits("etl", 5));
}

TEST(EngineCheck, NamesTheOneViolationOfARefusal) {
  TestEngine engine(ThreeLevels());
  EXPECT_TRUE(engine.Admits("other:c", 25));
  const CheckAnswer answer = engine.Check("a:b:c", 6);
  ASSERT_EQ(answer.violations.size(), 1U);
  EXPECT_EQ(BudgetOf(answer, 0), "root");
  EXPECT_EQ(answer.policy->rules.name(answer.violations[0].rule), "on root");
  EXPECT_EQ(answer.violations[0].limit, Limit::kBurst);
  EXPECT_DOUBLE_EQ(answer.violations[0].observed, 31);
  EXPECT_DOUBLE_EQ(answer.violations[0].limit_value, 30);
  EXPECT_FALSE(answer.violations[0].warn);
}

TEST(EngineCheck, ListsEveryViolation) {
  PolicySpec spec = ThreeLevels();
  spec.budgets[1].max_cost = 5;
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("other:c", 25));
  const CheckAnswer answer = engine.Check("a:b:c", 21);
  std::string all;
  for (size_t i = 0; i < answer.violations.size(); ++i) {
    all += BudgetOf(answer, i);
    all += answer.violations[i].limit == Limit::kMaxCost ? ":max_cost " : ":burst ";
  }
  EXPECT_EQ(all, "leaf:burst middle:max_cost middle:burst root:burst ");
  EXPECT_EQ(answer.reason, Reason::kMaxCost);
}

TEST(EngineCheck, ViolationNamesTheLevelOfItsBucket) {
  BudgetSpec split = RateBudget("b", 1, 10);
  split.split = SplitByDepth{2};
  TestEngine engine(OneBudget(split));
  const CheckAnswer answer = engine.Check("x:job:etl", 11);
  ASSERT_EQ(answer.violations.size(), 1U);
  EXPECT_EQ(answer.violations[0].level, 2);
}

TEST(EngineCheck, BudgetOfSeveralRulesIsChargedOnce) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 100));
  spec.rules.push_back(ChargeRule("again", "", {"b"}));
  spec.rules.push_back(ChargeRule("twice in a rule", "job:etl", {"b", "b"}));
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("job:etl", 7));
  EXPECT_DOUBLE_EQ(engine.Debt("job:etl", "b"), 7);
}

// Everything that can refuse does; stages are taken away one after the other.
class EngineStages : public testing::Test {
 protected:
  EngineStages() {
    BudgetSpec budget = RateBudget("b", 1, 10);
    budget.max_cost = 20;
    budget.max_concurrency = 1;
    budget.health = "p";
    spec_ = OneBudget(budget);
    spec_.profiles = {{.name = "p", .signals = {"lag"}}};
    spec_.rules.push_back(RuleOn("reject", "etl", RejectAction{1}));
    spec_.rules.push_back(RuleOn("deny", "etl", DenyAction{}));
    spec_.rules.push_back(RuleOn("exempt", "etl", ExemptAction{}));
  }
  // A Check that only `cost` can make fit, with one permit outstanding and a shut gate, or not.
  CheckAnswer Ask(double cost, bool permit_is_out, bool gate_shut) {
    TestEngine engine(spec_);
    if (permit_is_out) {
      PolicySpec charges_only = spec_;
      charges_only.rules.resize(1);
      engine.Install(charges_only);
      EXPECT_TRUE(engine.Admits("etl", 1));
      engine.Install(spec_);
    }
    engine.SetHealth("p", {.gate_shut = gate_shut, .pressure = 2, .signal = 0});
    return engine.Check("etl", cost);
  }
  PolicySpec spec_;
};

TEST_F(EngineStages, ExemptComesFirst) {
  const CheckAnswer answer = Ask(30, true, true);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.reason, Reason::kExempt);
  EXPECT_TRUE(answer.violations.empty());
}

TEST_F(EngineStages, ThenDeny) {
  spec_.rules.resize(3);
  EXPECT_EQ(Ask(30, true, true).reason, Reason::kDenyRule);
}

TEST_F(EngineStages, ThenTheRejectRatio) {
  spec_.rules.resize(2);
  EXPECT_EQ(Ask(30, true, true).reason, Reason::kRejectRatio);
}

TEST_F(EngineStages, ThenTheHealthGate) {
  spec_.rules.resize(1);
  const CheckAnswer answer = Ask(30, true, true);
  EXPECT_EQ(answer.reason, Reason::kHealth);
  EXPECT_EQ(answer.violations.size(), 4U);
}

TEST_F(EngineStages, ThenMaxCost) {
  spec_.rules.resize(1);
  const CheckAnswer answer = Ask(30, true, false);
  EXPECT_EQ(answer.reason, Reason::kMaxCost);
  EXPECT_EQ(answer.violations.size(), 3U);
}

TEST_F(EngineStages, ThenMaxConcurrency) {
  spec_.rules.resize(1);
  const CheckAnswer answer = Ask(15, true, false);
  EXPECT_EQ(answer.reason, Reason::kMaxConcurrency);
  EXPECT_EQ(answer.violations.size(), 2U);
}

TEST_F(EngineStages, ThenCapacity) {
  spec_.rules.resize(1);
  EXPECT_EQ(Ask(15, false, false).reason, Reason::kCapacity);
}

TEST_F(EngineStages, ThenNothing) {
  spec_.rules.resize(1);
  EXPECT_EQ(Ask(10, false, false).verdict, Verdict::kAllowed);
}

TEST(EngineWarn, AllowsAndSaysWhatItWouldHaveDone) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.mode = Mode::kWarn;
  TestEngine engine(OneBudget(budget));
  const CheckAnswer answer = engine.Check("etl", 12);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_NE(answer.permit, 0U);
  EXPECT_EQ(answer.retry_after, absl::ZeroDuration());
  ASSERT_EQ(answer.violations.size(), 1U);
  EXPECT_TRUE(answer.violations[0].warn);
  EXPECT_EQ(answer.violations[0].limit, Limit::kBurst);
}

TEST(EngineWarn, OwesWhatItWouldIfItEnforced) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.mode = Mode::kWarn;
  TestEngine engine(OneBudget(budget));
  EXPECT_TRUE(engine.Admits("etl", 7));
  EXPECT_TRUE(engine.Admits("etl", 7));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 7);
}

TEST(EngineWarn, DoesNotHideAnotherBudgetsRefusal) {
  BudgetSpec warns = RateBudget("warns", 1, 10);
  warns.mode = Mode::kWarn;
  TestEngine engine(Budgets({warns, RateBudget("enforces", 1, 20)}));
  const CheckAnswer answer = engine.Check("etl", 25);
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  ASSERT_EQ(answer.violations.size(), 2U);
  EXPECT_TRUE(answer.violations[0].warn);
  EXPECT_FALSE(answer.violations[1].warn);
}

TEST(EngineWarn, AShutGateOnlyWarns) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.mode = Mode::kWarn;
  budget.health = "p";
  PolicySpec spec = OneBudget(budget);
  spec.profiles = {{.name = "p", .signals = {}}};
  TestEngine engine(std::move(spec));
  engine.SetHealth("p", {.gate_shut = true});
  const CheckAnswer answer = engine.Check("etl", 1);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  ASSERT_EQ(answer.violations.size(), 1U);
  EXPECT_TRUE(answer.violations[0].warn);
}

TEST(EngineDisabled, NeitherMatchesNorRecords) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.mode = Mode::kDisabled;
  TestEngine engine(OneBudget(budget));
  EXPECT_TRUE(engine.Check("etl", 1000).violations.empty());
  EXPECT_TRUE(engine.Explain(Request("etl", 1)).buckets.empty());
}

}  // namespace
}  // namespace headgate::engine
