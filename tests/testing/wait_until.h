// Waiting for something that happens outside the test, such as a server that starts.
//
// Asks every few milliseconds and gives up after a generous limit. Thread-safe.
//
//   ASSERT_TRUE(WaitUntil([&] { return server.IsRunning(); }));
#pragma once

#include <poll.h>

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/system_clock.h"

namespace headgate {

inline int64_t MonotonicNs() { return SystemClock::ReadKernel().monotonic_ns; }

// Whether `condition` held within `limit`. It is asked at least once.
inline bool WaitUntil(absl::FunctionRef<bool()> condition,
                      absl::Duration limit = absl::Minutes(2)) {
  const int64_t end_ns = MonotonicNs() + absl::ToInt64Nanoseconds(limit);
  for (int pause_ms = 1; !condition(); pause_ms = pause_ms < 16 ? pause_ms * 2 : pause_ms) {
    if (MonotonicNs() >= end_ns) return false;
    poll(nullptr, 0, pause_ms);
  }
  return true;
}

}  // namespace headgate
