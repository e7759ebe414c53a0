// How well `rate: auto` protects a foreground, against a real PostgreSQL: the seven workloads of
// docs/control.md, under the law in force and under a hard gate on active sessions.
//
//   ./dev bench control [--seconds=20] [--only=w1]
//
// The engine, the monitor, the probe and the controller are the server's own, in this process. Each
// phase lies between two of the foreground alone, and is compared with their mean, since machines
// drift. The oracle is the fixed rate that leaves the foreground 0.95: on the line through several
// rates that are tried in the same run, a second at a time with a second alone between, since one
// of them harms hardly more than a machine drifts in a minute. A whole run takes about 30 minutes,
// and ends with the line
//   control: worst_foreground_ratio=… median_foreground_ratio=… median_batch_share=… idle_share=…

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "tests/bench/control_stage.h"

namespace headgate {
namespace {

double Ratio(double a, double b) { return b > 0 ? a / b : 1; }

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Summary {
  std::vector<double> ratios, shares;
  double idle_share = 0;
};

class Table {
 public:
  Table(ControlStage& stage, absl::Duration length) : stage_(stage), length_(length) {}

  void Measure(const Workload& workload) {
    const bool idle = workload.builtin.empty();
    // Long enough for a foreground that is gone to come back, and to go again.
    const absl::Duration length = std::isinf(absl::ToDoubleSeconds(workload.period))
                                      ? length_
                                      : std::max(length_, 4 * workload.period);
    alone_ = idle ? Result{} : stage_.Run(workload, Law::kAlone, length_ / 2);
    const Row held = Try(workload, "law in force", Law::kController, length);
    if (!idle) MeasureFixed(workload, held);
    (void)Try(workload, "hard gate", Law::kHardGate, length);
    const Row greedy = Try(workload, "greedy", Law::kGreedy, length_);
    if (idle) {
      summary_.idle_share = Ratio(held.batch.rows_per_second, greedy.batch.rows_per_second);
    } else {
      summary_.ratios.push_back(held.ratio);
    }
  }

  const Summary& summary() const { return summary_; }

 private:
  struct Row {
    double per_second = 0, ratio = 0, p99_ms = 0, p99_ratio = 0;  // foreground
    load::BatchStats batch;
  };

  // One law, between two stretches of the foreground alone.
  Row Try(const Workload& workload, const char* law, Law which, absl::Duration length) {
    const Result result = stage_.Run(workload, which, length);
    const Result after =
        workload.builtin.empty() ? Result{} : stage_.Run(workload, Law::kAlone, length_ / 2);
    const double tps = (alone_.per_second + after.per_second) / 2;
    const double p99 = (alone_.p99_ms + after.p99_ms) / 2;
    alone_ = after;
    const Row row = {.per_second = result.per_second,
                     .ratio = Ratio(result.per_second, tps),
                     .p99_ms = result.p99_ms,
                     .p99_ratio = Ratio(result.p99_ms, p99),
                     .batch = result.batch};
    Print(workload, law, row);
    return row;
  }

  // Where the foreground comes and goes, the oracle is that of the time when it is there.
  void MeasureFixed(const Workload& workload, const Row& held) {
    const double rows_in_busy_second = Ratio(held.batch.rows_per_second, held.batch.in_flight);
    const demo::Results results = stage_.TryFixedRates(workload, rows_in_busy_second, length_);
    for (size_t i = 0; i < results.fixed.size(); ++i) {
      const demo::PhaseResult& one = results.fixed[i];
      Print(workload, absl::StrFormat("fixed %.2f", one.fixed_rate / rows_in_busy_second).c_str(),
            {.per_second = one.foreground.per_second,
             .ratio = one.tps_ratio,
             .p99_ms = absl::ToDoubleMilliseconds(one.foreground.p99),
             .p99_ratio = one.p99_ratio,
             .batch = one.batch});
    }
    const double share = Ratio(held.batch.rows_per_second, results.best_fixed);
    std::printf("%-3s best fixed rate%s: %.0f rows/s; the law in force got %.2f of it\n",
                workload.name.c_str(), results.best_fixed_is_higher ? " (or more)" : "",
                results.best_fixed, share);
    summary_.shares.push_back(share);
  }

  static void Print(const Workload& workload, const char* law, const Row& row) {
    std::printf("%-3s %-14s %8.0f %6.3f %7.1f %6.2f %9.0f %8.3f %7.1f\n", workload.name.c_str(),
                law, row.per_second, row.ratio, row.p99_ms, row.p99_ratio,
                row.batch.rows_per_second, row.batch.in_flight,
                absl::ToDoubleMilliseconds(row.batch.mean_chunk));
    std::fflush(stdout);
  }

  ControlStage& stage_;
  const absl::Duration length_;
  Result alone_;  // the newest
  Summary summary_;
};

int Main(int argc, char** argv) {
  double seconds = 20;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--seconds=") && absl::SimpleAtod(argument, &seconds) &&
        seconds >= 2) {
      continue;
    }
    if (absl::ConsumePrefix(&argument, "--only=")) {
      only = std::string(argument);
      continue;
    }
    std::fprintf(stderr, "usage: %s [--seconds=20] [--only=w1]\n", argv[0]);
    return 2;
  }
  ControlStage stage;
  Table table(stage, absl::Seconds(seconds));
  std::printf("%-3s %-14s %8s %6s %7s %6s %9s %8s %7s\n", "", "law", "TPS", "ratio", "p99 ms",
              "ratio", "rows/s", "busy s/s", "chunk");
  for (const Workload& workload : Workloads()) {
    if (only.empty() || only == workload.name) table.Measure(workload);
  }
  const Summary& summary = table.summary();
  const double worst =
      summary.ratios.empty() ? 0 : *std::min_element(summary.ratios.begin(), summary.ratios.end());
  std::printf(
      "control: worst_foreground_ratio=%.3f median_foreground_ratio=%.3f "
      "median_batch_share=%.2f idle_share=%.2f\n",
      worst, Median(summary.ratios), Median(summary.shares), summary.idle_share);
  return 0;
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) { return headgate::Main(argc, argv); }
