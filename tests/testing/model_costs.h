// Learnt costs as the reference model keeps them: what learnt_measure.h and cost_model.h document,
// in a map that never forgets a pattern.
//
// Thread-compatible.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "server/decide/engine/spec.h"

namespace headgate::model {

// Target, root, caller, and the pattern or nothing.
using CostKey = std::tuple<std::string, std::string, std::string, std::string>;

class ModelCosts {
 public:
  struct Prediction {
    std::optional<double> value;
    std::optional<CostKey> by;  // none: nothing was learnt
    bool by_ratio = false;      // and not a mean, whatever the estimate
  };

  Prediction PredictCost(const CostKey& pattern, std::optional<double> estimate) const {
    const Learnt* of_pattern = FindPattern(pattern);
    if (!estimate.has_value()) {
      if (of_pattern == nullptr || of_pattern->cost.mean.samples == 0) return {};
      return {of_pattern->cost.mean.value, pattern};
    }
    for (const CostKey& key : {pattern, RootOf(pattern)}) {
      if (const auto k = RatioOf(key, &Learnt::cost)) return {Times(*estimate, *k), key};
    }
    return {estimate, {}};
  }

  Prediction PredictBusyTime(const CostKey& pattern, std::optional<double> estimate) const {
    for (const CostKey& key : {pattern, RootOf(pattern)}) {
      const auto k = RatioOf(key, &Learnt::busy);
      if (estimate.has_value() && k.has_value()) return {Times(*estimate, *k), key, true};
    }
    for (const CostKey& key : {pattern, RootOf(pattern)}) {
      const auto it = learnt_.find(key);
      if (it == learnt_.end() || it->second.busy.mean.samples == 0) continue;
      return {it->second.busy.mean.value, key};
    }
    return {};
  }

  struct Lesson {
    std::optional<double> estimate;
    std::optional<double> cost = {}, charged_cost = {};
    std::optional<double> busy = {}, charged_busy = {};
  };
  void Learn(const CostKey& pattern, const Lesson& lesson) {
    const double estimate = lesson.estimate.value_or(-1);
    const auto learn = [&](const CostKey& key, std::optional<float> cost_k,
                           std::optional<float> busy_k) {
      if (!lesson.cost.has_value() && !lesson.busy.has_value()) return;
      Learnt& learnt = learnt_[key];
      if (lesson.cost.has_value()) {
        learnt.cost.Teach(estimate, *lesson.cost, cost_k.value_or(1.0F), false,
                          lesson.charged_cost.value_or(std::max(estimate, -estimate)));
      }
      if (lesson.busy.has_value()) {
        const double charged = lesson.charged_busy.value_or(kInfinite);
        const double guess = estimate > 0 ? charged / estimate : kInfinite;
        learnt.busy.Teach(estimate, *lesson.busy,
                          busy_k.has_value() ? static_cast<double>(*busy_k) : guess,
                          !busy_k.has_value(), charged);
      }
    };
    const CostKey root = RootOf(pattern);
    if (pattern != root) learn(pattern, RatioOf(root, &Learnt::cost), RatioOf(root, &Learnt::busy));
    learn(root, {}, {});
  }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  struct Average {
    float value = 0;
    int samples = 0;

    void Add(double sample) {
      samples = std::min(samples + 1, 8);
      value += static_cast<float>((sample - static_cast<double>(value)) / samples);
    }
  };

  // Reports in a row that may be mistakes, and how often there were such.
  struct Surge {
    float before = 0;
    int run = 0, taught = 0, spread = 0;

    static double Apart(double a, double b) {
      return std::abs(std::log(std::max(a, 1e-15) / std::max(b, 1e-15)));
    }
    static bool IsFar(double a, double b) {
      const double low = std::max(std::min(a, b), 1e-15);
      return std::max({a, b, 1e-15}) > 8 * low;
    }
    // Whether one of them is taken back.
    bool Meet(double sample, double now, int samples) {
      const auto first = static_cast<double>(before);
      if (run > 0 && !IsFar(sample, first) && Apart(sample, first) < Apart(sample, now))
        return true;
      if (run > 0) {
        run = (run + 1) % 8;
      } else if (!IsFar(sample, now)) {
        spread = std::max(spread - 1, 0);
      } else {
        if (spread <= 8 && now < 1e30) {
          before = static_cast<float>(now);
          run = 1;
          taught = samples;
        }
        spread = std::min(spread + 6, 20);
      }
      return false;
    }
    double WithoutTheLast(double now) {
      const double part = static_cast<double>(run - 1) / run;
      if (--run == 0) return before;
      const double from = std::max(static_cast<double>(before), 1e-15);
      return from * std::pow(std::max(now, 1e-15) / from, part);
    }
  };

  // No further from what it was than this, and never held down by a prediction of nothing.
  struct Bounds {
    double least = 0, most = 0;
    Bounds(double before, int reports, bool is_guess, double floor) {
      const double factor = reports < 4 ? 8 : 2;
      least = is_guess || before == kInfinite ? 0 : before / factor;
      most = std::max(before, floor) * factor;
    }
    // What is taken back after `reports` others.
    static Bounds Back(double before, int reports, double floor) {
      Bounds bounds(before, reports, false, floor);
      if (before <= 8 * floor) bounds.least = 0;
      return bounds;
    }
    double Clamp(double value) const { return std::clamp(value, least, most); }
  };

  struct Measure {
    Average estimates;
    Average actuals;  // of the work that had an estimate
    Average mean;     // of all
    Surge of_ratios, of_means;

    std::optional<float> Ratio() const {
      if (!(estimates.value > 0)) return std::nullopt;
      return std::min(actuals.value / estimates.value, 1e30F);
    }
    void Teach(double estimate, double actual, double ratio_before, bool is_guess,
               double mean_before) {
      TeachMean(actual, is_guess, mean_before);
      if (estimate > 0) TeachRatio(estimate, actual, ratio_before, is_guess);
    }
    void TeachMean(double actual, bool is_guess, double mean_before) {
      const bool first = mean.samples == 0;
      const double before = first ? mean_before : static_cast<double>(mean.value);
      const bool is_free = first && (is_guess || before == kInfinite);
      Bounds bounds(before, mean.samples, first && is_guess, 1e-3);
      bool adds = true;
      if (!is_free && of_means.Meet(actual, before, mean.samples)) {
        const int samples = std::max(mean.samples - 1, of_means.taught);
        bounds = Bounds::Back(before, samples, 1e-3);
        mean.value = static_cast<float>(of_means.WithoutTheLast(before));
        adds = of_means.run == 0 && !Surge::IsFar(actual, static_cast<double>(mean.value));
        mean.samples = adds ? samples : std::max(samples, 1);
      }
      if (adds) mean.Add(actual);
      mean.value = static_cast<float>(bounds.Clamp(static_cast<double>(mean.value)));
    }
    void TeachRatio(double estimate, double actual, double ratio_before, bool is_guess) {
      const std::optional<float> known = Ratio();
      const double before = known.has_value() ? static_cast<double>(*known) : ratio_before;
      Bounds of_ratio(before, estimates.samples, !known.has_value() && is_guess, 1e-6);
      if (known.has_value()) {
        const double average = estimates.value;
        const double weight = std::clamp(estimate, average / 8, average * 8);
        if (weight != estimate) actual *= std::min(weight / estimate, 1e30);
        estimate = weight;
      }
      const double sample = std::min(actual / estimate, 1e30);
      bool adds = true;
      if (of_ratios.Meet(sample, before, estimates.samples)) {
        const int samples = std::max(estimates.samples - 1, of_ratios.taught);
        of_ratio = Bounds::Back(before, samples, 1e-6);
        const double back = of_ratios.WithoutTheLast(before);
        actuals.value = static_cast<float>(back * static_cast<double>(estimates.value));
        adds = of_ratios.run == 0 && !Surge::IsFar(sample, back);
        estimates.samples = actuals.samples = adds ? samples : std::max(samples, 1);
      }
      of_ratio.most = std::min(of_ratio.most, 1e30);
      if (adds) {
        estimates.Add(estimate);
        actuals.Add(actual);
      }
      if (!(estimates.value > 0)) return;
      const double now = static_cast<double>(actuals.value) / static_cast<double>(estimates.value);
      if (of_ratio.Clamp(now) == now) return;
      actuals.value =
          static_cast<float>(of_ratio.Clamp(now) * static_cast<double>(estimates.value));
    }
  };
  struct Learnt {
    Measure cost, busy;
  };

  static double Times(double estimate, float k) {
    return std::min(estimate * static_cast<double>(k), engine::kMaxAmount);
  }
  static CostKey RootOf(CostKey key) {
    std::get<3>(key).clear();
    return key;
  }
  // Null where the work has no pattern.
  const Learnt* FindPattern(const CostKey& key) const {
    const auto it = learnt_.find(key);
    return std::get<3>(key).empty() || it == learnt_.end() ? nullptr : &it->second;
  }
  std::optional<float> RatioOf(const CostKey& key, Measure Learnt::*measure) const {
    const auto it = learnt_.find(key);
    return it == learnt_.end() ? std::nullopt : (it->second.*measure).Ratio();
  }

  std::map<CostKey, Learnt> learnt_;
};

}  // namespace headgate::model
