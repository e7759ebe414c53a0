// How much one Report may charge: a multiple of what was expected, and a burst's worth in any
// case. A mistake of units, or malice, then costs a bucket minutes and not years; the rest is
// counted and told. What was expected of a cost is what the permit was charged. Of busy time it is
// also the time since the permit was issued, for work that took long is no mistake, however short
// the work of others under the same root is; an auto budget, which charges no more than a burst
// beforehand, has that time alone.
//
// Pure functions.
//
//   const double charged = std::min(reported, MostCharged(*budget, expected));

#pragma once

#include <algorithm>

#include "server/decide/engine/policy.h"

namespace headgate::engine {

// In the budget's unit, what was charged when the permit was issued included.
inline double MostCharged(const Budget& budget, double expected) {
  const double burst = static_cast<double>(budget.burst_ns) / budget.ns_per_unit;
  return std::max(budget.max_overrun * expected, burst);
}

}  // namespace headgate::engine
