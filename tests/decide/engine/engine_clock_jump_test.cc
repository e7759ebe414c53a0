// A clock that jumps: too much is refused, never too little, and nothing crashes.

#include <limits>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
constexpr Now kFarAhead = {.monotonic_ns = 6'311'520'000'000'000'000,  // 200 years
                           .wall_ns = 8'000'000'000'000'000'000};

double AdmittedAt(TestEngine& engine, Now now) {
  double admitted = 0;
  while (admitted < 1000 && engine.Admits("etl", 1, now)) admitted += 1;
  return admitted;
}

TEST(EngineClockJump, BackAnHourRefusesWhatTheDebtForbids) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 50, At(absl::Hours(2))));
  EXPECT_FALSE(engine.Admits("etl", 1, At(absl::Hours(1))));
}

TEST(EngineClockJump, BackAndForthAdmitsNoMoreThanTheWholeSpanAllows) {
  TestEngine engine(OneBudget(RateBudget("b", 0.01, 100)));
  const double admitted = AdmittedAt(engine, At(absl::Hours(2))) +
                          AdmittedAt(engine, At(absl::Hours(1))) +
                          AdmittedAt(engine, At(absl::Hours(2))) + AdmittedAt(engine, At());
  EXPECT_EQ(admitted, 100);
}

TEST(EngineClockJump, BackKeepsPermitsAndLetsThemExpireLater) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 1)));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Hours(2))));
  EXPECT_FALSE(engine.Admits("etl", 1, At(absl::Hours(1))));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Hours(2) + absl::Minutes(1))));
}

TEST(EngineClockJump, BackBehindASpeedChangeStandsStill) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 100));
  spec.profiles = {{.name = "p", .signals = {}}};
  spec.budgets[0].health = "p";
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("etl", 100));
  engine.SetHealth("p", {.speed = 0.5}, At(absl::Seconds(50)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(10))), 50);
}

TEST(EngineClockJump, BackBehindTheStartIsDefined) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  for (const int64_t ns : {int64_t{0}, int64_t{-1}, kEarliest}) {
    EXPECT_FALSE(engine.Admits("etl", 60, {.monotonic_ns = ns, .wall_ns = ns}));
  }
}

TEST(EngineClockJump, AheadDrainsAndExpires) {
  TestEngine engine(Budgets({RateBudget("rate", 1, 100), ConcurrencyBudget("jobs", 1)}));
  EXPECT_TRUE(engine.Admits("etl", 100));
  EXPECT_TRUE(engine.Admits("etl", 100, At(absl::Hours(1))));
}

TEST(EngineClockJump, TwoHundredYearsAheadIsDefined) {
  TestEngine engine(Budgets({RateBudget("rate", 1, 100), ConcurrencyBudget("jobs", 1)}));
  const PermitId permit = engine.Check("etl", 60).permit;
  for (const int64_t ns : {kFarAhead.monotonic_ns, kLatest}) {
    const Now now = {.monotonic_ns = ns, .wall_ns = ns};
    engine.Check("etl", 1, now);
    engine.Explain(Request("etl", 1), now);
  }
  EXPECT_EQ(engine.Report(permit, 10, kFarAhead), ReportOutcome::kSettled);
  engine.Install(OneBudget(RateBudget("rate", 2, 100)), kFarAhead);
  engine.Check("etl", 1, At(absl::Seconds(1)));
  EXPECT_GE(engine.Debt("etl", "rate", At(absl::Seconds(1))), 0);
}

// Where virtual time stops nothing drains any more, so the burst is all that there is.
TEST(EngineClockJump, AtTheHorizonTheBurstStillLimits) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_LE(AdmittedAt(engine, kFarAhead), 100);
}

TEST(EngineClockJump, AtTheHorizonOfAFastAutoRateTheBurstStillLimits) {
  BudgetSpec budget = RateBudget("b", 0, 100);
  budget.rate = AutoRate{};
  TestEngine engine(OneBudget(budget));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 1000}, At()).ok());
  // 60 days at a thousand units a second are more than 146 years of virtual time.
  EXPECT_LE(AdmittedAt(engine, At(absl::Hours(60 * 24))), 100);
}

TEST(EngineClockJump, WallTimeAloneMovesOnlyRules) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 100));
  spec.rules.push_back(RuleOn("deny", "etl", DenyAction{}));
  spec.rules.back().expires_at = At(absl::Minutes(1)).wall();
  TestEngine engine(std::move(spec));
  Now now = At();
  EXPECT_FALSE(engine.Admits("etl", 60, now));
  now.wall_ns += absl::ToInt64Nanoseconds(absl::Hours(1));
  EXPECT_TRUE(engine.Admits("etl", 60, now));
  EXPECT_FALSE(engine.Admits("etl", 60, now));
}

TEST(EngineClockJump, ExtremeWallTimesAreDefined) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "etl", DenyAction{})};
  spec.rules[0].expires_at = At(absl::Minutes(1)).wall();
  spec.rules[0].match.schedule =
      ScheduleSpec{.windows = {{.days = 0b1111111, .start_minute = 0, .end_minute = 1440}},
                   .time_zone = "Europe/Berlin"};
  TestEngine engine(std::move(spec));
  EXPECT_FALSE(engine.Admits("etl", 1, {.monotonic_ns = 0, .wall_ns = kEarliest}));
  EXPECT_TRUE(engine.Admits("etl", 1, {.monotonic_ns = 0, .wall_ns = kLatest}));
}

}  // namespace
}  // namespace headgate::engine
