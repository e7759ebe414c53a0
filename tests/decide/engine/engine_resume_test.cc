// Resume rules through the engine; and where a reject ratio's threshold lies.

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

PolicySpec Refusing(std::vector<RuleSpec> more) {
  PolicySpec spec = OneBudget(RateBudget("rows", 1, 10));
  spec.rules.push_back(RuleOn("deny", "etl", DenyAction{}));
  spec.rules.push_back(RuleOn("reject", "", RejectAction{1}));
  for (RuleSpec& rule : more) spec.rules.push_back(std::move(rule));
  return spec;
}

TEST(EngineResume, LiftsDenyAndRejectRulesWhereverTheyStand) {
  TestEngine engine(Refusing({RuleOn("resume", "job:etl", ResumeAction{}),
                              RuleOn("deny the leaf", "job:etl", DenyAction{})}));
  EXPECT_TRUE(engine.Admits("job:etl", 1));
  EXPECT_TRUE(engine.Admits("x:job:etl", 1));
  EXPECT_EQ(engine.Check("other:etl", 1).reason, Reason::kDenyRule);
  EXPECT_EQ(engine.Check("other", 1).reason, Reason::kRejectRatio);
}

TEST(EngineResume, OnTheRootLiftsADenialOfTheLeaf) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "job:etl", DenyAction{}), RuleOn("resume", "etl", ResumeAction{})};
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("job:etl", 1));
}

TEST(EngineResume, StillChargesBudgets) {
  TestEngine engine(Refusing({RuleOn("resume", "etl", ResumeAction{})}));
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_EQ(engine.Check("etl", 1).reason, Reason::kCapacity);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "rows"), 10);
}

TEST(EngineResume, DoesNotPassAShutGate) {
  PolicySpec spec = Refusing({RuleOn("resume", "etl", ResumeAction{})});
  spec.targets.resize(1);
  spec.targets[0].name = "db";
  spec.targets[0].default_health = "p";
  spec.profiles = {{.name = "p", .signals = {}}};
  TestEngine engine(std::move(spec));
  engine.SetHealth("p", {.gate_shut = true});
  EXPECT_EQ(engine.Check("etl", 1).reason, Reason::kHealth);
}

TEST(EngineResume, ExemptWinsOverIt) {
  TestEngine engine(Refusing(
      {RuleOn("resume", "etl", ResumeAction{}), RuleOn("exempt", "job:etl", ExemptAction{})}));
  EXPECT_EQ(engine.Check("job:etl", 1000).reason, Reason::kExempt);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "rows"), 0);
  EXPECT_EQ(engine.Explain(Request("job:etl", 1)).resumed_by, kNoRule);
}

TEST(EngineResume, OfAnIdentityWithTooManyBudgetsIsAnErrorAgain) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "etl", DenyAction{}), RuleOn("resume", "job:etl", ResumeAction{})};
  for (int i = 0; i < 17; ++i) {
    const std::string name = "b" + std::to_string(i);
    spec.budgets.push_back(RateBudget(name, 1, 10));
    spec.rules.push_back(ChargeRule("charge " + name, "etl", {name}));
  }
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1).reason, Reason::kDenyRule);
  EXPECT_EQ(engine.CheckError(Request("job:etl", 1)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(EngineResume, EndsWhenItExpires) {
  PolicySpec spec = Refusing({RuleOn("resume", "etl", ResumeAction{})});
  spec.rules.back().expires_at = At(absl::Minutes(1)).wall();
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("etl", 0, At(absl::Minutes(1)) - absl::Nanoseconds(1)));
  EXPECT_FALSE(engine.Admits("etl", 0, At(absl::Minutes(1))));
}

TEST(EngineResume, RollsNoDice) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{0.5})};
  TestEngine plain(spec);
  spec.rules.push_back(RuleOn("resume", "job:etl", ResumeAction{}));
  TestEngine resuming(std::move(spec));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(resuming.Admits("job:etl", 1));
    EXPECT_EQ(plain.Admits("etl", 1), resuming.Admits("etl", 1));
  }
}

TEST(EngineResume, ExplanationNamesWhatItLifts) {
  TestEngine engine(Refusing({RuleOn("resume", "job:etl", ResumeAction{})}));
  const Explanation lifted = engine.Explain(Request("job:etl", 1));
  EXPECT_EQ(lifted.answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(lifted.answer.policy->rules.name(lifted.resumed_by), "resume");
  ASSERT_EQ(lifted.lifted.size(), 2U);
  EXPECT_EQ(lifted.answer.policy->rules.name(lifted.lifted[0]), "deny");
  EXPECT_EQ(lifted.answer.policy->rules.name(lifted.lifted[1]), "reject");
  EXPECT_EQ(lifted.reject_ratio, 0);
  const Explanation denied = engine.Explain(Request("etl", 1));
  EXPECT_EQ(denied.resumed_by, kNoRule);
  EXPECT_TRUE(denied.lifted.empty());
}

// The dice are in [0, 1) and a Check is denied where they are below the ratio.
TEST(EngineRejectRatio, DiceEqualToTheRatioPass) {
  const auto roll_at = [](double ratio) {
    PolicySpec spec;
    spec.rules = {RuleOn("reject", "etl", RejectAction{ratio})};
    return TestEngine(std::move(spec)).Check("etl", 1);
  };
  const CheckAnswer denied = roll_at(0.9999999);
  ASSERT_EQ(denied.reason, Reason::kRejectRatio);
  const double dice = denied.violations[0].observed;
  EXPECT_EQ(roll_at(dice).verdict, Verdict::kAllowed);
  EXPECT_EQ(roll_at(std::nextafter(dice, 1)).verdict, Verdict::kDenied);
}

}  // namespace
}  // namespace headgate::engine
