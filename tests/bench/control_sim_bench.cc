// The laws of docs/health.md against each other, on models of databases.
//
//   ./dev bench control_sim [--seeds=4] [--seconds=60] [--noise=1] [--only=closed]
//     [--law=pulses]
//   ./dev bench control_sim --only=chunks
//
// Each figure is a mean over seeds: the foreground's throughput as a ratio to the same seed without
// batch work, the worst of them; mean, deviation and 99th percentile of its latency as multiples;
// and the batch work as a share of the best fixed rate's that keeps all three tolerances (of greedy
// work where there is no foreground, or none half of the time). Then the same where sessions of
// batch work may yield the processor, with rows a second in place of shares; the second and the
// third of the laws there are the one in force where nothing yields, and where nobody tells it.
// `chunks` is how the length of chunks counts. Prints the tables; nothing is measured in real time,
// and the same command prints the same figures.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tests/sim/simulation.h"
#include "tests/sim/workloads.h"
#include "tests/sim/yielding_workloads.h"

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
  double rows = 0, chunk = 0, p999 = 0, longest = 0, busy = 0;
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
    row.rows += outcome.rows / seeds;
    row.chunk += outcome.chunk / seeds;
    row.busy += outcome.busy / seeds;
    if (alone.foreground == 0) continue;
    const double ratio = outcome.foreground / alone.foreground;
    row.ratio += ratio / seeds;
    row.worst = std::min(row.worst, ratio);
    row.mean += outcome.mean_ms / alone.mean_ms / seeds;
    row.deviation += outcome.deviation_ms / alone.deviation_ms / seeds;
    row.p99 += outcome.p99_ms / alone.p99_ms / seeds;
    row.p999 += outcome.p999_ms / alone.p999_ms / seeds;
    row.longest += outcome.longest_ms / seeds;
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

void PrintYielding(const char* name, const char* law, const Row& row) {
  std::printf("%-9s %-15s %6.3f %6.3f %6.2f %6.2f %6.2f %6.2f %8.0f %8.0f %6.1f %6.2f\n", name, law,
              row.ratio, row.worst, row.mean, row.deviation, row.p99, row.p999, row.longest,
              row.rows, 1000 * row.chunk, row.busy);
  std::fflush(stdout);
}

void PrintYieldingHead() {
  std::printf("\n%-9s %-15s %6s %6s %6s %6s %6s %6s %8s %8s %6s %6s\n", "yielding", "law", "ratio",
              "worst", "mean", "dev", "p99", "p99.9", "longest", "rows/s", "chunk", "W");
}

void PrintYielding(const Workload& workload, const Options& options) {
  struct Case {
    const char* name;
    Law law;
    bool yields;
  };
  constexpr Case kCases[] = {{"no throttle", Law::kGreedy, false},
                             {"lowest rank", Law::kGreedy, true},
                             {"nothing yields", Law::kController, false},
                             {"untold", Law::kUntold, true},
                             {"law in force", Law::kController, true}};
  ModelSpec model = workload.model;
  model.wobble *= options.noise;
  model.flicker *= options.noise;
  for (const Case& one : kCases) {
    if (!options.law.empty() && options.law != one.name) continue;
    model.yielding.works = one.yields;
    PrintYielding(workload.name, one.name, Measure(model, one.law, options));
  }
}

// One worker that never waits, in a closed loop, by the rows of its chunks; and where others wait
// for rows that it has locked.
void PrintChunks(const Options& options) {
  PrintYieldingHead();
  for (const double rows : {100.0, 400.0, 2000.0, 10'000.0}) {
    ModelSpec model = YieldingClosed(rows);
    model.batch.workers = 1;
    PrintYielding(std::to_string(static_cast<int>(rows)).c_str(), "lowest rank",
                  Measure(model, Law::kGreedy, options));
  }
  for (const bool yields : {false, true}) {
    for (const bool raises : {false, true}) {
      if (raises && !yields) continue;
      ModelSpec model = YieldingSameRows();
      model.batch.workers = 1;
      model.yielding.works = yields;
      model.yielding.raises = raises;
      PrintYielding("same rows",
                    raises   ? "lowest, raised"
                    : yields ? "lowest rank"
                             : "no throttle",
                    Measure(model, Law::kGreedy, options));
    }
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
  if (options.only == "chunks") PrintChunks(options);
  const Workload yielding[] = {{"y-closed", YieldingClosed()},    {"y-open", YieldingOpen()},
                               {"y-reads", YieldingReads()},      {"y-one", YieldingOneClient()},
                               {"y-3s", YieldingPeriodic(3)},     {"y-10s", YieldingPeriodic(10)},
                               {"y-analyt", YieldingAnalytics()}, {"y-ramp", YieldingRamp(25, 45)},
                               {"y-rows", YieldingSameRows(1000)}};
  if (options.only.empty() || options.only == "yielding" || options.only.starts_with("y-")) {
    PrintYieldingHead();
  }
  for (const Workload& workload : yielding) {
    if (options.only.empty() || options.only == "yielding" || options.only == workload.name) {
      PrintYielding(workload, options);
    }
  }
  return 0;
}

}  // namespace
}  // namespace headgate::sim

int main(int argc, char** argv) { return headgate::sim::Main(argc, argv); }
