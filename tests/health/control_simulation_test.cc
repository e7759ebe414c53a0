// The real controller in its real loop, on a model database: the seven workloads of docs/control.md
// and the cases that are hard for it.
//
// Ratios are to the foreground without batch work, shares to the best fixed rate that leaves the
// foreground 0.95, both on the same model. They are means over several seeds.

#include <algorithm>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sim/simulation.h"

namespace headgate::sim {
namespace {

constexpr int kSeeds = 4;

struct Held {
  double ratio = 0;
  double batch = 0;
  std::vector<double> rates;  // of the last seed
};

double Alone(Scenario scenario) {
  scenario.workers = 0;
  return Simulate(scenario).foreground;
}

Held Hold(Scenario scenario) {
  scenario.law = Law::kController;
  Held held;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    scenario.seed = static_cast<uint64_t>(seed);
    Outcome outcome = Simulate(scenario);
    const double alone = Alone(scenario);
    if (alone > 0) held.ratio += outcome.foreground / alone / kSeeds;
    held.batch += outcome.batch / kSeeds;
    held.rates = std::move(outcome.rates);
  }
  return held;
}

double Share(const Scenario& scenario, double batch) {
  return batch / FindOracle(scenario, Alone(scenario), 0.95).batch;
}

double Mean(const std::vector<double>& values, size_t from, size_t to) {
  return std::accumulate(values.begin() + static_cast<long>(from),
                         values.begin() + static_cast<long>(to), 0.0) /
         static_cast<double>(to - from);
}

// w1: batch work that hurts as updates of the same table do.
Workload Contended() { return {.interference = 0.9}; }
// w2: the same in small chunks.
Workload LessContended() { return {.interference = 0.3}; }
// w3: sequential scans against reads, which take no transaction ids.
Workload ReadOnly() { return {.interference = 0.05, .writes = false}; }
// w4: another table.
Workload Apart() { return {.interference = 0.06}; }
// w5: a foreground that arrives at its own pace.
Workload Paced() { return {.clients = 32, .pace = 800, .interference = 0.9}; }

TEST(ControlSimulation, AGreedyBatchHurtsTheModelAsItHurtsAServer) {
  const auto greedy = [](const Workload& workload) {
    return Simulate({.workload = workload}).foreground / Alone({.workload = workload});
  };
  EXPECT_NEAR(greedy(Contended()), 0.06, 0.03);
  EXPECT_NEAR(greedy(LessContended()), 0.15, 0.04);
  EXPECT_NEAR(greedy(ReadOnly()), 0.36, 0.04);
  EXPECT_NEAR(greedy(Apart()), 0.34, 0.04);
}

TEST(ControlSimulation, TheForegroundKeepsItsSpeedAndTheBatchMoves) {
  for (const Workload& workload : {Contended(), LessContended(), ReadOnly(), Apart()}) {
    const Scenario scenario{.workload = workload};
    const Held held = Hold(scenario);
    EXPECT_GE(held.ratio, 0.94) << "interference " << workload.interference;
    EXPECT_GE(Share(scenario, held.batch), 0.6) << "interference " << workload.interference;
  }
}

TEST(ControlSimulation, AForegroundThatSwaysMoreIsHeldToo) {
  Workload workload = LessContended();
  workload.wander = 0.15;
  const Scenario scenario{.workload = workload};
  const Held held = Hold(scenario);
  EXPECT_GE(held.ratio, 0.92);
  EXPECT_GE(Share(scenario, held.batch), 0.3);
}

TEST(ControlSimulation, APacedForegroundIsServedInFull) {
  const Held held = Hold({.workload = Paced()});
  EXPECT_GE(held.ratio, 0.98);
  EXPECT_GE(held.batch, 0.02);  // no one starves
}

TEST(ControlSimulation, AnIdleDatabaseIsUsedInFull) {
  const Scenario scenario{.workload = {.clients = 0}};
  EXPECT_GE(Hold(scenario).batch, 0.9 * Simulate(scenario).batch);
}

TEST(ControlSimulation, AForegroundThatComesAndGoesKeepsMostOfItsSpeed) {
  Workload workload = Contended();
  workload.period = 10;
  const Held held = Hold({.workload = workload, .seconds = 80});
  EXPECT_GE(held.ratio, 0.88);
  EXPECT_GE(held.batch, 0.6);  // of 2 cores, half the time
}

TEST(ControlSimulation, SettlesFromColdWithinSixSeconds) {
  for (const Workload& workload : {Contended(), Apart()}) {
    EXPECT_GE(Hold({.workload = workload, .warm_up = 6, .seconds = 6}).ratio, 0.88)
        << "interference " << workload.interference;
  }
}

TEST(ControlSimulation, DoesNotOscillateForEver) {
  const Held held = Hold({.workload = Apart(), .seconds = 120});
  const double settled = Mean(held.rates, 400, held.rates.size());
  size_t far = 0;
  for (size_t i = 400; i < held.rates.size(); ++i) {
    far += static_cast<size_t>(held.rates[i] > 3 * settled || held.rates[i] < settled / 5);
  }
  EXPECT_LT(static_cast<double>(far) / static_cast<double>(held.rates.size() - 400), 0.1);
}

// The hard cases.

TEST(ControlSimulation, AFastIdlePhaseLeavesNoHangover) {
  Workload workload = Contended();
  workload.quiet_from = 10;
  workload.quiet_for = 20;
  const Held held = Hold({.workload = workload, .warm_up = 32, .seconds = 30});
  EXPECT_GE(held.ratio, 0.93);
}

TEST(ControlSimulation, AForegroundThatIsPeriodicLikeTheProbeIsNotMistaken) {
  Workload workload = LessContended();
  workload.period = 1.25;  // on and off once in 2.5 s, as a settling controller
  const Held held = Hold({.workload = workload});
  EXPECT_GE(held.ratio, 0.8);
  EXPECT_GE(held.batch, 0.01);
}

TEST(ControlSimulation, ChunksOfManySecondsLeaveTheForegroundAlive) {
  const Held held = Hold({.workload = Apart(), .chunk = 4, .seconds = 120});
  EXPECT_GE(held.ratio, 0.7);
  EXPECT_GE(held.batch, 0.01);
}

TEST(ControlSimulation, AForegroundOfFewTransactionsIsNotTakenForNone) {
  Workload workload = Contended();
  workload.clients = 1;
  workload.service = 0.1;  // ten a second
  workload.wander = 0.05;
  EXPECT_GE(Hold({.workload = workload}).ratio, 0.8);
}

TEST(ControlSimulation, WorksWithoutPgStatStatements) {
  Workload workload = LessContended();
  workload.statements = false;
  const Scenario scenario{.workload = workload};
  const Held held = Hold(scenario);
  EXPECT_GE(held.ratio, 0.93);
  EXPECT_GE(Share(scenario, held.batch), 0.3);
}

TEST(ControlSimulation, StatisticsThatAreResetSpoilOneWindowOnly) {
  double last = 0;
  const auto reset = [&last](ModelDatabase& database) {
    if (database.now() - last < 15) return;
    last = database.now();
    database.ResetStatements();
  };
  const Scenario scenario{.workload = ReadOnly(), .meanwhile = reset};
  const Held held = Hold(scenario);
  EXPECT_GE(held.ratio, 0.93);
  EXPECT_GE(held.batch, 0.02);
}

TEST(ControlSimulation, BatchWorkThatDoesNotAskIsForegroundToTheController) {
  // Two chunks that never end soon: nobody is to be stopped for them.
  bool begun = false;
  const auto strangers = [&begun](ModelDatabase& database) {
    if (begun) return;
    begun = true;
    database.StartChunk(1000);
  };
  Scenario scenario{.workload = Apart(), .seconds = 60, .meanwhile = strangers};
  scenario.law = Law::kController;
  EXPECT_GT(Simulate(scenario).batch, 0.005);
}

TEST(ControlSimulation, OneJobGetsAsMuchAsEight) {
  const double one = Hold({.workload = Apart(), .workers = 1}).batch;
  const double eight = Hold({.workload = Apart(), .workers = 8}).batch;
  EXPECT_GT(one, 0.6 * eight);
}

TEST(ControlSimulation, AHardGateOnActiveSessionsIsNoAnswer) {
  // It either lets nothing through or everything, whatever the foreground feels.
  const Scenario scenario{.workload = Apart(), .law = Law::kHardGate};
  EXPECT_LT(Simulate(scenario).batch, 0.001);
  Workload few = Apart();
  few.clients = 4;
  const Scenario open{.workload = few, .law = Law::kHardGate};
  EXPECT_LT(Simulate(open).foreground / Alone(open), 0.9);
}

}  // namespace
}  // namespace headgate::sim
