// Clock: the one source of time, injected wherever time is needed.
//
// One Read() gives both times of the same instant: `monotonic_ns` for intervals (it counts from an
// arbitrary start and never runs backwards within a thread), and `wall_ns` since the Unix epoch for
// schedules, expiries and logs (it may be stepped in either direction).
//
// Implementations: SystemClock (system_clock.h) and, for tests, FakeClock (fake_clock.h).
//
//   const Now now = clock.Read();
//   engine.Check(request, now);
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace headgate {

struct Now {
  int64_t monotonic_ns = 0;
  int64_t wall_ns = 0;  // since the Unix epoch

  absl::Time wall() const { return absl::FromUnixNanos(wall_ns); }
};

class Clock {
 public:
  virtual ~Clock() = default;

  // Thread-safe.
  virtual Now Read() = 0;
};

}  // namespace headgate
