// The laws of docs/control.md against each other, on models of the seven workloads.
//
//   ./dev bench control_sim [--seeds=8] [--seconds=20] [--noise=1]
//
// Each figure is a mean over seeds: the foreground's throughput as a ratio to the same seed without
// batch work, the worst of them, its 99th percentile as a multiple, and the batch work as a share
// of the best fixed rate's that leaves the foreground 0.95 (of greedy work where there is no
// foreground, or none half of the time). Prints the table, nothing is measured in real time.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tests/sim/simulation.h"
#include "tests/sim/workloads.h"

namespace headgate::sim {
namespace {

struct Workload {
  const char* name;
  ModelSpec model;
};

struct Competitor {
  const char* name;
  Law law;
};

struct Options {
  double seeds = 8, seconds = 20, noise = 1;
};

struct Row {
  double ratio = 0, worst = 1e9, p99 = 0, work = 0;
};

Row Measure(const ModelSpec& model, Law law, const Options& options) {
  Row row;
  const int seeds = static_cast<int>(options.seeds);
  for (int seed = 1; seed <= seeds; ++seed) {
    Scenario scenario{.model = model, .law = law, .seconds = options.seconds};
    scenario.seed = static_cast<uint64_t>(seed);
    const Outcome outcome = Simulate(scenario);
    scenario.law = Law::kAlone;
    const Outcome alone = Simulate(scenario);
    row.work += outcome.work / seeds;
    if (alone.foreground == 0) continue;
    const double ratio = outcome.foreground / alone.foreground;
    row.ratio += ratio / seeds;
    row.worst = std::min(row.worst, ratio);
    row.p99 += outcome.p99_ms / alone.p99_ms / seeds;
  }
  return row;
}

// The work that counts as a share of 1.
double FullShare(const ModelSpec& model, const Options& options) {
  const bool idles = model.foreground.clients == 0 || model.foreground.absent > 0;
  if (idles)
    return Measure(model, Law::kGreedy, options).work * (model.foreground.absent > 0 ? 0.5 : 1);
  Scenario scenario{.model = model, .law = Law::kAlone, .seconds = 4 * options.seconds};
  return FindOracle(scenario, Simulate(scenario).foreground).work;
}

void Print(const Workload& workload, const Options& options) {
  constexpr Competitor kCompetitors[] = {{"no throttle", Law::kGreedy},
                                         {"hard gate", Law::kHardGate},
                                         {"AIMD on rate", Law::kAimd},
                                         {"paired probing", Law::kPairedProbing},
                                         {"law in force", Law::kController}};
  ModelSpec model = workload.model;
  model.wobble *= options.noise;
  model.flicker *= options.noise;
  const double full = FullShare(model, options);
  for (const Competitor& competitor : kCompetitors) {
    const Row row = Measure(model, competitor.law, options);
    std::printf("%-3s %-15s", workload.name, competitor.name);
    if (model.foreground.clients > 0) {
      std::printf(" %6.3f %6.3f %7.2f", row.ratio, row.worst, row.p99);
    } else {
      std::printf(" %6s %6s %7s", "", "", "");
    }
    std::printf(" %8.4f %6.2f\n", row.work, row.work / full);
  }
}

bool Parse(absl::string_view argument, Options& options) {
  return (absl::ConsumePrefix(&argument, "--seeds=") &&
          absl::SimpleAtod(argument, &options.seeds) && options.seeds >= 1) ||
         (absl::ConsumePrefix(&argument, "--seconds=") &&
          absl::SimpleAtod(argument, &options.seconds) && options.seconds >= 1) ||
         (absl::ConsumePrefix(&argument, "--noise=") &&
          absl::SimpleAtod(argument, &options.noise) && options.noise >= 0);
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (Parse(argv[i], options)) continue;
    std::fprintf(stderr, "usage: %s [--seeds=8] [--seconds=20] [--noise=1]\n", argv[0]);
    return 2;
  }
  std::printf("%-3s %-15s %6s %6s %7s %8s %6s\n", "", "law", "ratio", "worst", "p99", "work/s",
              "share");
  const Workload workloads[] = {
      {"w1", SameTable()}, {"w2", SmallChunks()},  {"w3", Scans()},       {"w4", OtherTable()},
      {"w5", Paced()},     {"w6", NoForeground()}, {"w7", ComesAndGoes()}};
  for (const Workload& workload : workloads) Print(workload, options);
  return 0;
}

}  // namespace
}  // namespace headgate::sim

int main(int argc, char** argv) { return headgate::sim::Main(argc, argv); }
