// The laws that could set an auto budget's rate, side by side on the model database of tests/sim:
// the seven workloads of docs/control.md, means over eight seeds of 60 s each.
//
//   ./dev bench control_sim
//
// It takes seconds and is exactly repeatable; what a real PostgreSQL says is ./dev bench control.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "tests/sim/simulation.h"

namespace headgate::sim {
namespace {

constexpr int kSeeds = 8;

struct Row {
  double foreground = 0;  // share of what it does alone
  double batch = 0;       // core seconds a second
};

Row Mean(Scenario scenario, Law law) {
  Row row;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    scenario.seed = static_cast<uint64_t>(seed);
    Scenario without = scenario;
    without.workers = 0;
    const double alone = Simulate(without).foreground;
    scenario.law = law;
    const Outcome outcome = Simulate(scenario);
    if (alone > 0) row.foreground += outcome.foreground / alone / kSeeds;
    row.batch += outcome.batch / kSeeds;
  }
  return row;
}

void Print(const char* name, const Workload& workload) {
  const Scenario scenario{.workload = workload};
  Scenario without = scenario;
  without.workers = 0;
  const double oracle = FindOracle(scenario, Simulate(without).foreground, 0.95).batch;
  std::printf("%-28s", name);
  for (const Law law : {Law::kNone, Law::kHardGate, Law::kController}) {
    const Row row = Mean(scenario, law);
    std::printf("  %5.2f %6.3f", row.foreground, row.batch);
    if (law == Law::kController) std::printf("  %5.2f", row.batch / oracle);
  }
  std::printf("\n");
}

int Main() {
  std::printf("%-28s  %12s  %12s  %12s  %5s\n", "foreground, batch work/s", "no throttle",
              "gate at 8", "controller", "share");
  Workload workload;
  const auto with = [&](double interference) {
    workload = {};
    workload.interference = interference;
    return workload;
  };
  Print("w1 same table", with(0.9));
  Print("w2 same table, less", with(0.3));
  workload = with(0.05);
  workload.writes = false;
  Print("w3 reads against scans", workload);
  Print("w4 another table", with(0.06));
  workload = with(0.9);
  workload.pace = 800;
  workload.clients = 32;
  Print("w5 at its own pace", workload);
  workload = with(0);
  workload.clients = 0;
  Print("w6 no foreground", workload);
  workload = with(0.9);
  workload.period = 10;
  Print("w7 comes and goes", workload);
  return 0;
}

}  // namespace
}  // namespace headgate::sim

int main() { return headgate::sim::Main(); }
