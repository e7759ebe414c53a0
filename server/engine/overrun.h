// How much one Report may charge: a multiple of what was predicted, and a burst's worth in any
// case. A mistake of units, or malice, then costs a bucket minutes and not years; the rest is
// counted and told. What was predicted is what the permit was charged; of an auto budget, which
// charges no more than a burst beforehand, it is what is predicted when the Report comes.
//
// Pure functions.
//
//   const double charged = std::min(reported, MostCharged(*budget, predicted));

#pragma once

#include <algorithm>

#include "server/engine/policy.h"

namespace headgate::engine {

// In the budget's unit, what was charged when the permit was issued included.
inline double MostCharged(const Budget& budget, double predicted) {
  const double burst = static_cast<double>(budget.burst_ns) / budget.ns_per_unit;
  return std::max(budget.max_overrun * predicted, burst);
}

}  // namespace headgate::engine
