// How well `rate: auto` protects a foreground, and what it leaves to the batch, against a real
// PostgreSQL: the workloads of docs/control.md.
//
//   ./dev bench control [--rounds=6] [--only=w1,open,chunks,neighbour,sampling]
//   ./dev bench control --only=w1 --record=tests/control/recorded/w1.txt
//
// The engine, the monitor, the probe and the controller are the server's own, in this process. The
// controller, two fixed even rates and the foreground alone take turns within each workload, so
// that a machine that drifts does so under all of them. The oracle is the fixed rate that keeps all
// three tolerances, on the line through those that were tried. Rows called "alone" compare the
// foreground with itself: by so much figures differ by chance. A run takes about 15 minutes, and
// ends with
//   control: worst_foreground_ratio=… median_foreground_ratio=… worst_p99_ratio=…
//   median_p99_ratio=… median_batch_share=… worst_batch_share=… idle_share=… settle_s=…
// in one line. settle_s is the time after which the rate found stayed within 30 % of what it was in
// the end, from when a foreground came: the median of the workloads. Only when they are asked for:
// `chunks` compares lengths of chunks at one even rate, and `neighbour` adds a second, noisy
// database to the machine.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/bench/control_neighbour.h"
#include "tests/bench/control_stage.h"
#include "tests/testing/median.h"

namespace headgate {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(20);
constexpr double kChunksRate = 8'000;  // rows a second, where the length of chunks is compared
constexpr absl::Duration kRecorded = absl::Seconds(75);

double Least(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}
double Most(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

// Seconds after the foreground came from which on the rate stayed within 30 % of its final value.
double SettleTime(const Outcome& outcome) {
  std::vector<double> late;
  for (const FoundRate& found : outcome.found) {
    if (found.at > outcome.settled_by - absl::Seconds(5)) late.push_back(found.rate);
  }
  const double final = Median(late);
  absl::Time settled = outcome.began;
  for (const FoundRate& found : outcome.found) {
    if (found.at < outcome.began || found.at > outcome.settled_by) continue;
    if (std::abs(found.rate - final) > 0.3 * final) settled = found.at;
  }
  return absl::ToDoubleSeconds(settled - outcome.began);
}

class Table {
 public:
  Table(ControlStage& stage, int rounds) : stage_(stage), rounds_(rounds) {
    std::printf("%-5s %-10s %8s %6s %5s %6s %6s %6s %5s %9s %8s %7s\n", "", "", "TPS", "ratio",
                "+-", "mean", "dev", "p99", "+-", "rows/s", "busy s/s", "chunk");
  }

  void Measure(const Workload& workload) {
    if (workload.builtin.empty()) return MeasureIdle(workload);
    const bool comes_and_goes = workload.period != absl::InfiniteDuration();
    const Outcome outcome = comes_and_goes ? stage_.ComeAndGo(workload, (rounds_ + 1) / 2)
                                           : stage_.Alternate(workload, kSettle, rounds_);
    const demo::Results& results = outcome.results;
    Print(workload, "alone", results.itself);
    Print(workload, "controller", results.throttled);
    by_chance_.push_back(results.itself.tps_ratio);
    p99_by_chance_.push_back(results.itself.p99_ratio);
    ratios_.push_back(results.throttled.tps_ratio);
    p99s_.push_back(results.throttled.p99_ratio);
    if (!comes_and_goes) {
      for (const demo::PhaseResult& fixed : results.fixed) Print(workload, "fixed", fixed);
      const double share = results.throttled.batch.rows_per_second / results.best_fixed;
      std::printf(
          "%-5s best fixed rate%s: %.0f rows/s at %.2f times the 99th percentile; the controller "
          "got "
          "%.2f of it\n",
          workload.name.c_str(), results.best_fixed_is_higher ? " (or more)" : "",
          results.best_fixed, results.best_fixed_p99, share);
      shares_.push_back(share);
      oracle_p99s_.push_back(results.best_fixed_p99);
      settle_.push_back(SettleTime(outcome));
      std::printf("%-5s settled after %.1f s; %s\n", workload.name.c_str(), settle_.back(),
                  outcome.words.c_str());
    }
    std::fflush(stdout);
  }

  void MeasureChunks(const Workload& workload, double rows_per_second) {
    const int rounds = 3 * rounds_;
    for (const demo::PhaseResult& fixed :
         stage_.ChunkLengths(workload, rows_per_second, rounds).fixed) {
      Print(workload, absl::StrFormat("by %.0f", fixed.fixed_rate).c_str(), fixed);
    }
    std::fflush(stdout);
  }

  void PrintSummary() const {
    if (ratios_.empty()) return;
    std::printf("99th percentile at the best fixed rates: worst %.2f, median %.2f\n",
                Most(oracle_p99s_), Median(oracle_p99s_));
    std::printf("alone, by chance: throughput %.3f to %.3f, 99th percentile %.2f to %.2f\n",
                Least(by_chance_), Most(by_chance_), Least(p99_by_chance_), Most(p99_by_chance_));
    std::printf(
        "control: worst_foreground_ratio=%.3f median_foreground_ratio=%.3f worst_p99_ratio=%.2f "
        "median_p99_ratio=%.2f median_batch_share=%.2f worst_batch_share=%.2f idle_share=%.2f "
        "settle_s=%.1f\n",
        Least(ratios_), Median(ratios_), Most(p99s_), Median(p99s_), Median(shares_),
        Least(shares_), idle_share_, Median(settle_));
  }

 private:
  void MeasureIdle(const Workload& workload) {
    double rows[2] = {};
    for (const IdleTurn& turn : stage_.Idle(workload, absl::Seconds(4))) {
      demo::PhaseResult row;
      row.batch = turn.batch;
      Print(workload, turn.greedy ? "greedy" : "controller", row);
      rows[turn.greedy ? 1 : 0] += turn.batch.rows_per_second;
    }
    idle_share_ = rows[1] > 0 ? rows[0] / rows[1] : 0;
    std::printf("%-5s the controller got %.2f of it\n", workload.name.c_str(), idle_share_);
    std::fflush(stdout);
  }

  static void Print(const Workload& workload, const char* law, const demo::PhaseResult& row) {
    std::printf("%-5s %-10s %8.0f %6.3f %5.3f %6.2f %6.2f %6.2f %5.2f %9.0f %8.3f %7.1f\n",
                workload.name.c_str(), law, row.foreground.per_second, row.tps_ratio, row.tps_error,
                row.mean_ratio, row.deviation_ratio, row.p99_ratio, row.p99_error,
                row.batch.rows_per_second, row.batch.in_flight,
                absl::ToDoubleMilliseconds(row.batch.mean_chunk));
  }

  ControlStage& stage_;
  const int rounds_;
  std::vector<double> ratios_, p99s_, by_chance_, p99_by_chance_, oracle_p99s_, shares_, settle_;
  double idle_share_ = 0;
};

struct Flags {
  int rounds = 6;
  std::vector<std::string> only = {};
  std::string record = {};

  bool Wants(const std::string& name) const {
    return std::find(only.begin(), only.end(), name) != only.end();
  }
};

bool Parse(absl::string_view argument, Flags& flags) {
  if (absl::ConsumePrefix(&argument, "--rounds=")) {
    return absl::SimpleAtoi(argument, &flags.rounds) && flags.rounds >= 1;
  }
  if (absl::ConsumePrefix(&argument, "--record=")) {
    flags.record = std::string(argument);
    return true;
  }
  if (!absl::ConsumePrefix(&argument, "--only=")) return false;
  flags.only = absl::StrSplit(argument, ',', absl::SkipEmpty());
  return true;
}

void Record(ControlStage& stage, const Workload& workload, const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) Die(absl::UnavailableError(absl::StrCat("cannot write ", path)));
  stage.Record(workload, kRecorded, file);
  std::fclose(file);
}

void MeasureNeighbour(ControlStage& stage, const Workload& workload) {
  const NeighbourOutcome outcome = BesideANeighbour(stage, workload);
  std::printf(
      "beside a noisy database: %.3f busy s/s found, %.3f before; %.0f rows/s, %.0f before; less "
      "than a quarter of the rows before for %.0f s at most\n",
      outcome.rate_beside, outcome.rate_before, outcome.rows_beside, outcome.rows_before,
      outcome.starved_s);
}

void MeasureSampling(ControlStage& stage, const Workload& workload) {
  const double cost = stage.SamplingCost(workload, absl::Seconds(45));
  std::printf("sampling takes %.3f %% of a core of the server, with 5,000 entries in the view\n",
              100 * cost);
}

int Main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (Parse(argv[i], flags)) continue;
    std::fprintf(stderr,
                 "usage: %s [--rounds=6] [--only=w1,open,chunks,neighbour,sampling] "
                 "[--record=FILE]\n",
                 argv[0]);
    return 2;
  }
  ControlStage stage;
  const std::vector<Workload> workloads = Workloads();
  const Workload& usual = workloads[3];
  if (!flags.record.empty()) {
    for (const Workload& workload : workloads) {
      if (flags.Wants(workload.name)) Record(stage, workload, flags.record);
    }
    return 0;
  }
  Table table(stage, flags.rounds);
  for (const Workload& workload : workloads) {
    if (flags.only.empty() || flags.Wants(workload.name)) table.Measure(workload);
  }
  if (flags.Wants("chunks")) {
    for (const Workload& workload : workloads) {
      if (workload.name == "w4" || workload.name == "open") {
        table.MeasureChunks(workload, kChunksRate);
      }
    }
  }
  if (flags.Wants("neighbour")) MeasureNeighbour(stage, usual);
  if (flags.only.empty() || flags.Wants("sampling")) MeasureSampling(stage, usual);
  table.PrintSummary();
  return 0;
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) { return headgate::Main(argc, argv); }
