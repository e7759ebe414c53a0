// The laws of docs/control.md against each other, on models of databases.
//
//   ./dev bench control_sim [--seeds=4] [--seconds=60] [--noise=1] [--only=closed]
//     [--law=pulses]
//
// Each figure is a mean over seeds: the foreground's throughput as a ratio to the same seed without
// batch work, the worst of them; mean, deviation and 99th percentile of its latency as multiples;
// and the batch work as a share of the best fixed rate's that keeps all three tolerances (of greedy
// work where there is no foreground, or none half of the time). Prints the table; nothing is
// measured in real time, and the same command prints the same figures.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
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
  double seeds = 4, seconds = 60, noise = 1;
  std::string only, law;
};

struct Row {
  double ratio = 0, worst = 1e9, mean = 0, deviation = 0, p99 = 0, work = 0;
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
    row.mean += outcome.mean_ms / alone.mean_ms / seeds;
    row.deviation += outcome.deviation_ms / alone.deviation_ms / seeds;
    row.p99 += outcome.p99_ms / alone.p99_ms / seeds;
  }
  return row;
}

// The work that counts as a share of 1.
double FullShare(ModelSpec model, const Options& options) {
  const bool idles = model.foreground.clients == 0 || model.foreground.absent > 0;
  if (idles) {
    return Measure(model, Law::kGreedy, options).work * (model.foreground.absent > 0 ? 0.5 : 1);
  }
  // What disturbs the foreground anyway would be blamed on any rate.
  model.neighbours = 1;
  model.drift = 0;
  return OracleWork({.model = model, .seconds = options.seconds}, static_cast<int>(options.seeds));
}

void Print(const Workload& workload, const Options& options) {
  constexpr Competitor kCompetitors[] = {
      {"no throttle", Law::kGreedy}, {"hard gate", Law::kHardGate},
      {"AIMD on rate", Law::kAimd},  {"paired probing", Law::kPairedProbing},
      {"pulses", Law::kPulses},      {"law in force", Law::kController}};
  ModelSpec model = workload.model;
  model.wobble *= options.noise;
  model.flicker *= options.noise;
  const double full = FullShare(model, options);
  for (const Competitor& competitor : kCompetitors) {
    if (!options.law.empty() && options.law != competitor.name) continue;
    const Row row = Measure(model, competitor.law, options);
    std::printf("%-9s %-15s", workload.name, competitor.name);
    if (model.foreground.clients > 0) {
      std::printf(" %6.3f %6.3f %6.2f %6.2f %6.2f", row.ratio, row.worst, row.mean, row.deviation,
                  row.p99);
    } else {
      std::printf(" %6s %6s %6s %6s %6s", "", "", "", "", "");
    }
    std::printf(" %8.4f %6.2f\n", row.work, row.work / full);
    std::fflush(stdout);
  }
}

bool Parse(absl::string_view argument, Options& options) {
  for (const auto& [name, word] :
       {std::pair{"--only=", &options.only}, std::pair{"--law=", &options.law}}) {
    if (!absl::ConsumePrefix(&argument, name)) continue;
    *word = std::string(argument);
    return true;
  }
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
    std::fprintf(stderr,
                 "usage: %s [--seeds=4] [--seconds=60] [--noise=1] [--only=closed] "
                 "[--law=pulses]\n",
                 argv[0]);
    return 2;
  }
  std::printf("%-9s %-15s %6s %6s %6s %6s %6s %8s %6s\n", "", "law", "ratio", "worst", "mean",
              "dev", "p99", "work/s", "share");
  const Workload workloads[] = {{"w1", SameTable()},
                                {"w2", SmallChunks()},
                                {"w3", Scans()},
                                {"w4", OtherTable()},
                                {"w5", Paced()},
                                {"w6", NoForeground()},
                                {"w7", ComesAndGoes()},
                                {"closed", ClosedLoop()},
                                {"open", OpenLoop()},
                                {"reads", ReadOnly()},
                                {"one", OneClient()},
                                {"every3s", Periodic(3)},
                                {"every10s", Periodic(10)},
                                {"analytics", Analytics()},
                                {"unasked", UnaskedNeighbour()},
                                {"machine", NoisyMachine()},
                                {"long", LongChunks()},
                                {"drift", DriftingMachine()},
                                {"entries", ManyStatements()}};
  for (const Workload& workload : workloads) {
    if (options.only.empty() || options.only == workload.name) Print(workload, options);
  }
  return 0;
}

}  // namespace
}  // namespace headgate::sim

int main(int argc, char** argv) { return headgate::sim::Main(argc, argv); }
