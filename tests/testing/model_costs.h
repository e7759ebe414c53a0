// Learnt costs as the reference model keeps them: the averages that cost_model.h documents, in a
// map that never forgets a pattern.
//
// Thread-compatible.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "server/engine/spec.h"

namespace headgate::model {

class ModelCosts {
 public:
  std::optional<double> Predict(const std::string& target, const std::string& pattern,
                                std::optional<double> estimate) const {
    const Averages* of_pattern = pattern.empty() ? nullptr : Find(target, pattern);
    if (!estimate.has_value()) {
      if (of_pattern == nullptr) return std::nullopt;
      return of_pattern->all_actuals.value;
    }
    for (const Averages* averages : {of_pattern, Find(target, "")}) {
      if (averages == nullptr || !(averages->estimates.value > 0)) continue;
      const float k = averages->actuals.value / averages->estimates.value;
      return std::min(*estimate * static_cast<double>(k), engine::kMaxAmount);
    }
    return *estimate;
  }

  void Learn(const std::string& target, const std::string& pattern, std::optional<double> estimate,
             double actual) {
    if (!pattern.empty()) averages_[{target, pattern}].Add(estimate, actual);
    averages_[{target, ""}].Add(estimate, actual);
  }

 private:
  struct Average {
    float value = 0;
    int samples = 0;

    void Add(double sample) {
      samples = std::min(samples + 1, 8);
      value += static_cast<float>((sample - static_cast<double>(value)) / samples);
    }
  };

  struct Averages {
    Average estimates;
    Average actuals;  // of the Checks that had an estimate
    Average all_actuals;

    void Add(std::optional<double> estimate, double actual) {
      all_actuals.Add(actual);
      if (!estimate.has_value()) return;
      estimates.Add(*estimate);
      actuals.Add(actual);
    }
  };

  const Averages* Find(const std::string& target, const std::string& pattern) const {
    const auto it = averages_.find({target, pattern});
    return it == averages_.end() ? nullptr : &it->second;
  }

  std::map<std::pair<std::string, std::string>, Averages> averages_;  // pattern "": the target's
};

}  // namespace headgate::model
