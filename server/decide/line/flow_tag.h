// A tag says how much a flow has been charged, for its weight, as tags in fair queueing do.
//
// Fixed point in 128 bits: 2^-20 of a unit of cost at weight 1. So sums are exact, whatever their
// order; a cost of 1 at the highest weight is still 1,049; and 10^11 charges of the highest cost at
// the lowest weight do not reach the end. With doubles, a line that is never empty would come to
// tags beside which a small cost at a high weight is nothing, and its flow would be free.
//
// Pure functions.

#pragma once

#include <algorithm>
#include <cmath>

#include "absl/numeric/int128.h"

namespace headgate::line {

using FlowTag = absl::int128;

inline constexpr double kTagsPerCost = 1 << 20;
inline constexpr double kMaxCost = 1e18;
inline constexpr double kMinWeight = 0.001;
inline constexpr double kMaxWeight = 1000;

// Rounded to the nearest; `cost` may be below zero, and is no more than kMaxCost either way.
inline FlowTag FlowTagOf(double cost, double weight) {
  const double bounded = std::clamp(cost, -kMaxCost, kMaxCost);
  return static_cast<FlowTag>(
      std::round(bounded / std::clamp(weight, kMinWeight, kMaxWeight) * kTagsPerCost));
}

// The cost at `weight` that moves a tag so far.
inline double CostOfFlowTag(FlowTag tag, double weight) {
  return static_cast<double>(tag) / kTagsPerCost * std::clamp(weight, kMinWeight, kMaxWeight);
}

}  // namespace headgate::line
