// What the demonstration says follows from what was recorded.

#include "tests/demo/results.h"

#include <cmath>
#include <memory>
#include <utility>

#include "gmock/gmock.h"
#include "tests/demo/plot.h"
#include "tests/demo/report.h"
#include "tests/demo/series.h"

namespace headgate::demo {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A record that is written phase by phase, each of 10 s.
class Script {
 public:
  Script() { record_->began = at_; }

  Script&& Add(Phase phase, int64_t tps, int64_t rows_per_second = 0,
               int64_t latency_us = 1000) && {
    const absl::Time from = at_;
    at_ += absl::Seconds(10);
    for (int64_t n = 0; n < tps * 10; ++n) {
      record_->transactions.Add(
          {.ended_us = absl::ToUnixMicros(from) + n * 1'000'000 / tps, .latency_us = latency_us});
    }
    if (rows_per_second > 0) {
      record_->chunks.Add({.began = from, .ended = at_, .rows = rows_per_second * 10});
    }
    record_->slices.push_back({.phase = phase,
                               .window = {.from = from, .to = at_},
                               .fixed_rate = static_cast<double>(rows_per_second)});
    return std::move(*this);
  }

  // The agent tells of so many sessions, from the last phase's beginning to its end.
  Script&& Tells(int64_t yielding) && {
    for (absl::Time at = record_->slices.back().window.from; at < at_; at += absl::Seconds(1)) {
      record_->controller.push_back({.at = at, .rate = 2, .phase = "work", .yielding = yielding});
    }
    return std::move(*this);
  }
  Script&& YieldsBy(const std::string& means) && {
    record_->yields_by = means;
    return std::move(*this);
  }
  Script&& YieldsNot(const std::string& why) && {
    record_->yields_not = why;
    return std::move(*this);
  }

  const Record& record() const { return *record_; }

 private:
  std::unique_ptr<Record> record_ = std::make_unique<Record>();
  absl::Time at_ = absl::FromUnixSeconds(1000);
};

TEST(DemoResults, ComparesAPhaseWithItsNeighboursOnly) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kThrottled, 700, 50, 3000)
                            .Add(Phase::kPause, 10)
                            .Add(Phase::kAlone, 400)
                            .Add(Phase::kGreedy, 100, 9000)
                            .Add(Phase::kAlone, 600);
  const Results results = Evaluate(script.record());
  EXPECT_DOUBLE_EQ(results.throttled.tps_ratio, 1);  // of the mean of 1000 and 400
  EXPECT_DOUBLE_EQ(results.throttled.p99_ratio, 3);
  EXPECT_DOUBLE_EQ(results.throttled.batch.rows_per_second, 50);
  EXPECT_DOUBLE_EQ(results.greedy.tps_ratio, 0.2);
  EXPECT_NEAR(results.alone.per_second, 2000 / 3.0, 0.1);
}

TEST(DemoResults, BestFixedRateIsOnTheLineThroughWhatWasTried) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kFixed, 970, 1000)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kFixed, 940, 3000)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kFixed, 880, 6000);
  const Results results = Evaluate(script.record());
  EXPECT_FALSE(results.best_fixed_is_higher);
  // The slope is (1 x .03 + 3 x .06 + 6 x .12) / (1 + 9 + 36) for each 1000 rows/s.
  EXPECT_NEAR(results.best_fixed, 0.05 / (0.93 / 46) * 1000, 1);
}

TEST(DemoResults, BestFixedRateHasAPercentileOfItsOwn) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kFixed, 1000, 1000, 1200)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kFixed, 1000, 2000, 1400);
  const Results results = Evaluate(script.record());
  EXPECT_NEAR(results.best_fixed, 500, 1e-6);  // the mean may grow by a tenth
  EXPECT_NEAR(results.best_fixed_p99, 1.1, 1e-6);
}

TEST(DemoResults, RoundsOfOneFixedRateAreTakenTogether) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kFixed, 900, 3000)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kFixed, 400, 3000)
                            .Add(Phase::kAlone, 600);
  const Results results = Evaluate(script.record());
  ASSERT_EQ(results.fixed.size(), 1u);
  EXPECT_NEAR(results.fixed[0].tps_ratio, 1300 / 1800.0, 1e-6);
  EXPECT_NEAR(results.fixed[0].batch.rows_per_second, 3000, 1e-6);
}

TEST(DemoResults, OneWildTurnIsNotAllThatAPercentileShows) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kThrottled, 950, 100, 1200)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kThrottled, 950, 100, 90'000)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kThrottled, 980, 100, 1300)
                            .Add(Phase::kAlone, 1000);
  const PhaseResult throttled = Evaluate(script.record()).throttled;
  EXPECT_DOUBLE_EQ(throttled.p99_ratio, 1.3);
  EXPECT_DOUBLE_EQ(throttled.mean_ratio, 1.3);
  EXPECT_NEAR(throttled.tps_ratio, 0.96, 1e-9);
  // Of .95, .95 and .98; and of 1.2, 90 and 1.3, whose median distance is a tenth.
  EXPECT_NEAR(throttled.tps_error, 0.01, 1e-9);
  EXPECT_NEAR(throttled.p99_error, 1.4826 * 1.2533 * 0.1 / std::sqrt(3), 1e-9);
}

TEST(DemoResults, TheForegroundDiffersFromItselfByWhatHappenedAlone) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kAlone, 800, 0, 3000)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kAlone, 900)
                            .Add(Phase::kAlone, 1000);
  const PhaseResult itself = Evaluate(script.record()).itself;
  EXPECT_NEAR(itself.tps_ratio, 0.85, 1e-9);
  EXPECT_NEAR(itself.p99_ratio, 2, 1e-9);
  EXPECT_NEAR(itself.tps_error, 0.05, 1e-9);
}

TEST(DemoResults, WhileARateIsFoundIsToldApart) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kSettling, 800, 50)
                            .Add(Phase::kThrottled, 960, 100)
                            .Add(Phase::kAlone, 1000);
  const Results results = Evaluate(script.record());
  EXPECT_DOUBLE_EQ(results.settling.tps_ratio, 0.8);
  EXPECT_DOUBLE_EQ(results.throttled.tps_ratio, 0.96);
  EXPECT_THAT(Table(results, {}), HasSubstr("knowing nothing"));
}

TEST(DemoResults, WhatYieldsIsComparedWithARateAlone) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kThrottled, 950, 100)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kYieldSettling, 700, 3000)
                            .Tells(0)
                            .Add(Phase::kYielding, 980, 900, 1100)
                            .Tells(8)
                            .Add(Phase::kAlone, 1000)
                            .Tells(0);
  const Results results = Evaluate(script.record());
  EXPECT_DOUBLE_EQ(results.throttled.tps_ratio, 0.95);
  EXPECT_DOUBLE_EQ(results.yield_settling.tps_ratio, 0.7);
  EXPECT_DOUBLE_EQ(results.yielding.tps_ratio, 0.98);
  EXPECT_DOUBLE_EQ(results.yielding.p99_ratio, 1.1);
  EXPECT_DOUBLE_EQ(results.yield_gain, 9);
  EXPECT_DOUBLE_EQ(results.yielding_sessions, 8);
}

TEST(DemoResults, SessionsOfOtherPhasesDoNotYieldForThoseThatShould) {
  const Script script =
      Script().Add(Phase::kThrottled, 950, 100).Tells(8).Add(Phase::kYielding, 980, 900).Tells(0);
  EXPECT_DOUBLE_EQ(Evaluate(script.record()).yielding_sessions, 0);
}

TEST(DemoResults, SaysSoWhereEvenTheHighestRateWasHarmless) {
  const Script script = Script().Add(Phase::kAlone, 1000).Add(Phase::kFixed, 990, 3000);
  const Results results = Evaluate(script.record());
  EXPECT_TRUE(results.best_fixed_is_higher);
  EXPECT_DOUBLE_EQ(results.best_fixed, 3000);
}

TEST(DemoReport, LastLineHasWhatProgramsLookFor) {
  const Script script = Script()
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kThrottled, 960, 1200)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kYielding, 970, 9000, 1200)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kFixed, 950, 1500)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kGreedy, 100, 9000);
  EXPECT_EQ(LastLine(Evaluate(script.record())),
            "demo: alone_tps=1000 greedy_ratio=0.100 throttled_ratio=0.960 "
            "throttled_p99_ratio=1.00 backfill_rows_per_s=1200 best_fixed_rows_per_s=1500 "
            "batch_share=0.80 yield_ratio=0.970 yield_p99_ratio=1.20 yield_rows_per_s=9000 "
            "yield_gain=7.5");
}

TEST(DemoReport, TableHasTheThreeWaysInTheirOrder) {
  const Script script = Script()
                            .YieldsBy("the tides")
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kSettling, 800, 50)
                            .Add(Phase::kThrottled, 960, 100)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kYieldSettling, 900, 300)
                            .Add(Phase::kYielding, 970, 400)
                            .Tells(8)
                            .Add(Phase::kAlone, 1000)
                            .Add(Phase::kGreedy, 100, 9000);
  const std::string table = Table(Evaluate(script.record()), {});
  EXPECT_THAT(table, ContainsRegex("foreground alone +1,000 .*\n"
                                   "greedy backfill +100 +0\\.10 .*\n"
                                   "rate alone +960 +0\\.96 .*\n"
                                   "  before, knowing nothing +800 +0\\.80 .*\n"
                                   "yield and rate +970 +0\\.97 .*\n"
                                   "  before, knowing nothing +900 +0\\.90 .*\n"));
  EXPECT_THAT(table, HasSubstr("With sessions that yield, 8 of them by the tides, the backfill did "
                               "4.0 times the rows of the rate alone.\n"));
}

TEST(DemoReport, WhatWasLeftOutIsSaidAndHasNoFigures) {
  const Script script =
      Script().YieldsNot("it has no tides").Add(Phase::kAlone, 1000).Add(Phase::kThrottled, 960, 9);
  const Results results = Evaluate(script.record());
  EXPECT_THAT(
      Table(results, {}),
      AllOf(HasSubstr("yield and rate              left out: nothing yields here\n"),
            HasSubstr("Nothing yields here, so that part is left out; the agent says: it has no "
                      "tides\n"),
            Not(HasSubstr("With sessions that yield"))));
  EXPECT_TRUE(LastLine(results).ends_with(
      " yield_ratio=n/a yield_p99_ratio=n/a yield_rows_per_s=n/a yield_gain=n/a"));
}

TEST(DemoReport, TableSaysWhatRefusedHowOften) {
  const Script script = Script().Add(Phase::kAlone, 1000);
  const CheckCounts checks = {.allowed = 1234, .denied = {{"the moon", 5}, {"the tide", 1000}}};
  const std::string table = Table(Evaluate(script.record()), checks);
  EXPECT_THAT(table, HasSubstr("Checks: 1,234 allowed, 1,005 denied and asked again:\n"
                               "    1,000  the tide\n"
                               "        5  the moon\n"));
}

TEST(DemoSeries, TellsHowManySessionsYielded) {
  const Script script = Script().Add(Phase::kYielding, 1000).Tells(8);
  const std::string csv = SeriesCsv(script.record());
  EXPECT_THAT(csv, HasSubstr(",sessions_yielding\n"));
  EXPECT_THAT(csv, HasSubstr("\n1.000,yielding,1000,1.0,0,0.000,work,2.0000,8\n"));
}

// Over the phases; the legend names them all.
TEST(DemoPlot, NamesTheWaysThatWerePlayed) {
  const std::string over = "text-anchor=\"middle\" fill=\"#333\">";
  const Script all =
      Script().Add(Phase::kAlone, 1000).Add(Phase::kThrottled, 960, 100).Add(Phase::kYielding, 970);
  EXPECT_THAT(PlotSvg(all.record()),
              AllOf(HasSubstr(over + "rate alone<"), HasSubstr(over + "yield and rate<"),
                    Not(HasSubstr(over + "greedy<"))));
}

TEST(DemoPlot, IsDrawnEvenIfThereWasNoBackfill) {
  const std::string svg = PlotSvg(Script().Add(Phase::kAlone, 1000).record());
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find("nan"), svg.npos);
}

}  // namespace
}  // namespace headgate::demo
