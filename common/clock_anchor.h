// The arithmetic of SystemClock, without a clock: how a tick counter becomes time along a line, and
// how a new line follows an old one.
//
// A line starts at an anchor. For its first interval it runs a little faster or slower than the
// counter says, so that it meets the kernel's time at the interval's end; after that it runs at the
// nominal rate. Readers should have drawn a new line by then.
//
// Invariant: a reader that goes on with the old line for up to kReorderNs after the new line's
// anchor has never seen more than the new line's first value. So monotonic time never runs
// backwards, however the kernel's time and the counter disagree.
//
// Pure functions of values; immutable.
//
//   ClockLine line = FirstLine(rate, sample);
//   if (IsDue(rate, line, ticks)) line = NextLine(rate, line, ticks, sample);
//   int64_t ns = MonotonicAt(rate, line, ticks);
#pragma once

#include <algorithm>
#include <cstdint>

namespace headgate {

// The kernel's two times at one reading of the counter.
struct ClockSample {
  uint64_t ticks = 0;
  int64_t monotonic_ns = 0;
  int64_t wall_ns = 0;
};

inline constexpr int64_t kAnchorIntervalNs = 50'000'000;
// A line extends no further than this: what a reader may have seen is bounded even if the counter
// jumps.
inline constexpr int64_t kMaxLineNs = 1'000'000'000;
// A lag behind the kernel beyond this is a jump, to be taken at once, and not drift.
inline constexpr int64_t kJumpNs = 10'000'000;
// By how much a processor may execute a reading of the counter later than the code says.
inline constexpr int64_t kReorderNs = 1'000;

// The counter's nominal rate. Nanoseconds per tick are in units of 2^-32.
struct ClockRate {
  uint64_t ns_per_tick_q32 = 0;
  uint64_t interval_ticks = 0;  // kAnchorIntervalNs
  uint64_t max_ticks = 0;       // kMaxLineNs
};

struct ClockLine {
  uint64_t ticks = 0;  // the anchor
  int64_t monotonic_ns = 0;
  int64_t wall_offset_ns = 0;    // wall time less monotonic time
  uint64_t ns_per_tick_q32 = 0;  // during the first interval
};

// Requires 0 < elapsed_ticks.
inline ClockRate RateOf(uint64_t elapsed_ticks, int64_t elapsed_ns) {
  const auto ticks_in = [&](int64_t ns) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(elapsed_ticks) *
                                 static_cast<uint64_t>(ns) / static_cast<uint64_t>(elapsed_ns));
  };
  return {.ns_per_tick_q32 = static_cast<uint64_t>(
              (static_cast<unsigned __int128>(elapsed_ns) << 32) / elapsed_ticks),
          .interval_ticks = ticks_in(kAnchorIntervalNs),
          .max_ticks = ticks_in(kMaxLineNs)};
}

// Whether a new line should be drawn. A counter that went backwards is as good a reason as a line
// that is used up: the difference wraps around and is huge.
inline bool IsDue(const ClockRate& rate, const ClockLine& line, uint64_t ticks) {
  return ticks - line.ticks > rate.interval_ticks;
}

// Requires that IsDue is false. At most 2^32 * 60'000'000, so the product fits.
inline int64_t MonotonicWithinInterval(const ClockLine& line, uint64_t ticks) {
  return line.monotonic_ns +
         static_cast<int64_t>(((ticks - line.ticks) * line.ns_per_tick_q32) >> 32);
}

// Defined for every counter value: before the anchor the line is flat, and it ends after
// kMaxLineNs.
inline int64_t MonotonicAt(const ClockRate& rate, const ClockLine& line, uint64_t ticks) {
  const auto since = static_cast<int64_t>(ticks - line.ticks);
  if (since <= 0) return line.monotonic_ns;
  const uint64_t elapsed = std::min(static_cast<uint64_t>(since), rate.max_ticks);
  const uint64_t slewed = std::min(elapsed, rate.interval_ticks);
  return line.monotonic_ns + static_cast<int64_t>((slewed * line.ns_per_tick_q32) >> 32) +
         static_cast<int64_t>(((elapsed - slewed) * rate.ns_per_tick_q32) >> 32);
}

inline ClockLine FirstLine(const ClockRate& rate, const ClockSample& sample) {
  return {.ticks = sample.ticks,
          .monotonic_ns = sample.monotonic_ns,
          .wall_offset_ns = sample.wall_ns - sample.monotonic_ns,
          .ns_per_tick_q32 = rate.ns_per_tick_q32};
}

// The line that follows `old` from the counter value `ticks` on, given a sample taken just before.
inline ClockLine NextLine(const ClockRate& rate, const ClockLine& old, uint64_t ticks,
                          const ClockSample& sample) {
  ClockLine next = {.ticks = ticks,
                    .monotonic_ns = MonotonicAt(rate, old, ticks),
                    .wall_offset_ns = sample.wall_ns - sample.monotonic_ns,
                    .ns_per_tick_q32 = rate.ns_per_tick_q32};
  const int64_t lag = sample.monotonic_ns - MonotonicAt(rate, old, sample.ticks);
  if (lag > kJumpNs) {
    next.monotonic_ns += lag;
  } else if (lag < -kJumpNs) {
    next.ns_per_tick_q32 = 0;  // wait for the kernel's time to catch up
  } else {
    // Fits for any counter above 5 MHz.
    const int64_t rate_q32 = static_cast<int64_t>(rate.ns_per_tick_q32);
    next.ns_per_tick_q32 = static_cast<uint64_t>(rate_q32 + rate_q32 * lag / kAnchorIntervalNs);
  }
  // The invariant. Beyond its interval the old line ran at the nominal rate, within it at its own.
  // The few nanoseconds are for rounding down: at most twice on each line and once for the margin.
  next.monotonic_ns += 4;
  const uint64_t steepest = std::max(old.ns_per_tick_q32, rate.ns_per_tick_q32);
  if (next.ns_per_tick_q32 < steepest) {
    const uint64_t reorder_ticks = rate.interval_ticks / (kAnchorIntervalNs / kReorderNs);
    next.monotonic_ns +=
        static_cast<int64_t>((reorder_ticks * (steepest - next.ns_per_tick_q32)) >> 32);
  }
  return next;
}

}  // namespace headgate
