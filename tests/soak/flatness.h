// Whether a quantity that is sampled once a second has stopped growing.
//
// Load and faults come in cycles, and memory and connections with them: a sawtooth is no leak. Two
// windows of the same whole number of cycles are compared, each by its median or another quantile:
// the baseline, after the warm-up, and the end. Both begin at the same place of a cycle, so that a
// sawtooth looks the same in both, while what is lost in each cycle adds up between them.
//
// Pure functions.
//
//   absl::StatusOr<Judgement> rss = JudgeFlat(samples, {.cycle = 15, .share = 0.04});
//   if (rss.ok() && !rss->flat) ...

#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"

namespace headgate::soak {

struct FlatnessOptions {
  size_t cycle = 1;     // samples in a cycle of the load; above 0
  double share = 0;     // the end may be above the baseline by this share of it,
  double absolute = 0;  // and by so much besides
  // Of a window. Below a half, what is taken and given back does not count: a leak lifts the floor.
  double quantile = 0.5;
};

struct Judgement {
  double baseline = 0;  // quantile after the warm-up
  double end = 0;       // the same of the end
  double most = 0;      // that the end may be
  size_t window = 0;    // samples in each
  bool flat = false;
};

// Fewer samples cannot be judged: two fifths are the warm-up, at least.
constexpr size_t LeastSamples(size_t cycle) { return 5 * cycle; }

// InvalidArgument: too few samples.
absl::StatusOr<Judgement> JudgeFlat(const std::vector<double>& samples,
                                    const FlatnessOptions& options);

}  // namespace headgate::soak
