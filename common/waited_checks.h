// By how many Checks some time was waited, at least, where only sums of it are known.
//
// Pure function.
//
//   mean_ns = waited_ns / WaitedChecks({.began = 2, .ended = 1, .waited_ns = 76, .longest_ns = 21})

#pragma once

#include <algorithm>
#include <cstdint>

namespace headgate {

struct WaitSums {
  int64_t began = 0;  // Checks that began to wait in that time
  int64_t ended = 0;  // Checks whose wait ended in it
  int64_t waited_ns = 0;
  int64_t longest_ns = 0;  // that one Check waited
};

// Never 0. Some began before that time, or waited for something else first; but none waits for
// longer than the longest.
inline int64_t WaitedChecks(const WaitSums& sums) {
  const int64_t least =
      sums.longest_ns > 0 ? (sums.waited_ns + sums.longest_ns - 1) / sums.longest_ns : 0;
  return std::max({sums.began, sums.ended, least, int64_t{1}});
}

}  // namespace headgate
