// Debt whose clock stands still: nobody knows when there is room, and it is not for ever.

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

PolicySpec OnHealth(BudgetSpec budget) {
  budget.health = "careful";
  PolicySpec spec = OneBudget(std::move(budget));
  spec.profiles = {{.name = "careful", .signals = {"lag"}}};
  return spec;
}

Health Stopped(HealthStatus status, bool gate_shut) {
  return {.speed = 0,
          .status = status,
          .gate_shut = gate_shut,
          .pressure = status == HealthStatus::kHealthy ? 1.5F : 0.0F,
          .signal = 0,
          .sampled_at_ns = At().monotonic_ns,
          .next_sample_at_ns = At(absl::Seconds(3)).monotonic_ns};
}

TEST(EngineStandstill, HealthStopOfADebtorIsAskedAgainAtTheNextSample) {
  for (const HealthStatus status :
       {HealthStatus::kHealthy, HealthStatus::kStale, HealthStatus::kWarming}) {
    TestEngine engine(OnHealth(RateBudget("b", 10, 100)));
    ASSERT_TRUE(engine.Admits("etl", 100));
    engine.SetHealth("careful", Stopped(status, true));
    const CheckAnswer answer = engine.Check("etl", 1, At(absl::Seconds(1)));
    EXPECT_EQ(answer.reason, Reason::kHealth);
    EXPECT_EQ(answer.retry_after, absl::Seconds(2));
    ASSERT_EQ(answer.violations.size(), 2U);
    EXPECT_EQ(answer.violations[1].limit, Limit::kBurst);
    EXPECT_EQ(answer.violations[1].retry_after, absl::Seconds(2));
  }
}

TEST(EngineStandstill, SpeedZeroWithoutAGateIsAskedAgainAtTheNextSample) {
  TestEngine engine(OnHealth(RateBudget("b", 10, 100)));
  ASSERT_TRUE(engine.Admits("etl", 100));
  engine.SetHealth("careful", Stopped(HealthStatus::kHealthy, false));
  EXPECT_EQ(engine.Check("etl", 1, At(absl::Seconds(1))).retry_after, absl::Seconds(2));
}

TEST(EngineStandstill, WithoutAnAnnouncedSampleItIsAskedAgainInASecond) {
  TestEngine engine(OnHealth(RateBudget("b", 10, 100)));
  ASSERT_TRUE(engine.Admits("etl", 100));
  engine.SetHealth("careful", {.speed = 0});
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::Seconds(1));
}

TEST(EngineStandstill, ARulesGateDoesNotMakeTheBudgetsClockUnknown) {
  PolicySpec spec = OnHealth(RateBudget("b", 10, 100));
  spec.profiles.push_back({.name = "strict", .signals = {}});
  spec.rules.push_back(RuleOn("strict", "etl", HealthAction{"strict"}));
  TestEngine engine(std::move(spec));
  ASSERT_TRUE(engine.Admits("etl", 100));
  engine.SetHealth("strict", {.speed = 0, .gate_shut = true});
  EXPECT_EQ(engine.Check("etl", 50).retry_after, absl::Seconds(5));
}

TEST(EngineStandstill, WhatNeverFitsStaysInfinite) {
  BudgetSpec small = RateBudget("b", 10, 100);
  small.max_cost = 50;
  TestEngine engine(OnHealth(small));
  ASSERT_TRUE(engine.Admits("etl", 40));
  engine.SetHealth("careful", Stopped(HealthStatus::kHealthy, true));
  EXPECT_EQ(engine.Check("etl", 60).retry_after, absl::InfiniteDuration());
  TestEngine plain(OnHealth(RateBudget("b", 10, 100)));
  plain.SetHealth("careful", Stopped(HealthStatus::kHealthy, true));
  EXPECT_EQ(plain.Check("etl", 101).retry_after, absl::InfiniteDuration());
  TestEngine blocked(OnHealth(RateBudget("b", 0, 100)));
  blocked.SetHealth("careful", Stopped(HealthStatus::kHealthy, true));
  EXPECT_EQ(blocked.Check("etl", 1).retry_after, absl::InfiniteDuration());
}

TEST(EngineStandstill, ExplainSaysThatTheTimeToRoomIsNotKnown) {
  TestEngine engine(OnHealth(RateBudget("b", 10, 100)));
  ASSERT_TRUE(engine.Admits("etl", 100));
  EXPECT_FALSE(engine.Bucket(Request("etl", 1), "b").ask_again);
  engine.SetHealth("careful", Stopped(HealthStatus::kHealthy, true));
  const BucketView stopped = engine.Bucket(Request("etl", 1), "b", At(absl::Seconds(1)));
  EXPECT_TRUE(stopped.ask_again);
  EXPECT_EQ(stopped.room_in, absl::Seconds(2));
  const BucketView never = engine.Bucket(Request("etl", 101), "b", At(absl::Seconds(1)));
  EXPECT_FALSE(never.ask_again);
  EXPECT_EQ(never.room_in, absl::InfiniteDuration());
}

TEST(EngineStandstill, ExplainSaysThatAPermitsReturnIsNotKnown) {
  TestEngine engine(OneBudget(ConcurrencyBudget("jobs", 1)));
  EXPECT_FALSE(engine.Bucket(Request("etl", 1), "jobs").ask_again);
  ASSERT_TRUE(engine.Admits("etl", 1));
  EXPECT_TRUE(engine.Bucket(Request("etl", 1), "jobs").ask_again);
  TestEngine blocked(OneBudget(ConcurrencyBudget("jobs", 0)));
  EXPECT_FALSE(blocked.Bucket(Request("etl", 1), "jobs").ask_again);
}

}  // namespace
}  // namespace headgate::engine
