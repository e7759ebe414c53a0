// A duration as condition variables take it. They add it to the present time, which infinity, and
// anything close to it, would make overflow.

#pragma once

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"

namespace headgate::client::internal {

inline std::chrono::nanoseconds BoundedWait(absl::Duration duration) {
  return absl::ToChronoNanoseconds(
      std::clamp(duration, absl::ZeroDuration(), absl::Hours(24) * 365));
}

}  // namespace headgate::client::internal
