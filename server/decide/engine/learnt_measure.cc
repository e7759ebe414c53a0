#include "server/decide/engine/learnt_measure.h"

#include <algorithm>
#include <cmath>

#include "server/decide/engine/saved_state.h"

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

// From what is so many times a prediction, or such a part of it, nothing follows yet.
constexpr double kMistake = 8;
// A run of such Reports adds this, and one as usual takes one of it. From so much on, runs are as
// usual themselves: where one Report in seven is so.
constexpr uint8_t kSpreadOfRun = 6, kUsualSpread = 8, kMostSpread = 20;
// Below this all is alike.
constexpr double kLeast = 1e-15;

// How far apart two are, as a logarithm.
double Distance(double a, double b) {
  return std::abs(std::log(std::max(a, kLeast) / std::max(b, kLeast)));
}

bool IsFar(double a, double b) {
  a = std::max(a, kLeast);
  b = std::max(b, kLeast);
  return a > kMistake * b || b > kMistake * a;
}

}  // namespace

bool LearntMeasure::Surge::GoesBack(double sample, double predicted, uint32_t count) {
  if (run > 0) {
    const auto at_first = static_cast<double>(before);
    if (!IsFar(sample, at_first) && Distance(sample, at_first) < Distance(sample, predicted)) {
      return true;
    }
    run = static_cast<uint8_t>((run + 1U) % kMemory);  // what lasts is no mistake
    return false;
  }
  if (!IsFar(sample, predicted)) {
    if (spread > 0) --spread;
    return false;
  }
  if (spread <= kUsualSpread && predicted < kMaxRatio) {
    before = static_cast<float>(predicted);
    run = 1;
    taught = static_cast<uint8_t>(count);
  }
  spread = static_cast<uint8_t>(std::min(spread + kSpreadOfRun, int{kMostSpread}));
  return false;
}

double LearntMeasure::Surge::Back(double predicted) {
  const double from = std::max(static_cast<double>(before), kLeast);
  const double part = static_cast<double>(run - 1) / run;
  --run;
  return run == 0 ? static_cast<double>(before)
                  : from * std::pow(std::max(predicted, kLeast) / from, part);
}

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
  // Where it was charged nothing, there is nothing to hold a first one against.
  const bool is_free = first && (prior.is_guess || std::isinf(before));
  double factor = FactorAfter(mean_.count);
  const bool goes_back = !is_free && mean_surge_.GoesBack(actual, before, mean_.count);
  if (goes_back) {
    const uint32_t count = std::max<uint32_t>(mean_.count - 1, mean_surge_.taught);
    factor = FactorAfter(count);
    mean_.value = static_cast<float>(mean_surge_.Back(before));
    mean_.count = std::max(count, 1U);
    if (mean_surge_.run == 0 && !IsFar(actual, static_cast<double>(mean_.value))) {
      mean_.count = count;
      mean_.Add(actual);
    }
  } else {
    mean_.Add(actual);
  }
  // What had risen from nothing may go back there.
  const bool had_risen = goes_back && before <= kLeastMean * kFarFactor;
  const double least = is_free || had_risen ? 0 : before / factor;
  const double most = std::max(before, kLeastMean) * factor;
  mean_.value = static_cast<float>(std::clamp(static_cast<double>(mean_.value), least, most));
}

void LearntMeasure::TeachRatio(double estimate, double actual, const Prior& prior) {
  const bool first = !(estimate_.value > 0);
  const double before = first ? prior.ratio : static_cast<double>(Ratio());
  double factor = FactorAfter(estimate_.count);
  if (!first) {
    const double mean = estimate_.value;
    const double counted = std::clamp(estimate, mean / kMostWeight, mean * kMostWeight);
    // The least numbers would make it infinite, and a cost of 0 no number.
    if (counted != estimate) actual *= std::min(counted / estimate, kMaxRatio);
    estimate = counted;
  }
  const double sample = std::min(actual / estimate, kMaxRatio);
  bool is_added = true;
  const bool goes_back = ratio_surge_.GoesBack(sample, before, estimate_.count);
  if (goes_back) {
    const uint32_t count = std::max<uint32_t>(estimate_.count - 1, ratio_surge_.taught);
    factor = FactorAfter(count);
    const double back = ratio_surge_.Back(before);
    actual_.value = static_cast<float>(back * static_cast<double>(estimate_.value));
    is_added = ratio_surge_.run == 0 && !IsFar(sample, back);
    estimate_.count = actual_.count = is_added ? count : std::max(count, 1U);
  }
  if (is_added) {
    estimate_.Add(estimate);
    actual_.Add(actual);
  }
  if (!(estimate_.value > 0)) return;  // too small to be told from 0
  const bool had_risen = goes_back && before <= kLeastRatio * kFarFactor;
  const double least = (first && prior.is_guess) || had_risen ? 0 : before / factor;
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
  const auto plain_surge = [](const Surge& surge) {
    return SavedSurge{
        .before = surge.before, .run = surge.run, .taught = surge.taught, .spread = surge.spread};
  };
  saved = {.estimate = plain(estimate_),
           .actual = plain(actual_),
           .mean = plain(mean_),
           .ratio_surge = plain_surge(ratio_surge_),
           .mean_surge = plain_surge(mean_surge_)};
}

void LearntMeasure::Restore(const SavedMeasure& saved) {
  estimate_ = {saved.estimate.value, saved.estimate.count};
  actual_ = {saved.actual.value, saved.actual.count};
  mean_ = {saved.mean.value, saved.mean.count};
  const auto surge = [](const SavedSurge& from) {
    return Surge{
        .before = from.before, .run = from.run, .taught = from.taught, .spread = from.spread};
  };
  ratio_surge_ = surge(saved.ratio_surge);
  mean_surge_ = surge(saved.mean_surge);
}

}  // namespace headgate::engine
