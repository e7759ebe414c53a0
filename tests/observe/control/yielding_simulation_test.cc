// The real controller in its real loop, on model databases beside which sessions of batch work
// yield the processor. Models resemble what was measured (docs/health.md); `./dev bench
// control_sim
// --only=yielding` prints more of them.

#include <algorithm>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sim/simulation.h"
#include "tests/sim/yielding_workloads.h"

namespace headgate::sim {
namespace {

constexpr int kSeedsEach = 3;

struct Beside {
  double ratio = 0, worst = 1e9;          // of the foreground's throughput
  double p99 = 0, p999 = 0, longest = 0;  // of its times, as multiples
  double rows = 0, busy = 0, chunk = 0;
  std::vector<double> rates;  // of the last seed
};

Beside RunBeside(Scenario scenario, int seeds = kSeedsEach) {
  Beside beside;
  for (int seed = 1; seed <= seeds; ++seed) {
    scenario.seed = static_cast<uint64_t>(seed);
    Outcome outcome = Simulate(scenario);
    Scenario without = scenario;
    without.law = Law::kAlone;
    const Outcome alone = Simulate(without);
    const double ratio = outcome.foreground / alone.foreground;
    beside.ratio += ratio / seeds;
    beside.worst = std::min(beside.worst, ratio);
    beside.p99 += outcome.p99_ms / alone.p99_ms / seeds;
    beside.p999 += outcome.p999_ms / alone.p999_ms / seeds;
    beside.longest += outcome.longest_ms / alone.longest_ms / seeds;
    beside.rows += outcome.rows / seeds;
    beside.busy += outcome.busy / seeds;
    beside.chunk += outcome.chunk / seeds;
    beside.rates = std::move(outcome.rates);
  }
  return beside;
}

ModelSpec WithoutAgent(ModelSpec model) {
  model.yielding.works = false;
  return model;
}

double MeanRate(const std::vector<double>& rates, double from, double until) {
  const auto first = rates.begin() + static_cast<std::ptrdiff_t>(10 * from);
  const auto last = rates.begin() + static_cast<std::ptrdiff_t>(10 * until);
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

Beside OneGreedy(ModelSpec model, bool yields) {
  model.batch.workers = 1;
  model.yielding.works = yields;
  return RunBeside({.model = model, .law = Law::kGreedy, .seconds = 20});
}

TEST(YieldingSimulation, TheSameSeedGivesTheSameRun) {
  const Outcome one = Simulate({.model = YieldingClosed(), .seconds = 10});
  const Outcome other = Simulate({.model = YieldingClosed(), .seconds = 10});
  EXPECT_EQ(one.foreground, other.foreground);
  EXPECT_EQ(one.rows, other.rows);
  EXPECT_EQ(one.rates, other.rates);
}

TEST(YieldingSimulation, TheLowestRankHarmsLessThanAnEqualOne) {
  for (const ModelSpec& model : {YieldingClosed(), YieldingReads(), YieldingOpen()}) {
    const Beside equal =
        RunBeside({.model = WithoutAgent(model), .law = Law::kGreedy, .seconds = 20});
    const Beside lowest = RunBeside({.model = model, .law = Law::kGreedy, .seconds = 20});
    EXPECT_GE(lowest.ratio, equal.ratio + (equal.ratio < 0.9 ? 0.2 : -0.01));
    EXPECT_LT(lowest.p99, equal.p99);
    EXPECT_GT(lowest.rows, 40'000);
  }
}

// Measured: 20, 41, 72 and 100 thousand rows a second at 0.87, 0.84, 0.80 and 0.98.
TEST(YieldingSimulation, LongChunksDoMoreAndHarmLess) {
  const Beside short_ones = OneGreedy(YieldingClosed(100), true);
  const Beside longer = OneGreedy(YieldingClosed(2000), true);
  const Beside longest = OneGreedy(YieldingClosed(10'000), true);
  EXPECT_NEAR(short_ones.ratio, 0.9, 0.05);
  EXPECT_NEAR(longest.ratio, 0.98, 0.02);
  EXPECT_GT(longest.ratio, short_ones.ratio + 0.03);
  EXPECT_NEAR(short_ones.rows, 20'000, 8'000);
  EXPECT_NEAR(longest.rows, 100'000, 35'000);
  EXPECT_GT(longer.rows, 3 * short_ones.rows);
  EXPECT_GT(longest.rows, longer.rows);
}

// Measured: the longest transaction took 244 ms beside a session of equal rank, 504 beside one of
// the lowest, and 215 where that was raised.
TEST(YieldingSimulation, WhoHoldsALockAndStarvesIsRaised) {
  ModelSpec model = YieldingSameRows();
  const Beside equal = OneGreedy(model, false);
  model.yielding.raises = false;
  const Beside starved = OneGreedy(model, true);
  model.yielding.raises = true;
  const Beside raised = OneGreedy(model, true);
  EXPECT_GT(starved.longest, 1.2 * equal.longest);
  EXPECT_LT(raised.longest, 0.85 * starved.longest);
  EXPECT_LT(raised.p999, starved.p999);
  EXPECT_GT(raised.ratio, equal.ratio);
}

// The law in force where nobody tells it: what short chunks cost it takes for what work does.
TEST(YieldingSimulation, UntoldTheLawDoesNotKnowWhatToDoWithIt) {
  const Scenario scenario{.model = YieldingClosed(), .warm_up = 60, .seconds = 60};
  Scenario is_untold = scenario, has_no_agent = scenario;
  is_untold.law = Law::kUntold;
  has_no_agent.model.yielding.works = false;
  const Beside told = RunBeside(scenario), untold = RunBeside(is_untold);
  EXPECT_LT(untold.busy, 0.6);
  EXPECT_LT(untold.chunk, 0.02);
  EXPECT_LT(untold.rows, 2 * RunBeside(has_no_agent).rows);
  EXPECT_GT(told.rows, 3 * untold.rows);
}

void ExpectTimesTheRows(const ModelSpec& model, double times, double least_ratio) {
  const Beside rate = RunBeside({.model = WithoutAgent(model), .warm_up = 20, .seconds = 60});
  const Beside yielding = RunBeside({.model = model, .warm_up = 20, .seconds = 60});
  EXPECT_GE(yielding.rows, times * rate.rows);
  EXPECT_GE(yielding.ratio, least_ratio);
  EXPECT_GE(yielding.worst, 0.93);
  EXPECT_LE(yielding.p99, 1.25);
}

TEST(YieldingSimulation, AClosedLoopBearsFiveTimesTheRows) {
  ExpectTimesTheRows(YieldingClosed(), 5, 0.945);
}
TEST(YieldingSimulation, AnOpenLoopBearsFiveTimesTheRows) {
  ExpectTimesTheRows(YieldingOpen(), 5, 0.99);
}
TEST(YieldingSimulation, ReadersBearFourTimesTheRows) {
  ExpectTimesTheRows(YieldingReads(), 4, 0.945);
}
TEST(YieldingSimulation, OneClientBearsThreeTimesTheRows) {
  ExpectTimesTheRows(YieldingOneClient(), 3.5, 0.945);
}
// Who wants the rows of a chunk waits for its end, so that chunks become shorter.
TEST(YieldingSimulation, RowsThatOthersWaitForAreNotHeldForLong) {
  const ModelSpec model = YieldingSameRows(1000);
  const Beside rate = RunBeside({.model = WithoutAgent(model), .warm_up = 20, .seconds = 60});
  const Beside yielding = RunBeside({.model = model, .warm_up = 20, .seconds = 60});
  EXPECT_LT(yielding.chunk, 0.06);
  EXPECT_GE(yielding.rows, rate.rows);
  EXPECT_GE(yielding.ratio, 0.98);
  EXPECT_LE(yielding.p99, 1.1);
}

// Two clients, then 24, and two again.
TEST(YieldingSimulation, ARampIsHeldInAllItsParts) {
  const ModelSpec model = YieldingRamp(40, 60);
  for (const double from : {20.0, 40.0, 60.0}) {
    const Beside part = RunBeside({.model = model, .warm_up = from, .seconds = 20});
    EXPECT_GE(part.ratio, 0.93) << from;
    EXPECT_GT(part.rows, 0) << from;
  }
}

TEST(YieldingSimulation, WhereTheAgentGoesTheLawWithoutItIsBackInTwoSeconds) {
  ModelSpec model = YieldingClosed();
  model.yielding.until = 60;
  const Beside after = RunBeside({.model = model, .warm_up = 62.6, .seconds = 30});
  const Beside never = RunBeside({.model = WithoutAgent(model), .warm_up = 62.6, .seconds = 30});
  EXPECT_GT(MeanRate(after.rates, 40, 60), 0.5);
  // Nobody has learnt anything without it yet.
  EXPECT_LT(*std::max_element(after.rates.begin() + 626, after.rates.begin() + 640), 0.1);
  EXPECT_LT(*std::max_element(after.rates.begin() + 626, after.rates.end()),
            2 * *std::max_element(never.rates.begin() + 300, never.rates.end()));
  EXPECT_GE(after.ratio, 0.93);
  // The chunks that were under way, and what comes in the two seconds in which nobody knows.
  EXPECT_GE(RunBeside({.model = model, .warm_up = 60, .seconds = 3}).ratio, 0.6);
}

TEST(YieldingSimulation, NobodyStarves) {
  for (const ModelSpec& model : {YieldingClosed(), YieldingReads(), YieldingSameRows(1000)}) {
    const Beside beside = RunBeside({.model = model, .seconds = 30}, /*seeds=*/1);
    EXPECT_GE(*std::min_element(beside.rates.begin() + 10, beside.rates.end()), 0.1 - 1e-9);
    EXPECT_GT(beside.rows, 1000);
  }
}

TEST(YieldingSimulation, ARestartInTheMiddleCostsLittle) {
  const std::vector<double> rates =
      Simulate({.model = YieldingClosed(), .seconds = 60, .restart_at = 40, .down_for = 1}).rates;
  const double before = MeanRate(rates, 35, 40), after = MeanRate(rates, 42, 45);
  EXPECT_GE(after, 0.65 * before);
  // The share of the processor has to be seen anew, and one session runs meanwhile.
  EXPECT_LE(after, std::max(1.1, 1.25 * before));
}

}  // namespace
}  // namespace headgate::sim
