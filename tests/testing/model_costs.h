// Learnt costs as the reference model keeps them: what learnt_measure.h and cost_model.h document,
// in a map that never forgets a pattern.
//
// Thread-compatible.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "server/engine/spec.h"

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

  // No further from what it was than this, and never held down by a prediction of nothing.
  struct Bounds {
    double least = 0, most = 0;
    Bounds(double before, int reports, bool is_guess, double floor) {
      const double factor = reports < 4 ? 8 : 2;
      least = is_guess || before == kInfinite ? 0 : before / factor;
      most = std::max(before, floor) * factor;
    }
    double Clamp(double value) const { return std::clamp(value, least, most); }
  };

  struct Measure {
    Average estimates;
    Average actuals;  // of the work that had an estimate
    Average mean;     // of all

    std::optional<float> Ratio() const {
      if (!(estimates.value > 0)) return std::nullopt;
      return std::min(actuals.value / estimates.value, 1e30F);
    }
    void Teach(double estimate, double actual, double ratio_before, bool is_guess,
               double mean_before) {
      const bool first_mean = mean.samples == 0;
      const Bounds of_mean(first_mean ? mean_before : static_cast<double>(mean.value), mean.samples,
                           first_mean && is_guess, 1e-3);
      mean.Add(actual);
      mean.value = static_cast<float>(of_mean.Clamp(static_cast<double>(mean.value)));
      if (!(estimate > 0)) return;
      const std::optional<float> known = Ratio();
      Bounds of_ratio(known.has_value() ? static_cast<double>(*known) : ratio_before,
                      estimates.samples, !known.has_value() && is_guess, 1e-6);
      of_ratio.most = std::min(of_ratio.most, 1e30);
      if (known.has_value()) {
        const double average = estimates.value;
        const double weight = std::clamp(estimate, average / 8, average * 8);
        if (weight != estimate) actual *= std::min(weight / estimate, 1e30);
        estimate = weight;
      }
      estimates.Add(estimate);
      actuals.Add(actual);
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
