#include "server/engine/learnt_measure.h"

#include <algorithm>
#include <cmath>

#include "server/engine/saved_state.h"

namespace headgate::engine {
namespace {

constexpr uint32_t kMemory = 8;
// Reports that may move a prediction far, and how far; and how far each later one may.
constexpr uint32_t kFewReports = 4;
constexpr double kFarFactor = 8, kNearFactor = 2;
// How many times larger or smaller than their mean estimates count.
constexpr double kMostWeight = 8;
// Keeps 0 x ratio a number.
constexpr double kMaxRatio = 1e30;
// From where a prediction of nothing rises again.
constexpr double kLeastRatio = 1e-6, kLeastMean = 1e-3;

double FactorAfter(uint32_t reports) { return reports < kFewReports ? kFarFactor : kNearFactor; }

}  // namespace

void LearntMeasure::Average::Add(double sample) {
  count = std::min(count + 1, kMemory);
  value += static_cast<float>((sample - static_cast<double>(value)) / count);
}

float LearntMeasure::Ratio() const {
  if (!(estimate_.value > 0)) return kUnknown;
  return std::clamp(actual_.value / estimate_.value, 0.0F, static_cast<float>(kMaxRatio));
}

void LearntMeasure::Teach(double estimate, double actual, const Prior& prior) {
  TeachMean(actual, prior);
  if (estimate > 0) TeachRatio(estimate, actual, prior);
}

void LearntMeasure::TeachMean(double actual, const Prior& prior) {
  const bool first = mean_.count == 0;
  const double before = first ? prior.mean : static_cast<double>(mean_.value);
  const double factor = FactorAfter(mean_.count);
  mean_.Add(actual);
  // Where it was charged nothing, there is nothing to hold a first one against.
  const bool is_free = first && (prior.is_guess || std::isinf(before));
  const double least = is_free ? 0 : before / factor;
  const double most = std::max(before, kLeastMean) * factor;
  mean_.value = static_cast<float>(std::clamp(static_cast<double>(mean_.value), least, most));
}

void LearntMeasure::TeachRatio(double estimate, double actual, const Prior& prior) {
  const bool first = !(estimate_.value > 0);
  const double before = first ? prior.ratio : static_cast<double>(Ratio());
  const double factor = FactorAfter(estimate_.count);
  if (!first) {
    const double mean = estimate_.value;
    const double counted = std::clamp(estimate, mean / kMostWeight, mean * kMostWeight);
    // The least numbers would make it infinite, and a cost of 0 no number.
    if (counted != estimate) actual *= std::min(counted / estimate, kMaxRatio);
    estimate = counted;
  }
  estimate_.Add(estimate);
  actual_.Add(actual);
  if (!(estimate_.value > 0)) return;  // too small to be told from 0
  const double least = first && prior.is_guess ? 0 : before / factor;
  const double most = std::min(std::max(before, kLeastRatio) * factor, kMaxRatio);
  const double now = static_cast<double>(actual_.value) / static_cast<double>(estimate_.value);
  if (now >= least && now <= most) return;
  actual_.value =
      static_cast<float>(std::clamp(now, least, most) * static_cast<double>(estimate_.value));
}

void LearntMeasure::Save(SavedMeasure& saved) const {
  const auto plain = [](const Average& average) {
    return SavedAverage{.value = average.value, .count = average.count};
  };
  saved = {.estimate = plain(estimate_), .actual = plain(actual_), .mean = plain(mean_)};
}

void LearntMeasure::Restore(const SavedMeasure& saved) {
  estimate_ = {saved.estimate.value, saved.estimate.count};
  actual_ = {saved.actual.value, saved.actual.count};
  mean_ = {saved.mean.value, saved.mean.count};
}

}  // namespace headgate::engine
