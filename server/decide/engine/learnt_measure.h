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
// What is more than 8 times what was predicted, or less than an eighth, may be a mistake, and so
// may those be that follow it: what was predicted before is remembered. Each later Report that is
// not far from that, and closer to it than to what is predicted by now, takes one of them back. So
// mistakes are forgotten as fast as they came; after as many of them as an average remembers they
// are none. Where such Reports come and go again and again, the work differs so much: then all of
// them count as usual, or the rare and large ones would never be charged.
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
  // Reports in a row that may be mistakes.
  struct Surge {
    float before = 0;    // what was predicted without them
    uint8_t run = 0;     // how many they are
    uint8_t taught = 0;  // how many had taught it before, as far as an average counts
    uint8_t spread = 0;  // the more of these there were lately, the higher

    // Whether the sample takes one of them back. If not, it has been noted.
    bool GoesBack(double sample, double predicted, uint32_t count);
    // What is predicted without the last one.
    double Back(double predicted);
  };
  void TeachRatio(double estimate, double actual, const Prior& prior);
  void TeachMean(double actual, const Prior& prior);

  Average estimate_;  // of work that had one
  Average actual_;    // of the same work
  Average mean_;      // of all
  Surge ratio_surge_, mean_surge_;
};

}  // namespace headgate::engine
