// How one rate is divided among several budgets.
//
// As in a line: by weight among those that ask; what one of them does not use goes to the others,
// and comes back as soon as it wants more. One that does not ask is told what it would get.
//
//   std::vector<double> shares = DivideByWeight(claims);  // of 1; those that ask have all of it

#pragma once

#include <vector>

#include "absl/types/span.h"

namespace headgate::control {

struct ShareClaim {
  double weight = 1;
  bool asks = false;
  double had = 1;   // share until now
  double used = 1;  // of the whole
};

std::vector<double> DivideByWeight(absl::Span<const ShareClaim> claims);

}  // namespace headgate::control
