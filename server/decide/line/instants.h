// Instants that are no clock's: monotonic nanoseconds otherwise.

#pragma once

#include <cstdint>
#include <limits>

namespace headgate::line {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// Due at once, whatever the time is.
inline constexpr int64_t kAtOnce = 0;

}  // namespace headgate::line
