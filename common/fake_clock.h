// FakeClock: a Clock that stands still until a test moves it.
//
// It starts at 2026-01-01T00:00:00Z, a Thursday, with the monotonic time at 1000 s. Thread-safe: a
// reader never sees one of the two times advanced without the other, except across SetMonotonicNs.
//
//   FakeClock clock;
//   clock.Advance(absl::Seconds(3));
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "common/clock.h"

namespace headgate {

class FakeClock final : public Clock {
 public:
  static constexpr int64_t kStartMonotonicNs = 1'000'000'000'000;
  static constexpr int64_t kStartWallNs = 1'767'225'600'000'000'000;

  Now Read() override {
    const int64_t monotonic_ns = monotonic_ns_.load(std::memory_order_acquire);
    return Now{.monotonic_ns = monotonic_ns,
               .wall_ns = monotonic_ns + wall_offset_ns_.load(std::memory_order_acquire)};
  }

  // Time passes.
  void Advance(absl::Duration by) {
    monotonic_ns_.fetch_add(absl::ToInt64Nanoseconds(by), std::memory_order_acq_rel);
  }

  // The wall clock is stepped, in either direction; no time passes.
  void AdvanceWall(absl::Duration by) {
    wall_offset_ns_.fetch_add(absl::ToInt64Nanoseconds(by), std::memory_order_acq_rel);
  }

  // The monotonic time jumps, even backwards as no real one may; the wall time stays.
  void SetMonotonicNs(int64_t ns) {
    const int64_t before = monotonic_ns_.exchange(ns, std::memory_order_acq_rel);
    wall_offset_ns_.fetch_add(before - ns, std::memory_order_acq_rel);
  }

 private:
  // The wall time is kept as a distance, so that time passes in a single store. Acquire and
  // release: what a test did before it moved the clock is visible to whoever reads the new time.
  std::atomic<int64_t> monotonic_ns_{kStartMonotonicNs};
  std::atomic<int64_t> wall_offset_ns_{kStartWallNs - kStartMonotonicNs};
};

}  // namespace headgate
