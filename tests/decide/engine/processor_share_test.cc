// Budgets of busy time that are charged the processor time of sessions that waited for a processor.

#include <limits>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

PolicySpec BusyTime(double burst = 10) {
  BudgetSpec busy = RateBudget("busy", 0.5, burst);
  busy.unit = BudgetUnit::kBusyTime;
  busy.default_cost = 2;
  return OneBudget(busy);
}

TEST(ProcessorShare, AReportIsChargedTheShareOfItsBusyTime) {
  TestEngine engine(BusyTime());
  ASSERT_TRUE(engine->SetProcessorShare("", 0.25).ok());
  const CheckAnswer answer = engine.Check("etl", 5000);
  EXPECT_EQ(engine.Debt("etl", "busy"), 2);  // nothing is known: the default
  engine.Settle(answer.permit, {.cost = 5000, .busy_time = absl::Seconds(6)});
  EXPECT_EQ(engine.Debt("etl", "busy"), 1.5);
}

TEST(ProcessorShare, WhatIsPredictedIsTheTimeThatChunksTakeAndIsChargedItsShare) {
  TestEngine engine(BusyTime());
  const CheckAnswer answer = engine.Check("etl", 5000);
  engine.Settle(answer.permit, {.cost = 5000, .busy_time = absl::Seconds(4)});
  ASSERT_TRUE(engine->SetProcessorShare("", 0.25).ok());
  const double before = engine.Debt("etl", "busy");
  const CheckAnswer next = engine.Check("etl", 5000);
  EXPECT_NEAR(absl::ToDoubleSeconds(*next.predicted_busy_time), 4, 0.01);
  EXPECT_NEAR(engine.Debt("etl", "busy") - before, 1, 0.01);
}

TEST(ProcessorShare, IsNoneOfBudgetsOfCostNorOfWhatAControllerIsTold) {
  PolicySpec policy = OneBudget(RateBudget("rows", 1, 10'000));
  BudgetSpec& found = policy.budgets.emplace_back(RateBudget("found", 0, 10));
  found.rate = AutoRate{};
  found.default_cost = 1;
  policy.rules[0].action = ChargeAction{{"rows", "found"}};
  TestEngine engine(policy);
  ASSERT_TRUE(engine->SetProcessorShare("", 0.25).ok());
  const CheckAnswer answer = engine.Check("etl", 5000);
  engine.Settle(answer.permit, {.cost = 5000, .busy_time = absl::Seconds(6)});
  EXPECT_EQ(engine.Debt("etl", "rows"), 5000);
  EXPECT_EQ(engine.Debt("etl", "found"), 1.5);
  EXPECT_EQ(engine->ReadAutoActivity("", "found", At())->reported_cost, 6);
}

TEST(ProcessorShare, HowLongAChunkShouldBeIsByTheTimeThatItTakes) {
  BudgetSpec found = RateBudget("found", 0, 10);
  found.rate = AutoRate{};
  TestEngine engine(OneBudget(found));
  ASSERT_TRUE(engine->SetAutoRate("", "found", {.rate = 4, .chunk_seconds = 0.075}, At()).ok());
  ASSERT_TRUE(engine->SetProcessorShare("", 0.25).ok());
  const CheckAnswer answer = engine.Check("etl", 1000);
  engine.Settle(answer.permit, {.busy_time = absl::Seconds(0.3)});
  EXPECT_NEAR(engine.Check("etl", 1000, At(absl::Seconds(1))).chunk_scale, 0.25, 1e-6);
}

TEST(ProcessorShare, MustBeAShareOfAKnownTarget) {
  TestEngine engine(BusyTime());
  for (const double share : {0.0, -0.5, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(engine->SetProcessorShare("", share).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(engine->SetProcessorShare("nowhere", 0.5).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace headgate::engine
