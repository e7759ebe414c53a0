// Permits and reports through the engine: refunds, concurrency, expiry, predicted cost.

#include <optional>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

constexpr absl::Duration kTtl = absl::Minutes(1);  // EngineOptions' default

TEST(EngineReport, RefundsWhatTheWorkDidNotCost) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer answer = engine.Check("etl", 60);
  EXPECT_EQ(engine.Report(answer.permit, 25), ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 25);
}

TEST(EngineReport, ChargesWhatTheWorkCostMore) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  engine.Report(engine.Check("etl", 60).permit, 70);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 70);
}

TEST(EngineReport, MayDriveDebtAboveTheBurst) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  engine.Report(engine.Check("etl", 60).permit, 150);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 150);
  EXPECT_EQ(engine.Check("etl", 0).retry_after, absl::Seconds(50));
}

TEST(EngineReport, RefundsOnlyWhatHasNotDrained) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer answer = engine.Check("etl", 50);
  // 40 of the 50 have drained; 30 would be the difference.
  engine.Report(answer.permit, 20, At(absl::Seconds(40)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(40))), 0);
}

TEST(EngineReport, AfterItsDebtDrainedTakesNothingFromALaterCharge) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer early = engine.Check("etl", 10);
  EXPECT_TRUE(engine.Admits("etl", 80, At(absl::Seconds(30))));
  engine.Report(early.permit, 0, At(absl::Seconds(30)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(30))), 80);
}

TEST(EngineReport, OfAnUnknownPermitIsNotFound) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId known = engine.Check("etl", 1).permit;
  const PermitId another_generation = known + (PermitId{1} << 24);
  for (const PermitId permit : {PermitId{0}, another_generation, ~PermitId{0}}) {
    EXPECT_EQ(engine->Report(permit, {.cost = 1}, At()).status().code(),
              absl::StatusCode::kNotFound);
  }
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 1);
}

TEST(EngineReport, OfAnotherProcessesPermitChangesNothing) {
  EngineOptions other = TestEngine::Options();
  other.seed = 8;
  TestEngine before(OneBudget(RateBudget("b", 1, 100)), other);
  TestEngine after(OneBudget(RateBudget("b", 1, 100)));
  const PermitId old = before.Check("etl", 50).permit;
  EXPECT_TRUE(after.Admits("etl", 50));
  const absl::StatusOr<Settlement> outcome = after->Report(old, {.cost = 0}, At());
  EXPECT_TRUE(!outcome.ok() || outcome->outcome == ReportOutcome::kForgotten);
  EXPECT_DOUBLE_EQ(after.Debt("etl", "b"), 50);
}

TEST(EngineReport, SettlesAPermitThatHasExpired) {
  TestEngine engine(OneBudget(RateBudget("b", 0.5, 100)));
  const CheckAnswer answer = engine.Check("etl", 80);
  const Now late = At(kTtl + absl::Seconds(20));
  EXPECT_EQ(engine.Report(answer.permit, 50, late), ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", late), 10);
}

TEST(EngineReport, AfterExpiryChargesMoreToo) {
  TestEngine engine(OneBudget(RateBudget("b", 0.5, 100)));
  const CheckAnswer answer = engine.Check("etl", 80);
  const Now late = At(kTtl + absl::Seconds(20));
  EXPECT_EQ(engine.Report(answer.permit, 90, late), ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", late), 50);
}

TEST(EnginePermit, ThatExpiresKeepsItsPredictedCost) {
  TestEngine engine(OneBudget(RateBudget("b", 0.5, 100)));
  EXPECT_TRUE(engine.Admits("etl", 80));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(kTtl)), 50);
}

TEST(EnginePermit, ReportFreesConcurrency) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 2)));
  const CheckAnswer first = engine.Check("etl", 1);
  EXPECT_TRUE(engine.Admits("etl", 1));
  const CheckAnswer third = engine.Check("etl", 1);
  EXPECT_EQ(third.reason, Reason::kMaxConcurrency);
  EXPECT_EQ(third.violations[0].observed, 2);
  EXPECT_EQ(third.violations[0].limit_value, 2);
  engine.Report(first.permit, 1);
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("etl", 1));
}

TEST(EnginePermit, SecondReportFreesNoSecondPlace) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 2)));
  const CheckAnswer first = engine.Check("etl", 1);
  EXPECT_TRUE(engine.Admits("etl", 1));
  engine.Report(first.permit, 1);
  engine.Report(first.permit, 1);
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("etl", 1));
}

TEST(EnginePermit, ExpiryFreesConcurrencyExactlyAtItsTime) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 1)));
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("etl", 1, At(kTtl - absl::Nanoseconds(1))));
  EXPECT_TRUE(engine.Admits("etl", 1, At(kTtl)));
}

TEST(EnginePermit, EachExpiresAtItsOwnTime) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 2)));
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Seconds(50))));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Seconds(60))));
  EXPECT_FALSE(engine.Admits("etl", 1, At(absl::Seconds(110)) - absl::Nanoseconds(1)));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Seconds(110))));
}

TEST(EnginePermit, LateReportAfterExpiryFreesNoPlaceOfAnother) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 1)));
  const CheckAnswer first = engine.Check("etl", 1);
  EXPECT_TRUE(engine.Admits("etl", 1, At(kTtl)));
  EXPECT_EQ(engine.Report(first.permit, 1, At(kTtl)), ReportOutcome::kSettled);
  EXPECT_FALSE(engine.Admits("etl", 1, At(kTtl)));
}

TEST(EnginePermit, TimeToLiveIsAnOption) {
  EngineOptions options = TestEngine::Options();
  options.permit_ttl = absl::Seconds(5);
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 1)), options);
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("etl", 1, At(absl::Seconds(5)) - absl::Nanoseconds(1)));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Seconds(5))));
}

TEST(EnginePermit, FullTableOfConcurrentPermitsIsAnErrorAndChargesNothing) {
  EngineOptions options = TestEngine::Options();
  options.max_permits = 64;
  TestEngine engine(Budgets({ConcurrencyBudget("jobs", 1000), RateBudget("rate", 1, 1000)}),
                    options);
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_EQ(engine.CheckError(Request("etl", 1)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "rate"), 64);
  EXPECT_TRUE(engine.Admits("etl", 1, At(kTtl)));
}

CheckRequest Pattern(std::string_view pattern, std::optional<double> estimate) {
  return {.identity = "etl", .estimated_cost = estimate, .pattern = pattern};
}

TEST(EnginePredictedCost, IsTheEstimateTimesTheLearntRatio) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1000)));
  engine.Report(engine.Check(Pattern("q", 10)).permit, 20);
  EXPECT_DOUBLE_EQ(engine.Check(Pattern("q", 30)).predicted_cost, 60);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 80);
}

TEST(EnginePredictedCost, OfAnUnknownPatternUsesTheRootsRatio) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1000)));
  engine.Report(engine.Check(Pattern("q", 10)).permit, 20);
  EXPECT_DOUBLE_EQ(engine.Check(Pattern("other", 30)).predicted_cost, 60);
  EXPECT_DOUBLE_EQ(engine.Check("etl", 30).predicted_cost, 60);
}

TEST(EnginePredictedCost, WithoutAnythingLearntIsTheEstimate) {
  TestEngine engine(PolicySpec{});
  EXPECT_DOUBLE_EQ(engine.Check(Pattern("q", 30)).predicted_cost, 30);
}

TEST(EnginePredictedCost, WithoutAnEstimateIsThePatternsMeanActual) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1000)));
  engine.Report(engine.Check(Pattern("q", 10)).permit, 20);
  engine.Report(engine.Check(Pattern("q", 10)).permit, 40);
  EXPECT_DOUBLE_EQ(engine.Check(Pattern("q", std::nullopt)).predicted_cost, 30);
}

TEST(EnginePredictedCost, WithoutEstimateOrMeanIsEachBudgetsDefault) {
  BudgetSpec one = RateBudget("one", 1, 100);
  BudgetSpec two = RateBudget("two", 1, 100);
  one.default_cost = 3;
  two.default_cost = 5;
  TestEngine engine(Budgets({one, two}));
  EXPECT_DOUBLE_EQ(engine.Check(Pattern("q", std::nullopt)).predicted_cost, 5);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "one"), 3);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "two"), 5);
}

TEST(EnginePredictedCost, ZeroIsNotAbsent) {
  BudgetSpec budget = RateBudget("b", 1, 100);
  budget.default_cost = 3;
  TestEngine engine(OneBudget(budget));
  EXPECT_DOUBLE_EQ(engine.Check(Pattern("q", 0)).predicted_cost, 0);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 0);
}

TEST(EnginePredictedCost, IsLearntForEachTarget) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 1000));
  spec.targets.resize(2);
  spec.targets[0].name = "db1";
  spec.targets[1].name = "db2";
  TestEngine engine(std::move(spec));
  const auto ask = [&](std::string_view target) {
    return engine.Check(
        {.identity = "etl", .target = target, .estimated_cost = 10, .pattern = "q"});
  };
  engine.Report(ask("db1").permit, 30);
  EXPECT_DOUBLE_EQ(ask("db1").predicted_cost, 30);
  EXPECT_DOUBLE_EQ(ask("db2").predicted_cost, 10);
}

}  // namespace
}  // namespace headgate::engine
