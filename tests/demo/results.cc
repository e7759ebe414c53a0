#include "tests/demo/results.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "tests/testing/median.h"

namespace headgate::demo {
namespace {

using Windows = std::vector<load::Window>;

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

Windows WindowsOf(const Record& record, Phase phase) {
  Windows windows;
  for (const Slice& slice : record.slices) {
    if (slice.phase == phase) windows.push_back(slice.window);
  }
  return windows;
}

// In the middle of the samples, so that those at the edges of a phase do not count.
double YieldingSessions(const Record& record) {
  std::vector<double> sessions;
  for (const load::Window& window : WindowsOf(record, Phase::kYielding)) {
    for (const ControllerSample& sample : record.controller) {
      if (sample.at < window.from || sample.at >= window.to) continue;
      sessions.push_back(static_cast<double>(sample.yielding));
    }
  }
  return Median(sessions);
}

// The last before and the first after.
Windows NeighboursOf(const Windows& alone, const load::Window& own) {
  Windows neighbours;
  for (const load::Window& window : alone) {
    if (window.to <= own.from) neighbours = {window};
    if (window.from < own.to) continue;
    neighbours.push_back(window);
    break;
  }
  return neighbours;
}

load::BatchStats BatchOver(const load::ChunkLog& chunks, const Windows& windows) {
  load::BatchStats sum;
  absl::Duration length;
  absl::Duration busy;
  double number = 0;
  for (const load::Window& window : windows) {
    const load::BatchStats one = chunks.Over(window);
    const double seconds = absl::ToDoubleSeconds(window.to - window.from);
    sum.rows_per_second += one.rows_per_second * seconds;
    sum.in_flight += one.in_flight * seconds;
    number += one.chunks_per_second * seconds;
    busy += absl::Seconds(one.in_flight * seconds);
    length += window.to - window.from;
  }
  const double seconds = absl::ToDoubleSeconds(length);
  sum.rows_per_second = Ratio(sum.rows_per_second, seconds);
  sum.in_flight = Ratio(sum.in_flight, seconds);
  sum.chunks_per_second = Ratio(number, seconds);
  if (number > 0) sum.mean_chunk = busy / number;
  return sum;
}

double ErrorOfMean(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto number = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / number;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (number - 1) / number);
}

// By the median distance from it, as of normal distributions: wild turns must not count here
// either.
double ErrorOfMedian(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  constexpr double kDeviation = 1.4826, kOfMedian = 1.2533;
  const double median = Median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - median));
  return kDeviation * kOfMedian * Median(distances) / std::sqrt(static_cast<double>(values.size()));
}

// Each window weighs as much as its neighbours do among those `alone`.
PhaseResult Compare(const Record& record, const Windows& windows, const Windows& alone) {
  double expected = 0;
  double seconds = 0;
  std::vector<double> tps, mean, deviation, p99;
  for (const load::Window& window : windows) {
    const load::ForegroundStats own = record.transactions.Over({window});
    const load::ForegroundStats near = record.transactions.Over(NeighboursOf(alone, window));
    const double length = absl::ToDoubleSeconds(window.to - window.from);
    expected += near.per_second * length;
    seconds += length;
    const auto times = [&](absl::Duration load::ForegroundStats::*value) {
      return Ratio(absl::ToDoubleSeconds(own.*value), absl::ToDoubleSeconds(near.*value));
    };
    tps.push_back(Ratio(own.per_second, near.per_second));
    mean.push_back(times(&load::ForegroundStats::mean));
    deviation.push_back(times(&load::ForegroundStats::deviation));
    p99.push_back(times(&load::ForegroundStats::p99));
  }
  PhaseResult result;
  result.foreground = record.transactions.Over(windows);
  result.batch = BatchOver(record.chunks, windows);
  result.tps_ratio = Ratio(result.foreground.per_second * seconds, expected);
  result.mean_ratio = Median(mean);
  result.deviation_ratio = Median(deviation);
  result.p99_ratio = Median(p99);
  result.tps_error = ErrorOfMean(tps);
  result.p99_error = ErrorOfMedian(p99);
  return result;
}

// Every other window against the rest: against all, each would stand on both sides, and throughput
// would come out as 1 whatever happened.
PhaseResult CompareWithItself(const Record& record, const Windows& alone) {
  Windows even, odd;
  for (size_t i = 0; i < alone.size(); ++i) (i % 2 == 0 ? even : odd).push_back(alone[i]);
  return Compare(record, odd, even);
}

// How much of what is tolerated of one harm is used up.
using Harm = double (*)(const PhaseResult&);
constexpr Harm kHarms[] = {
    [](const PhaseResult& one) { return (1 - one.tps_ratio) / (1 - kToleratedRatio); },
    [](const PhaseResult& one) { return (one.mean_ratio - 1) / (kToleratedMean - 1); },
    [](const PhaseResult& one) { return (one.deviation_ratio - 1) / (kToleratedDeviation - 1); },
};

// Of harm = slope x rate, by least squares.
double Slope(const std::vector<PhaseResult>& fixed, Harm harm) {
  double products = 0;
  double squares = 0;
  for (const PhaseResult& one : fixed) {
    const double rate = one.batch.rows_per_second;
    products += rate * harm(one);
    squares += rate * rate;
  }
  return Ratio(products, squares);
}

// By the harm that grows fastest.
void FitBestFixed(Results& results) {
  double slope = 0;
  for (const Harm harm : kHarms) slope = std::max(slope, Slope(results.fixed, harm));
  double highest = 0;
  for (const PhaseResult& one : results.fixed) {
    highest = std::max(highest, one.batch.rows_per_second);
  }
  results.best_fixed_is_higher = slope * highest <= 1;
  results.best_fixed = results.best_fixed_is_higher ? highest : 1 / slope;
  results.best_fixed_p99 =
      1 + results.best_fixed *
              Slope(results.fixed, [](const PhaseResult& one) { return one.p99_ratio - 1; });
}

}  // namespace

Results Evaluate(const Record& record) {
  std::map<double, Windows> fixed;
  for (const Slice& slice : record.slices) {
    if (slice.phase == Phase::kFixed) fixed[slice.fixed_rate].push_back(slice.window);
  }
  const Windows alone = WindowsOf(record, Phase::kAlone);
  const auto compare = [&](Phase phase) {
    return Compare(record, WindowsOf(record, phase), alone);
  };
  Results results;
  results.alone = record.transactions.Over(alone);
  results.itself = CompareWithItself(record, alone);
  results.greedy = compare(Phase::kGreedy);
  results.settling = compare(Phase::kSettling);
  results.throttled = compare(Phase::kThrottled);
  results.yield_settling = compare(Phase::kYieldSettling);
  results.yielding = compare(Phase::kYielding);
  results.yield_gain =
      Ratio(results.yielding.batch.rows_per_second, results.throttled.batch.rows_per_second);
  results.yielding_sessions = YieldingSessions(record);
  results.yields_by = record.yields_by;
  results.yields_not = record.yields_not;
  for (const auto& [rate, windows] : fixed) {
    results.fixed.push_back(Compare(record, windows, alone));
    results.fixed.back().fixed_rate = rate;
  }
  FitBestFixed(results);
  return results;
}

}  // namespace headgate::demo
