// The median of figures, of an even number of them the mean of the two in the middle.
//
// Thread-safe. 0 of none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headgate {

inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace headgate
