// How well `rate: auto` protects a foreground, and what it leaves to the batch, against a real
// PostgreSQL: the workloads of docs/health.md.
//
//   ./dev bench control [--rounds=5] [--runs=3] [--only=w1,open,chunks,neighbour,sampling]
//   ./dev bench control --only=w1 --record=tests/observe/control/recorded/w1.txt
//
// The engine, the monitor, the probe and the controller are the server's own, in this process. The
// controller, two fixed even rates and the foreground alone take turns within each workload, so
// that a machine that drifts does so under all of them. The oracle is the fixed rate that keeps all
// three tolerances, on the line through those that were tried. Rows called "alone" compare the
// foreground with itself: by so much figures differ by chance. A run takes about 14 minutes, and
// ends with
//   control: worst_foreground_ratio=… median_foreground_ratio=… worst_p99_ratio=…
//   median_p99_ratio=… median_batch_share=… worst_batch_share=… idle_share=… settle_s=…
// in one line. A single row of one run is as much luck as law, and the worst of nine is the
// unluckiest: after several runs the same line follows for the median of each row. settle_s is the
// time after which the rate found stayed within 30 % of what it was in the end, from when a
// foreground came: the median of the workloads. Only when they are asked for: `chunks` compares
// lengths of chunks in four workloads, each at an even rate of its own, and `neighbour` adds a
// second, noisy database to the machine.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
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

// Of one workload; what does not apply is not there.
struct Figures {
  std::optional<double> foreground = {}, p99 = {};
  std::optional<double> alone = {}, alone_p99 = {};  // the foreground against itself
  std::optional<double> share = {}, oracle_p99 = {}, settle = {}, idle_share = {};
};
using Rows = std::vector<Figures>;

std::vector<double> Of(const Rows& rows, std::optional<double> Figures::*figure) {
  std::vector<double> values;
  for (const Figures& row : rows) {
    if (row.*figure) values.push_back(*(row.*figure));
  }
  return values;
}

// Row by row; all runs have the same ones.
Rows MedianOf(const std::vector<Rows>& runs) {
  Rows medians(runs.front().size());
  for (size_t i = 0; i < medians.size(); ++i) {
    Rows same;
    for (const Rows& run : runs) same.push_back(run[i]);
    for (const auto figure :
         {&Figures::foreground, &Figures::p99, &Figures::share, &Figures::oracle_p99,
          &Figures::settle, &Figures::idle_share, &Figures::alone, &Figures::alone_p99}) {
      const std::vector<double> values = Of(same, figure);
      if (!values.empty()) medians[i].*figure = Median(values);
    }
  }
  return medians;
}

void Print(const Rows& rows) {
  const auto of = [&rows](std::optional<double> Figures::*figure) { return Of(rows, figure); };
  const std::vector<double> ratios = of(&Figures::foreground), p99s = of(&Figures::p99),
                            shares = of(&Figures::share), oracle = of(&Figures::oracle_p99),
                            alone = of(&Figures::alone), alone_p99 = of(&Figures::alone_p99);
  if (ratios.empty()) return;
  std::printf("99th percentile at the best fixed rates: worst %.2f, median %.2f\n", Most(oracle),
              Median(oracle));
  std::printf("alone, by chance: throughput %.3f to %.3f, 99th percentile %.2f to %.2f\n",
              Least(alone), Most(alone), Least(alone_p99), Most(alone_p99));
  std::printf(
      "control: worst_foreground_ratio=%.3f median_foreground_ratio=%.3f worst_p99_ratio=%.2f "
      "median_p99_ratio=%.2f median_batch_share=%.2f worst_batch_share=%.2f idle_share=%.2f "
      "settle_s=%.1f\n",
      Least(ratios), Median(ratios), Most(p99s), Median(p99s), Median(shares), Least(shares),
      Median(of(&Figures::idle_share)), Median(of(&Figures::settle)));
  std::fflush(stdout);
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
    Figures row = {.foreground = results.throttled.tps_ratio,
                   .p99 = results.throttled.p99_ratio,
                   .alone = results.itself.tps_ratio,
                   .alone_p99 = results.itself.p99_ratio};
    if (!comes_and_goes) {
      for (const demo::PhaseResult& fixed : results.fixed) Print(workload, "fixed", fixed);
      const double share = results.throttled.batch.rows_per_second / results.best_fixed;
      std::printf(
          "%-5s best fixed rate%s: %.0f rows/s at %.2f times the 99th percentile; the controller "
          "got %.2f of it\n",
          workload.name.c_str(), results.best_fixed_is_higher ? " (or more)" : "",
          results.best_fixed, results.best_fixed_p99, share);
      row.share = share;
      row.oracle_p99 = results.best_fixed_p99;
      row.settle = SettleTime(outcome);
      std::printf("%-5s settled after %.1f s; %s\n", workload.name.c_str(), *row.settle,
                  outcome.words.c_str());
    }
    rows_.push_back(row);
    std::fflush(stdout);
  }

  void MeasureChunks(const Workload& workload) {
    for (const demo::PhaseResult& fixed : stage_.ChunkLengths(workload, 4 * rounds_).fixed) {
      Print(workload, absl::StrFormat("by %.0f", fixed.fixed_rate).c_str(), fixed);
    }
    std::fflush(stdout);
  }

  const Rows& rows() const { return rows_; }

 private:
  void MeasureIdle(const Workload& workload) {
    double rows[2] = {};
    for (const IdleTurn& turn : stage_.Idle(workload)) {
      demo::PhaseResult row;
      row.batch = turn.batch;
      Print(workload, turn.greedy ? "greedy" : "controller", row);
      rows[turn.greedy ? 1 : 0] += turn.batch.rows_per_second;
    }
    Figures figures;
    figures.idle_share = rows[1] > 0 ? rows[0] / rows[1] : 0;
    rows_.push_back(figures);
    std::printf("%-5s the controller got %.2f of it\n", workload.name.c_str(), *figures.idle_share);
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
  Rows rows_;
};

struct Flags {
  int rounds = 5;
  int runs = 1;
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
  if (absl::ConsumePrefix(&argument, "--runs=")) {
    return absl::SimpleAtoi(argument, &flags.runs) && flags.runs >= 1;
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
  const double cost = stage.SamplingCost(workload, absl::Seconds(30));
  std::printf("sampling takes %.3f %% of a core of the server, with 5,000 entries in the view\n",
              100 * cost);
}

// On a database of its own, so that runs do not find what those before left.
Rows Run(const Flags& flags) {
  ControlStage stage;
  const std::vector<Workload> workloads = Workloads();
  const Workload& usual = workloads[3];
  Table table(stage, flags.rounds);
  for (const Workload& workload : workloads) {
    if (flags.only.empty() || flags.Wants(workload.name)) table.Measure(workload);
  }
  if (flags.Wants("chunks")) {
    for (const Workload& workload : workloads) {
      if (workload.chunks_rate > 0) table.MeasureChunks(workload);
    }
  }
  if (flags.Wants("neighbour")) MeasureNeighbour(stage, usual);
  if (flags.only.empty() || flags.Wants("sampling")) MeasureSampling(stage, usual);
  Print(table.rows());
  return table.rows();
}

int Main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (Parse(argv[i], flags)) continue;
    std::fprintf(stderr,
                 "usage: %s [--rounds=5] [--runs=3] [--only=w1,open,chunks,neighbour,sampling] "
                 "[--record=FILE]\n",
                 argv[0]);
    return 2;
  }
  if (!flags.record.empty()) {
    ControlStage stage;
    for (const Workload& workload : Workloads()) {
      if (flags.Wants(workload.name)) Record(stage, workload, flags.record);
    }
    return 0;
  }
  std::vector<Rows> runs(static_cast<size_t>(flags.runs));
  for (Rows& rows : runs) rows = Run(flags);
  if (flags.runs > 1) {
    std::printf("the median of each row in %d runs:\n", flags.runs);
    Print(MedianOf(runs));
  }
  return 0;
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) { return headgate::Main(argc, argv); }
