// What a record says: each turn of a phase against the foreground alone just before and after it,
// since a shared machine drifts, and the fixed rate that a patient person would have found.
//
// Throughput is that of all turns together. Of what happened to times it is the median of the
// turns: otherwise a moment in which the machine stood still would be all that a percentile shows.
//
// Pure functions of the record. Thread-compatible.
//
//   const Results results = Evaluate(record);
#pragma once

#include <string>
#include <vector>

#include "tests/demo/record.h"

namespace headgate::demo {

// All slices of one kind together: the turns of the phase.
struct PhaseResult {
  double fixed_rate = 0;  // that was aimed at, of fixed phases
  load::ForegroundStats foreground;
  load::BatchStats batch;
  double tps_ratio = 0;
  double mean_ratio = 0;
  double deviation_ratio = 0;
  double p99_ratio = 0;
  // Standard errors, by how the turns differ; 0: there was but one.
  double tps_error = 0;
  double p99_error = 0;
};

struct Results {
  load::ForegroundStats alone;  // all of it
  // Every other turn of the foreground alone against those round it: what differs by chance.
  PhaseResult itself;
  PhaseResult greedy;
  PhaseResult settling;
  PhaseResult throttled;
  // Likewise with sessions that yield; no transactions, where those phases were left out.
  PhaseResult yield_settling;
  PhaseResult yielding;
  double yield_gain = 0;         // rows a second, in those of `throttled`
  double yielding_sessions = 0;  // how many did, on average
  std::string yields_by = {};    // of the record
  std::string yields_not = {};
  std::vector<PhaseResult> fixed;  // one for each rate
  // Rows a second that leave the foreground kToleratedRatio of its throughput, and its latency
  // within kToleratedMean and kToleratedDeviation, each on the straight line through the rates that
  // were tried: what they cost the foreground one by one is hardly more than the noise. Never above
  // the highest of them.
  double best_fixed = 0;
  bool best_fixed_is_higher = false;  // than the highest that was tried
  double best_fixed_p99 = 0;          // ratio, on the same kind of line
};

inline constexpr double kToleratedRatio = 0.95;
inline constexpr double kToleratedMean = 1.1;
inline constexpr double kToleratedDeviation = 1.25;

Results Evaluate(const Record& record);

}  // namespace headgate::demo
