// Budgets whose rate a controller finds: what it may set, what it can read, and what Checks are
// told meanwhile.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/to_be_allowed.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// What nothing is known of is charged `default_cost`.
PolicySpec Auto(std::optional<int64_t> max_concurrency = {}, double default_cost = 10) {
  BudgetSpec budget = RateBudget("b", 0, 10);
  budget.rate = AutoRate{};
  budget.default_cost = default_cost;
  budget.max_concurrency = max_concurrency;
  return OneBudget(budget);
}

TEST(EngineAuto, DrainsNothingBeforeARateIsFound) {
  TestEngine engine(Auto());
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_EQ(engine.Check("etl", 1, At(absl::Hours(1))).retry_after, absl::Seconds(1));
}

TEST(EngineAuto, DrainsAtTheRateThatWasSet) {
  TestEngine engine(Auto());
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_TRUE(engine->SetAutoRate("", "b", {.rate = 2.5}, At()).ok());
  EXPECT_NEAR(engine.Debt("etl", "b", At(absl::Seconds(2))), 5, 1e-6);
  const absl::Duration wait = engine.Check("etl", 7, At(absl::Seconds(1))).retry_after;
  EXPECT_NEAR(absl::ToDoubleSeconds(wait), 3, 1e-6);
}

TEST(EngineAuto, RateOfAnotherBudgetIsNotFound) {
  TestEngine engine(OneBudget(RateBudget("fixed", 1, 10)));
  EXPECT_EQ(engine->SetAutoRate("", "fixed", {.rate = 1}, At()).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(engine->SetAutoRate("", "none", {.rate = 1}, At()).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(engine->SetAutoRate("nowhere", "fixed", {.rate = 1}, At()).code(),
            absl::StatusCode::kNotFound);
}

TEST(EngineAuto, RateMustBeANumberThatAClockCanRunAt) {
  TestEngine engine(Auto());
  for (const double rate : {-1.0, 1025.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(engine->SetAutoRate("", "b", {.rate = rate}, At()).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(EngineAuto, ShutDeniesEveryCheckUntilTheControllerThinksAgain) {
  TestEngine engine(Auto());
  const int64_t reopens = (At() + absl::Milliseconds(500)).monotonic_ns;
  ASSERT_TRUE(
      engine->SetAutoRate("", "b", {.rate = 4, .shut = true, .next_change_at_ns = reopens}, At())
          .ok());
  const CheckAnswer answer = engine.Check("etl", 0.1, At(absl::Milliseconds(200)));
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  EXPECT_EQ(answer.reason, Reason::kCapacity);
  ASSERT_EQ(answer.violations.size(), 1u);
  EXPECT_EQ(answer.violations[0].limit, Limit::kProbe);
  EXPECT_EQ(answer.retry_after, absl::Milliseconds(300));
  EXPECT_EQ(answer.Sentence(),
            "Denied by budget 'b': the foreground is being measured without batch work. "
            "Try again in 300ms.");
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 4}, At(absl::Milliseconds(500))).ok());
  EXPECT_TRUE(engine.Admits("etl", 0.1, At(absl::Milliseconds(500))));
}

TEST(EngineAuto, ShutIsMoreThanARateOfZero) {
  TestEngine engine(Auto());
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 0}, At()).ok());
  EXPECT_TRUE(engine.Admits("etl", 1));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 0, .shut = true}, At()).ok());
  EXPECT_FALSE(engine.Admits("etl", 1));
}

TEST(EngineAuto, NoDenialIsToldToWaitBeyondTheNextChange) {
  TestEngine engine(Auto());
  const int64_t changes = (At() + absl::Milliseconds(250)).monotonic_ns;
  ASSERT_TRUE(
      engine->SetAutoRate("", "b", {.rate = 0.02, .next_change_at_ns = changes}, At()).ok());
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_EQ(engine.Check("etl", 1, At()).retry_after, absl::Milliseconds(250));
  // A shorter wait stays exact.
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 100, .next_change_at_ns = changes}, At()).ok());
  EXPECT_EQ(engine.Check("etl", 1, At()).retry_after, absl::Milliseconds(100));
}

TEST(EngineAuto, AGuessAboveTheBurstIsChargedAsTheBurst) {
  TestEngine engine(Auto({}, 8000));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1}, At()).ok());
  const CheckAnswer answer = engine.Check("etl", 500, At());
  ASSERT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.predicted_cost, 500);
  EXPECT_EQ(answer.predicted_busy_time, absl::Seconds(8000));
  EXPECT_EQ(engine.Debt("etl", "b", At()), 10);
  // The Report settles against what was charged.
  ASSERT_TRUE(engine->Report(answer.permit, {.busy_time = absl::Seconds(0.5)}, At()).ok());
  EXPECT_NEAR(engine.Debt("etl", "b", At()), 0.5, 1e-6);
}

TEST(EngineAuto, AReportMayExceedTheBurst) {
  TestEngine engine(Auto());
  const CheckAnswer answer = engine.Check("etl", 8000, At());
  const Now then = At(absl::Seconds(25));
  ASSERT_TRUE(engine->Report(answer.permit, {.busy_time = absl::Seconds(25)}, then).ok());
  EXPECT_NEAR(engine.Debt("etl", "b", then), 25, 1e-6);
}

// Jobs of one root that name no pattern share a mean. What takes long beside many that are short
// would else be forgiven for ever, and W exceeded.
TEST(EngineAuto, WorkThatTookLongIsChargedHoweverShortThatOfOthersIs) {
  TestEngine engine(Auto({}, 0.1));
  for (int chunk = 0; chunk < 10; ++chunk) {
    const CheckAnswer light = engine.Check({.identity = "light:etl"}, At());
    engine.Settle(light.permit, {.busy_time = absl::Milliseconds(2)});
  }
  const double before = engine.Debt("etl", "b");
  const CheckAnswer heavy = engine.Check({.identity = "heavy:etl"}, At());
  const Now then = At(absl::Seconds(15));
  EXPECT_TRUE(engine.Settle(heavy.permit, {.busy_time = absl::Seconds(15)}, then).overruns.empty());
  EXPECT_NEAR(engine.Debt("etl", "b", then) - before, 15, 1e-6);
}

// Milliseconds for seconds. What the first one taught does not let the next one charge more.
TEST(EngineAuto, AMistakeOfUnitsChargesTenTimesTheTimeOrABurst) {
  TestEngine engine(Auto({}, 0.1));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000}, At()).ok());
  Now now = At();
  for (int chunk = 0; chunk < 5; ++chunk) {
    const CheckAnswer answer = engine.Check("etl", 1000, now);
    ASSERT_EQ(answer.verdict, Verdict::kAllowed) << answer.Sentence();
    now = now + absl::Seconds(2);
    const Settlement settled = engine.Settle(answer.permit, {.busy_time = absl::Hours(0.5)}, now);
    ASSERT_EQ(settled.overruns.size(), 1U);
    EXPECT_NEAR(settled.overruns[0].charged, 20, 1e-6);
    now = now + absl::Seconds(1);
  }
}

TEST(EngineAuto, NoMorePermitsAreOutThanItsControllerAllows) {
  TestEngine engine(Auto(/*max_concurrency=*/100, /*default_cost=*/0.01));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000, .most_permits = 2}, At()).ok());
  const CheckAnswer first = engine.Check("etl", 1, At());
  EXPECT_TRUE(engine.Admits("etl", 1));
  const CheckAnswer third = engine.Check("etl", 1, At());
  EXPECT_EQ(third.verdict, Verdict::kDenied);
  EXPECT_EQ(third.reason, Reason::kMaxConcurrency);
  engine.Settle(first.permit, {.busy_time = absl::Milliseconds(1)});
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("etl", 1));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000}, At()).ok());
  EXPECT_TRUE(engine.Admits("etl", 1));
}

TEST(EngineAuto, ExplainsThatItsControllerLimitsPermits) {
  TestEngine engine(Auto(/*max_concurrency=*/100, /*default_cost=*/0.01));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000, .most_permits = 1}, At()).ok());
  ASSERT_TRUE(engine.Admits("etl", 1));
  const Explanation explanation = engine.Explain({.identity = "etl", .estimated_cost = 1}, At());
  EXPECT_THAT(WhatWouldHelp(explanation),
              testing::ElementsAre(testing::HasSubstr(
                  "one of the 1 permits of budget 'b' has to be reported or to expire: its "
                  "controller lets 1 be out at once")));
}

TEST(EngineAuto, AControllerMustLeaveOnePermit) {
  TestEngine engine(Auto());
  EXPECT_EQ(engine->SetAutoRate("", "b", {.rate = 1, .most_permits = 0}, At()).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(EngineAuto, WhereReportsAreNotBelievedTheTimeSinceTheAnswerStands) {
  TestEngine engine(Auto());
  const auto tells = [&](absl::Duration busy_time, Now now) {
    const double before = engine->ReadAutoActivity("", "b", now)->reported_cost;
    const CheckAnswer answer = engine.Check("etl", 100, now);
    engine.Settle(answer.permit, {.busy_time = busy_time}, now + absl::Seconds(2));
    return engine->ReadAutoActivity("", "b", now)->reported_cost - before;
  };
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000}, At()).ok());
  EXPECT_NEAR(tells(absl::ZeroDuration(), At()), 0, 1e-9);
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000, .distrusts_reports = true}, At()).ok());
  EXPECT_NEAR(tells(absl::ZeroDuration(), At(absl::Seconds(10))), 2, 1e-9);
  EXPECT_NEAR(tells(absl::Seconds(3), At(absl::Seconds(20))), 3, 1e-9);
}

TEST(EngineAuto, ShowsWhatWasFoundAndNotWhatItsClockDoesJustNow) {
  TestEngine engine(Auto());
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 2}, At()).ok());
  EXPECT_EQ(engine->ReadBudgets(At())[0].rate, 2);
  ASSERT_TRUE(
      engine->SetAutoRate("", "b", {.rate = 0, .shut = true, .shown_rate = 1.5}, At()).ok());
  EXPECT_EQ(engine->ReadBudgets(At())[0].rate, 1.5);
}

TEST(EngineAuto, AdvisesAChunkOfTwentyMillisecondsOnceReportsSayWhatOneTakes) {
  TestEngine engine(Auto());
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000}, At()).ok());
  const CheckAnswer first = engine.Check("etl", 1000, At());
  EXPECT_EQ(first.chunk_scale, 0);  // nothing is known
  ASSERT_TRUE(engine->Report(first.permit, {.busy_time = absl::Seconds(0.1)}, At()).ok());
  EXPECT_NEAR(engine.Check("etl", 1000, At()).chunk_scale, 0.2, 1e-6);
  EXPECT_EQ(engine.Check("etl", 200, At()).chunk_scale, 0);  // 20 ms
  EXPECT_EQ(engine.Check("etl", 60, At()).chunk_scale, 0);   // 6 ms
  EXPECT_NEAR(engine.Check("etl", 40, At()).chunk_scale, 5, 1e-5);
  EXPECT_EQ(engine.Check("etl", 1, At()).chunk_scale, 16);
  EXPECT_EQ(engine.Check("etl", 1e6, At()).chunk_scale, 1.0 / 16);
}

// Followed again and again, the factor between what is right and a mean of those before would
// make chunks of minutes.
TEST(EngineAuto, GivesNoAdviceWhereItDoesNotKnowHowLargeAChunkIs) {
  TestEngine engine(Auto());
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000}, At()).ok());
  const CheckAnswer first = engine.Check({.identity = "etl"}, At());
  ASSERT_TRUE(engine->Report(first.permit, {.busy_time = absl::Seconds(0.1)}, At()).ok());
  const CheckAnswer next = engine.Check({.identity = "etl"}, At());
  EXPECT_NEAR(absl::ToDoubleSeconds(*next.predicted_busy_time), 0.1, 1e-6);
  EXPECT_EQ(next.chunk_scale, 0);
  EXPECT_EQ(engine.Check("etl", 1000, At()).chunk_scale, 0);  // for how many it was is not known
}

TEST(EngineAuto, AdvisesTheChunkThatItsControllerWants) {
  TestEngine engine(Auto());
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000, .chunk_seconds = 0.0075}, At()).ok());
  const CheckAnswer first = engine.Check("etl", 1000, At());
  ASSERT_TRUE(engine->Report(first.permit, {.busy_time = absl::Seconds(0.1)}, At()).ok());
  EXPECT_NEAR(engine.Check("etl", 200, At()).chunk_scale, 0.375, 1e-6);  // 20 ms
  EXPECT_EQ(engine.Check("etl", 60, At()).chunk_scale, 0);               // 6 ms
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000, .chunk_seconds = 0.035}, At()).ok());
  EXPECT_NEAR(engine.Check("etl", 70, At()).chunk_scale, 5, 1e-5);  // 7 ms
}

TEST(EngineAuto, AdvisesNoChunkThatAnotherBudgetDenies) {
  BudgetSpec found = RateBudget("b", 0, 10);
  found.rate = AutoRate{};
  BudgetSpec largest = RateBudget("largest", 1e6, 1e6);
  largest.max_cost = 600;
  BudgetSpec warns = RateBudget("warns", 1, 10);
  warns.mode = Mode::kWarn;
  TestEngine engine(Budgets({found, RateBudget("rows", 1e6, 1000), largest, warns}));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000, .chunk_seconds = 0.075}, At()).ok());
  const CheckAnswer first = engine.Check("etl", 500, At());
  ASSERT_TRUE(engine->Report(first.permit, {.busy_time = absl::Seconds(0.05)}, At()).ok());
  // Half of 600 at most; 16 times without those.
  EXPECT_NEAR(engine.Check("etl", 40, At(absl::Seconds(1))).chunk_scale, 7.5, 1e-5);
  EXPECT_EQ(engine.Check("etl", 300, At(absl::Seconds(2))).chunk_scale, 0);
  EXPECT_NEAR(engine.Check("etl", 200, At(absl::Seconds(3))).chunk_scale, 1.5, 1e-5);
  largest.max_cost.reset();
  engine.Install(Budgets({found, RateBudget("rows", 1e6, 1000), largest, warns}));
  EXPECT_NEAR(engine.Check("etl", 40, At(absl::Seconds(4))).chunk_scale, 12.5, 1e-5);
}

// When each of eight that wait is let through, asking again when it is told to, from `from` on.
std::vector<absl::Duration> StartsOfEight(TestEngine& engine, double cost, absl::Duration from) {
  std::vector<absl::Duration> starts;
  absl::Duration at = from;
  while (starts.size() < 8) {
    const CheckAnswer answer = engine.Check({.identity = "etl", .pattern = "p"}, At(at));
    if (answer.verdict == Verdict::kAllowed) {
      EXPECT_NEAR(absl::ToDoubleSeconds(*answer.predicted_busy_time), cost, 1e-6);
      starts.push_back(at - from);
    } else {
      at += answer.retry_after;
    }
  }
  return starts;
}

TEST(EngineAuto, AfterAPauseChunksStartOneAfterAnother) {
  constexpr double kRate = 0.5, kCost = 0.01, kLevel = 0.004;
  TestEngine engine(Auto({}, kCost));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = kRate, .start_level = kLevel}, At()).ok());
  ASSERT_EQ(StartsOfEight(engine, kCost, absl::ZeroDuration()).size(), 8u);
  // All of it drains while nobody asks: the burst is empty.
  const absl::Duration later = absl::Seconds(60);
  ASSERT_EQ(engine.Debt("etl", "b", At(later)), 0);
  const std::vector<absl::Duration> starts = StartsOfEight(engine, kCost, later);
  // The first is let through at once, and the second so much earlier as the level allows.
  for (size_t i = 1; i < starts.size(); ++i) {
    const double due = (static_cast<double>(i) * kCost - kLevel) / kRate;
    EXPECT_NEAR(absl::ToDoubleSeconds(starts[i]), due, 1e-6) << i;
  }
}

TEST(EngineAuto, WithoutAStartLevelTheBurstIsThereAfterAPause) {
  TestEngine engine(Auto({}, 1));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 0.5}, At()).ok());
  const std::vector<absl::Duration> starts = StartsOfEight(engine, 1, absl::Seconds(60));
  for (const absl::Duration start : starts) EXPECT_EQ(start, absl::ZeroDuration());
}

TEST(EngineAuto, ACheckAsLargeAsTheBurstStartsWhenNothingIsOwed) {
  TestEngine engine(Auto({}, 10));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 5, .start_level = 1}, At()).ok());
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_EQ(engine.Check("etl", 1, At(absl::Seconds(1))).retry_after, absl::Seconds(1));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Seconds(2))));
}

TEST(EngineAuto, StartLevelIsLiftedAtOnceWhereNothingIsToBeKeptEven) {
  TestEngine engine(Auto({}, 1));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 0.5, .start_level = 0.5}, At()).ok());
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("etl", 1));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 0.5}, At()).ok());
  EXPECT_TRUE(engine.Admits("etl", 1));
}

TEST(EngineAuto, StartLevelMustBeANumberNotBelowZero) {
  TestEngine engine(Auto());
  for (const double level : {-0.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(engine->SetAutoRate("", "b", {.rate = 1, .start_level = level}, At()).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(EngineAuto, ExplainSaysWhenTheNextOneMayStart) {
  TestEngine engine(Auto({}, 1));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 0.5, .start_level = 0.5}, At()).ok());
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_EQ(engine.Check({.identity = "etl", .pattern = "p"}, At()).Sentence(),
            "Denied by budget 'b': debt would be 2 s, over its present burst of 1.5 s. Try again "
            "in 1s.");
  const Explanation explanation = engine.Explain({.identity = "etl", .pattern = "p"}, At());
  ASSERT_EQ(explanation.buckets.size(), 1u);
  EXPECT_EQ(explanation.buckets[0].room_in, absl::Seconds(1));
  EXPECT_THAT(
      WhatWouldHelp(explanation),
      testing::ElementsAre("budget 'b' owes 1 s and has to drain to 0.5 s, which it does in "
                           "1s"));
}

TEST(EngineAuto, ActivityCountsWhatAControllerWantsToKnow) {
  TestEngine engine(Auto(100, 4));
  const CheckAnswer first = engine.Check("etl", 4, At());
  const CheckAnswer second = engine.Check("etl", 4, At());
  EXPECT_FALSE(engine.Admits("etl", 4));
  ASSERT_TRUE(engine->Report(first.permit, {.busy_time = absl::Seconds(3)}, At()).ok());
  ASSERT_TRUE(
      engine->Report(first.permit, {.busy_time = absl::Seconds(3)}, At()).ok());  // counts once
  const absl::StatusOr<AutoActivity> activity = engine->ReadAutoActivity("", "b", At());
  ASSERT_TRUE(activity.ok());
  EXPECT_EQ(activity->checks, 3u);
  EXPECT_EQ(activity->reports, 1u);
  EXPECT_EQ(activity->reported_cost, 3);
  EXPECT_EQ(activity->outstanding, 1);
  ASSERT_TRUE(engine->Report(second.permit, {.busy_time = absl::Seconds(0.25)}, At()).ok());
  EXPECT_EQ(engine->ReadAutoActivity("", "b", At())->reported_cost, 3.25);
}

TEST(EngineAuto, ActivityOutlivesAReload) {
  TestEngine engine(Auto());
  const CheckAnswer answer = engine.Check("etl", 4, At());
  ASSERT_TRUE(engine->Report(answer.permit, {.busy_time = absl::Seconds(3)}, At()).ok());
  PolicySpec split = Auto();
  split.budgets[0].split = SplitByDepth{1};
  ASSERT_TRUE(engine->Install(split, At()).ok());
  EXPECT_EQ(engine->ReadAutoActivity("", "b", At())->reports, 1u);
  EXPECT_EQ(engine->ReadAutoActivity("", "b", At())->reported_cost, 3);
}

TEST(EngineAuto, ActivityOfAnythingElseIsNotFound) {
  TestEngine engine(OneBudget(RateBudget("fixed", 1, 10)));
  for (const char* budget : {"fixed", "none"}) {
    EXPECT_EQ(engine->ReadAutoActivity("", budget, At()).status().code(),
              absl::StatusCode::kNotFound);
  }
}

}  // namespace
}  // namespace headgate::engine
