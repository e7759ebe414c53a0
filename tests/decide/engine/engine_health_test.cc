// Health through the engine: speed, gate, profiles, what answers say about it.

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// Budget "b" on profile "normal", budget "s" of "batch:etl" on the profile "strict".
PolicySpec TwoProfiles() {
  BudgetSpec normal = RateBudget("b", 10, 100);
  normal.health = "normal";
  BudgetSpec strict = RateBudget("s", 10, 100);
  strict.health = "strict";
  PolicySpec spec = OneBudget(normal);
  spec.budgets.push_back(strict);
  spec.rules.push_back(ChargeRule("batch", "job:batch", {"s"}));
  spec.profiles = {{.name = "normal", .signals = {"lag", "load"}},
                   {.name = "strict", .signals = {"lag"}}};
  return spec;
}

TEST(EngineHealth, SpeedSlowsDraining) {
  TestEngine engine(TwoProfiles());
  EXPECT_TRUE(engine.Admits("etl", 100));
  engine.SetHealth("normal", {.speed = 0.25}, At(absl::Seconds(2)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(2))), 80);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(6))), 70);
}

TEST(EngineHealth, SpeedZeroStopsDraining) {
  TestEngine engine(TwoProfiles());
  EXPECT_TRUE(engine.Admits("etl", 100));
  engine.SetHealth("normal", {.speed = 0});
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Hours(100))), 100);
}

TEST(EngineHealth, DrainingGoesOnWhereItStopped) {
  TestEngine engine(TwoProfiles());
  EXPECT_TRUE(engine.Admits("etl", 100));
  engine.SetHealth("normal", {.speed = 0}, At(absl::Seconds(1)));
  engine.SetHealth("normal", {.speed = 1}, At(absl::Hours(1)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Hours(1) + absl::Seconds(1))), 80);
}

TEST(EngineHealth, OfOneProfileLeavesTheOtherAlone) {
  TestEngine engine(TwoProfiles());
  EXPECT_TRUE(engine.Admits("etl", 100));
  EXPECT_TRUE(engine.Admits("job:batch", 100));
  engine.SetHealth("strict", {.speed = 0});
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(5))), 50);
  EXPECT_DOUBLE_EQ(engine.Debt("job:batch", "s", At(absl::Seconds(5))), 100);
}

TEST(EngineHealth, ShutGateDeniesWithTheBindingSignal) {
  TestEngine engine(TwoProfiles());
  engine.SetHealth("normal", {.speed = 0,
                              .status = HealthStatus::kHealthy,
                              .gate_shut = true,
                              .pressure = 1.5,
                              .signal = 1,
                              .sampled_at_ns = At().monotonic_ns,
                              .next_sample_at_ns = At(absl::Seconds(3)).monotonic_ns});
  const CheckAnswer answer = engine.Check("etl", 1, At(absl::Seconds(1)));
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  EXPECT_EQ(answer.reason, Reason::kHealth);
  EXPECT_EQ(answer.retry_after, absl::Seconds(2));
  ASSERT_EQ(answer.violations.size(), 1U);
  EXPECT_EQ(answer.violations[0].limit, Limit::kHealth);
  EXPECT_EQ(answer.violations[0].observed, 1.5);
  EXPECT_EQ(answer.violations[0].limit_value, 1);
  EXPECT_EQ(answer.violations[0].signal, 1);
  EXPECT_EQ(BudgetOf(answer, 0), "b");
}

TEST(EngineHealth, ShutGateWithoutAnAnnouncedSampleIsAskedAgainInASecond) {
  TestEngine engine(TwoProfiles());
  engine.SetHealth("normal", {.gate_shut = true});
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::Seconds(1));
}

TEST(EngineHealth, GateOpensAgain) {
  TestEngine engine(TwoProfiles());
  engine.SetHealth("normal", {.gate_shut = true});
  EXPECT_FALSE(engine.Admits("etl", 1));
  engine.SetHealth("normal", {.gate_shut = false});
  EXPECT_TRUE(engine.Admits("etl", 1));
}

TEST(EngineHealth, StricterProfileYieldsFirst) {
  TestEngine engine(TwoProfiles());
  engine.SetHealth("strict", {.gate_shut = true});
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("job:batch", 1));
}

TEST(EngineHealth, RuleGatesByItsProfileInsteadOfTheBudgets) {
  PolicySpec spec = TwoProfiles();
  spec.rules.push_back(RuleOn("other gate", "job:etl", HealthAction{"strict"}));
  TestEngine engine(std::move(spec));
  engine.SetHealth("normal", {.gate_shut = true});
  EXPECT_TRUE(engine.Admits("job:etl", 1));
  engine.SetHealth("strict", {.gate_shut = true});
  const CheckAnswer answer = engine.Check("job:etl", 1);
  EXPECT_EQ(answer.reason, Reason::kHealth);
  EXPECT_EQ(answer.policy->rules.name(answer.violations[0].rule), "other gate");
}

TEST(EngineHealth, RuleLeavesTheBucketOnItsBudgetsClock) {
  PolicySpec spec = TwoProfiles();
  spec.rules.push_back(RuleOn("other gate", "job:etl", HealthAction{"strict"}));
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("job:etl", 100));
  engine.SetHealth("strict", {.speed = 0});
  EXPECT_DOUBLE_EQ(engine.Debt("job:etl", "b", At(absl::Seconds(5))), 50);
}

TEST(EngineHealth, DefaultProfileGatesChecksWithoutBudgets) {
  PolicySpec spec = TwoProfiles();
  spec.targets.resize(1);
  spec.targets[0].name = "db";
  spec.targets[0].default_health = "normal";
  TestEngine engine(std::move(spec));
  engine.SetHealth("normal", {.gate_shut = true});
  EXPECT_EQ(engine.Check("nobody", 1).reason, Reason::kHealth);
}

TEST(EngineHealth, DefaultProfileIsThatOfBudgetsThatNameNone) {
  PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.targets.resize(1);
  spec.targets[0].name = "db";
  spec.targets[0].default_health = "p";
  spec.profiles = {{.name = "p", .signals = {}}};
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("etl", 100));
  engine.SetHealth("p", {.speed = 0.5});
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(2))), 90);
  engine.SetHealth("p", {.gate_shut = true}, At(absl::Seconds(2)));
  EXPECT_EQ(engine.Check("etl", 1, At(absl::Seconds(20))).reason, Reason::kHealth);
}

TEST(EngineHealth, AnswerTellsStateAndAgeOfTheSample) {
  TestEngine engine(TwoProfiles());
  for (const HealthStatus status :
       {HealthStatus::kWarming, HealthStatus::kHealthy, HealthStatus::kStale}) {
    engine.SetHealth("normal", {.speed = 0.5,
                                .status = status,
                                .pressure = 0.5,
                                .signal = 0,
                                .sampled_at_ns = At().monotonic_ns});
    const CheckAnswer answer = engine.Check("etl", 1, At(absl::Seconds(2)));
    EXPECT_EQ(answer.health.health.status, status);
    EXPECT_EQ(answer.health.health.speed, 0.5);
    EXPECT_EQ(answer.health.SampleAge(), absl::Seconds(2));
    EXPECT_EQ(answer.health.profile, 0U);
  }
}

TEST(EngineHealth, NeverSampledIsInfinitelyOld) {
  TestEngine engine(TwoProfiles());
  const CheckAnswer answer = engine.Check("etl", 1);
  EXPECT_EQ(answer.health.health.status, HealthStatus::kUnmonitored);
  EXPECT_EQ(answer.health.SampleAge(), absl::InfiniteDuration());
}

TEST(EngineHealth, AnswerWithoutAProfileSaysSo) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 10)));
  EXPECT_EQ(engine.Check("etl", 1).health.profile, kNoRule);
}

TEST(EngineHealth, OfTwoProfilesTheSlowerIsTold) {
  PolicySpec spec = TwoProfiles();
  spec.rules.push_back(ChargeRule("both", "x:etl", {"s"}));
  TestEngine engine(std::move(spec));
  engine.SetHealth("normal", {.speed = 0.7});
  engine.SetHealth("strict", {.speed = 0.2});
  EXPECT_EQ(engine.Check("x:etl", 1).health.profile, 1U);
  engine.SetHealth("strict", {.speed = 0.9});
  EXPECT_EQ(engine.Check("x:etl", 1).health.profile, 0U);
}

TEST(EngineHealth, SlowedRefusalNamesTheSignal) {
  TestEngine engine(TwoProfiles());
  engine.SetHealth("normal", {.speed = 0.5, .status = HealthStatus::kHealthy, .signal = 1});
  EXPECT_EQ(engine.Check("etl", 101).violations[0].signal, 1);
  engine.SetHealth("normal", {.speed = 1, .status = HealthStatus::kHealthy, .signal = 1});
  EXPECT_EQ(engine.Check("etl", 101).violations[0].signal, Violation::kNoSignal);
}

TEST(EngineHealth, IsPerTarget) {
  PolicySpec spec = TwoProfiles();
  spec.targets.resize(2);
  spec.targets[0].name = "db1";
  spec.targets[1].name = "db2";
  TestEngine engine(std::move(spec));
  ASSERT_TRUE(engine->SetHealth("db1", "normal", {.gate_shut = true}, At()).ok());
  EXPECT_EQ(engine.Check({.identity = "etl", .target = "db1"}).verdict, Verdict::kDenied);
  EXPECT_EQ(engine.Check({.identity = "etl", .target = "db2"}).verdict, Verdict::kAllowed);
}

TEST(EngineHealth, OfAnUnknownProfileOrTargetIsNotFound) {
  TestEngine engine(TwoProfiles());
  const absl::Status profile = engine->SetHealth("", "none", {}, At());
  EXPECT_EQ(profile.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(profile), "profile: no health profile 'none'");
  EXPECT_EQ(engine->SetHealth("nowhere", "normal", {}, At()).code(), absl::StatusCode::kNotFound);
}

TEST(EngineHealth, SurvivesAReload) {
  TestEngine engine(TwoProfiles());
  engine.SetHealth("normal", {.speed = 0.5, .gate_shut = true});
  engine.Install(TwoProfiles());
  EXPECT_EQ(engine.Check("etl", 1).reason, Reason::kHealth);
}

}  // namespace
}  // namespace headgate::engine
