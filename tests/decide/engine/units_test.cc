// Cost and busy time: two measures of work that budgets and Reports never mix.

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// Rows, and beside them busy seconds with an auto rate, which is 1 here.
PolicySpec RowsAndAuto() {
  BudgetSpec automatic = RateBudget("auto", 0, 0.1);
  automatic.rate = AutoRate{};
  automatic.default_cost = 0.1;
  return Budgets({RateBudget("rows", 500, 20'000), automatic});
}

class RowsBesideAuto : public testing::Test {
 protected:
  RowsBesideAuto() : engine_(RowsAndAuto()) {
    EXPECT_TRUE(engine_->SetAutoRate("", "auto", {.rate = 1}, At()).ok());
  }
  CheckAnswer Check(Now now, double rows = 1000) { return engine_.Check("etl", rows, now); }

  TestEngine engine_;
};

TEST_F(RowsBesideAuto, EachIsChargedItsOwnMeasure) {
  const CheckAnswer answer = Check(At());
  EXPECT_EQ(answer.predicted_cost, 1000);
  EXPECT_EQ(answer.predicted_busy_time, absl::Milliseconds(100));
  EXPECT_EQ(engine_.Debt("etl", "rows"), 1000);
  EXPECT_NEAR(engine_.Debt("etl", "auto"), 0.1, 1e-9);
  engine_.Settle(answer.permit, {.cost = 900, .busy_time = absl::Milliseconds(20)});
  EXPECT_EQ(engine_.Debt("etl", "rows"), 900);
  EXPECT_NEAR(engine_.Debt("etl", "auto"), 0.02, 1e-9);
  EXPECT_EQ(engine_->ReadAutoActivity("", "auto", At())->reported_cost, 0.02);
}

// The job that once got one chunk in forty seconds.
TEST_F(RowsBesideAuto, AJobThatReportsRowsGoesOn) {
  Now now = At();
  for (int chunk = 0; chunk < 20; ++chunk) {
    const CheckAnswer answer = Check(now);
    ASSERT_EQ(answer.verdict, Verdict::kAllowed) << chunk << ": " << answer.Sentence();
    now = now + absl::Milliseconds(20);  // in which it works
    engine_.Settle(answer.permit, {.cost = 1000}, now);
    now = now + absl::Seconds(2);
  }
  EXPECT_NEAR(absl::ToDoubleSeconds(*Check(now).predicted_busy_time), 0.02, 1e-6);
}

TEST_F(RowsBesideAuto, ABareReportIsRightForBoth) {
  const CheckAnswer answer = Check(At());
  engine_.Settle(answer.permit, {}, At(absl::Milliseconds(30)));
  EXPECT_NEAR(engine_.Debt("etl", "rows", At(absl::Milliseconds(30))), 985, 1e-6);
  EXPECT_NEAR(engine_.Debt("etl", "auto", At(absl::Milliseconds(30))), 0, 1e-6);
  const CheckAnswer next = Check(At(absl::Seconds(1)));
  EXPECT_EQ(next.predicted_cost, 1000);  // of its cost nothing was said
  EXPECT_NEAR(absl::ToDoubleSeconds(*next.predicted_busy_time), 0.03, 1e-6);
}

TEST_F(RowsBesideAuto, TheTimeSinceTheAnswerOutlivesARestart) {
  const CheckAnswer answer = Check(At());
  SavedState state;
  engine_->Save(At(absl::Milliseconds(10)), state);
  Engine restored(TestEngine::Options());
  Now now = At(absl::Hours(5));  // on another clock
  ASSERT_TRUE(restored.Restore(state, now, 15'000'000).ok());
  ASSERT_TRUE(restored.Install(RowsAndAuto(), now).ok());
  ASSERT_TRUE(restored.Report(answer.permit, {}, now + absl::Milliseconds(15)).ok());
  EXPECT_NEAR(restored.ReadAutoActivity("", "auto", now)->reported_cost, 0.04, 1e-6);
}

TEST_F(RowsBesideAuto, ABusyTimeThatCannotBeIsRefusedAndSaysWhy) {
  const PermitId permit = Check(At()).permit;
  const absl::Status status =
      engine_->Report(permit, {.busy_time = absl::Hours(1000)}, At()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status),
            "busy_time: 1000h is more than 64 times the life of a permit (1m); give seconds that "
            "the database was busy, not rows");
  for (const absl::Duration busy : {-absl::Nanoseconds(1), absl::InfiniteDuration(),
                                    -absl::InfiniteDuration(), absl::Minutes(65)}) {
    EXPECT_EQ(engine_->Report(permit, {.busy_time = busy}, At()).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(engine_->Report(permit, {.busy_time = absl::Minutes(64)}, At()).ok());
}

TEST_F(RowsBesideAuto, CostIsNotLearntFromBusyTime) {
  for (int i = 0; i < 10; ++i) {
    const CheckAnswer answer = Check(At(absl::Seconds(i)));
    ASSERT_EQ(answer.verdict, Verdict::kAllowed);
    engine_.Settle(answer.permit, {.busy_time = absl::Milliseconds(5)}, At(absl::Seconds(i)));
  }
  EXPECT_EQ(Check(At(absl::Seconds(20))).predicted_cost, 1000);
}

TEST(Units, ABudgetOfRowsHasNoUseForBusyTime) {
  TestEngine engine(OneBudget(RateBudget("rows", 500, 20'000)));
  const CheckAnswer answer = engine.Check("etl", 1000);
  EXPECT_EQ(answer.predicted_busy_time, std::nullopt);
  engine.Settle(answer.permit, {.busy_time = absl::Milliseconds(50)});
  EXPECT_EQ(engine.Debt("etl", "rows"), 1000);  // and not 0.05
}

TEST(Units, AFixedRateMayBeInBusyTime) {
  BudgetSpec busy = RateBudget("busy", 0.5, 10);
  busy.unit = BudgetUnit::kBusyTime;
  busy.default_cost = 2;
  TestEngine engine(OneBudget(busy));
  const CheckAnswer answer = engine.Check("etl", 5000);
  EXPECT_EQ(engine.Debt("etl", "busy"), 2);
  engine.Settle(answer.permit, {.cost = 5000, .busy_time = absl::Seconds(6)});
  EXPECT_EQ(engine.Debt("etl", "busy"), 6);
  const BucketView bucket = engine.Bucket(Request("etl", 10'000), "busy");
  EXPECT_EQ(bucket.unit, BudgetUnit::kBusyTime);
  EXPECT_NEAR(bucket.cost, 10, 1e-5);  // of the 12 predicted
}

TEST(Units, AReloadThatChangesTheUnitKeepsTheTimeToDrainAndLeavesChargesAlone) {
  TestEngine engine(OneBudget(RateBudget("b", 500, 20'000)));
  const CheckAnswer answer = engine.Check("etl", 10'000);
  BudgetSpec busy = RateBudget("b", 0.5, 100);
  busy.unit = BudgetUnit::kBusyTime;
  engine.Install(OneBudget(busy));
  EXPECT_NEAR(engine.Debt("etl", "b"), 10, 1e-6);  // 20 s at either rate
  engine.Settle(answer.permit, {.cost = 0, .busy_time = absl::ZeroDuration()});
  EXPECT_NEAR(engine.Debt("etl", "b"), 10, 1e-6);
}

// Its rows would take 10 s; nobody knows for how many busy seconds they kept the database.
TEST(Units, AfterAReloadThatChangesTheUnitNobodyOwesMoreThanTheBurst) {
  TestEngine engine(OneBudget(RateBudget("b", 5, 50)));
  EXPECT_TRUE(engine.Admits("etl", 49));
  BudgetSpec automatic = RateBudget("b", 0, 0.1);
  automatic.rate = AutoRate{};
  automatic.default_cost = 0.1;
  engine.Install(OneBudget(automatic));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 0.1}, At()).ok());
  EXPECT_NEAR(engine.Debt("etl", "b"), 0.1, 1e-9);
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Milliseconds(1001))));
  engine.Install(OneBudget(RateBudget("b", 5, 0.2)), At(absl::Milliseconds(1001)));
  EXPECT_NEAR(engine.Debt("etl", "b", At(absl::Milliseconds(1001))), 0.2, 1e-9);
}

TEST(Units, AfterAReloadThatChangesTheUnitNoBucketOwesMoreThanTheBurst) {
  BudgetSpec rows = RateBudget("b", 5, 50);
  rows.split = SplitByDepth{2};
  TestEngine engine(OneBudget(rows));
  EXPECT_TRUE(engine.Admits("a:etl", 49));
  EXPECT_TRUE(engine.Admits("b:etl", 1));
  BudgetSpec busy = RateBudget("b", 0.5, 3);
  busy.split = SplitByDepth{2};
  busy.unit = BudgetUnit::kBusyTime;
  engine.Install(OneBudget(busy));
  EXPECT_NEAR(engine.Debt("a:etl", "b"), 3, 1e-6);
  EXPECT_NEAR(engine.Debt("b:etl", "b"), 0.1, 1e-6);  // 200 ms at either rate
  EXPECT_EQ(engine.Debt("c:etl", "b"), 0);
}

TEST(Units, WhatCannotBeIsRefused) {
  const auto why = [](BudgetSpec budget) {
    return Message(Validate(OneBudget(std::move(budget))));
  };
  BudgetSpec budget = RateBudget("b", 0, 10);
  budget.rate = AutoRate{};
  budget.unit = BudgetUnit::kCost;
  EXPECT_NE(why(budget).find("unit cannot be COST where the rate is auto"), std::string::npos);
  budget.rate = ServerShare{20};
  budget.unit = BudgetUnit::kBusyTime;
  EXPECT_NE(why(budget).find("unit cannot be BUSY_TIME where the rate is a share"),
            std::string::npos);
  budget = RateBudget("b", 1, 10);
  for (const double overrun : {0.5, 2e6, -1.0}) {
    budget.max_overrun = overrun;
    EXPECT_NE(why(budget).find("max_overrun must be 1 to"), std::string::npos);
  }
}

}  // namespace
}  // namespace headgate::engine
