// How long a call may be held, given when its caller gives up.
//
// Pure functions.
//
//   until = now + HoldTimeWithin(absl::Nanoseconds(parked->time_left_ns()));

#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace headgate::rpc {

// An answer at a call's own deadline would come too late: it has so much time to get there. And the
// caller's deadline is earlier than the one that came here: gRPC sends three digits of what is
// left, rounded up.
inline absl::Duration HoldTimeWithin(absl::Duration left) {
  constexpr absl::Duration kLeast = absl::Milliseconds(5), kMost = absl::Milliseconds(100);
  absl::Duration digit = absl::Milliseconds(1);
  while (left >= 1000 * digit) digit *= 10;
  return std::max(left - digit - std::clamp(left / 10, kLeast, kMost), absl::ZeroDuration());
}

}  // namespace headgate::rpc
