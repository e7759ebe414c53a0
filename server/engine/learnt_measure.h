// What Reports teach of one measure of work, its cost or its busy time: the ratio of what it really
// was to the estimate, and the mean of what it really was.
//
// Two moving averages, weighted to recent values, of estimates and of actuals; the ratio is theirs,
// so that it is right for the sum of the work. An average over its first n values is their mean
// while n < 8, then each new value weighs 1/8.
//
// Nobody moves a prediction far with one Report: by a factor of 8 at most while fewer than four
// have taught it, and of 2 afterwards. The first is held against what was predicted before it. Nor
// does one weigh more than others for the size of its work: an estimate counts as at most 8 times,
// and at least an eighth, of the mean.
//
// Kept in single precision: a prediction is exact to one part in ten million, and to the last bit
// where each Report was exactly what was estimated.
//
// Thread-compatible.
// Source: the ratio of two averages is how PlanetScale's Traffic Control corrects planner costs.

#pragma once

#include <cstdint>
#include <limits>

namespace headgate::engine {

struct SavedMeasure;

class LearntMeasure {
 public:
  static constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

  // What the work was predicted with.
  struct Prior {
    double ratio = 1;
    // Nothing but the budget's default stood behind it: a first Report may be as far below it as it
    // likes.
    bool is_guess = false;
    double mean = 1;  // what was charged
  };

  // Work with this estimate, below 0 where it had none, was really `actual`. Both are valid costs.
  void Teach(double estimate, double actual, const Prior& prior);

  // kUnknown: no work with an estimate above 0 taught it.
  float Ratio() const;
  // kUnknown: nothing did.
  float Mean() const { return mean_.count == 0 ? kUnknown : mean_.value; }

  void Save(SavedMeasure& saved) const;
  void Restore(const SavedMeasure& saved);

 private:
  struct Average {
    float value = 0;
    uint32_t count = 0;
    void Add(double sample);
  };
  void TeachRatio(double estimate, double actual, const Prior& prior);
  void TeachMean(double actual, const Prior& prior);

  Average estimate_;  // of work that had one
  Average actual_;    // of the same work
  Average mean_;      // of all
};

}  // namespace headgate::engine
