// The line that readers follow is published by a seqlock. It is written without fences, which
// ThreadSanitizer doesn't know: the fields themselves are loaded with acquire and stored with
// release.
// - A reader that sees one field of a new line also sees, in its second load of the sequence
//   number, that the number has changed: the field's store came after that of the odd number.
// - A reader reads the counter between its two loads of the number, and a writer reads the counter
//   for the new anchor after the number is odd. So a reader whose loads agree was on the old line
//   before the new one's anchor, but for what the processor reorders; clock_anchor.h allows for
//   that.
#include "common/system_clock.h"

#include <atomic>
#include <ctime>
#include <fstream>
#include <string>

#include "common/clock_anchor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>
#endif

namespace headgate {
namespace {

int64_t ReadNs(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

#if defined(__x86_64__)
uint64_t ReadTicks() {
  uint32_t low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
  return uint64_t{high} << 32 | low;
}

// After everything before it. Much slower, for writers.
uint64_t ReadTicksInOrder() {
  _mm_lfence();
  const uint64_t ticks = ReadTicks();
  _mm_lfence();
  return ticks;
}

void Pause() { _mm_pause(); }

// Whether the counter runs at one rate in all states of the processor, and the kernel relies on it.
bool TicksAreTrusted() {
  constexpr unsigned kInvariantTsc = 1u << 8;
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0 || (edx & kInvariantTsc) == 0)
    return false;
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return static_cast<bool>(file >> source) && source == "tsc";
}
#else
uint64_t ReadTicks() { return 0; }
uint64_t ReadTicksInOrder() { return 0; }
void Pause() {}
bool TicksAreTrusted() { return false; }
#endif

// The tightest of a few readings: one may have been interrupted halfway.
ClockSample TakeSample() {
  ClockSample best;
  uint64_t best_width = ~uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = ReadTicksInOrder();
    const int64_t monotonic_ns = ReadNs(CLOCK_MONOTONIC);
    const uint64_t between = ReadTicksInOrder();
    const int64_t wall_ns = ReadNs(CLOCK_REALTIME);
    const uint64_t width = ReadTicksInOrder() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {
        .ticks = before + (between - before) / 2, .monotonic_ns = monotonic_ns, .wall_ns = wall_ns};
  }
  return best;
}

}  // namespace

class SystemClock::TscLine {
 public:
  // Null if the counter can't be trusted.
  static std::unique_ptr<TscLine> Create() {
    if (!TicksAreTrusted()) return nullptr;
    constexpr int64_t kCalibrationNs = 2'000'000;
    const ClockSample first = TakeSample();
    ClockSample last = first;
    while (last.monotonic_ns - first.monotonic_ns < kCalibrationNs) last = TakeSample();
    if (last.ticks <= first.ticks) return nullptr;
    const ClockRate rate = RateOf(last.ticks - first.ticks, last.monotonic_ns - first.monotonic_ns);
    return std::unique_ptr<TscLine>(new TscLine(rate, FirstLine(rate, last)));
  }

  Now Read() {
    for (;; Pause()) {
      // Acquire: the fields are at least as new as this number.
      const uint32_t sequence = sequence_.load(std::memory_order_acquire);
      const ClockLine line = Load();
      const uint64_t ticks = ReadTicks();
      // Relaxed: the acquire loads of the fields keep it behind them.
      if (sequence_.load(std::memory_order_relaxed) != sequence || sequence % 2 != 0) continue;
      if (!IsDue(rate_, line, ticks)) [[likely]] {
        return At(line, MonotonicWithinInterval(line, ticks));
      }
      if (!DrawIfDue(line, ticks)) return At(line, MonotonicAt(rate_, line, ticks));
    }
  }

 private:
  TscLine(const ClockRate& rate, const ClockLine& line) : rate_(rate) { Store(line); }

  static Now At(const ClockLine& line, int64_t monotonic_ns) {
    return {.monotonic_ns = monotonic_ns, .wall_ns = monotonic_ns + line.wall_offset_ns};
  }

  // False if the reader shall go on with the line it has; true if it shall look again.
  bool DrawIfDue(const ClockLine& line, uint64_t ticks) {
    // The counter was read a trifle before the anchor, by reordering.
    if (line.ticks - ticks <= rate_.interval_ticks) return false;
    // Acquire and release hand the right to write from one writer to the next.
    if (!drawing_.test_and_set(std::memory_order_acquire)) {
      Draw();
      drawing_.clear(std::memory_order_release);
      return true;
    }
    // Another one draws. The line is good for a second; beyond that, wait.
    return ticks - line.ticks > rate_.max_ticks;
  }

  void Draw() {
    const ClockSample sample = TakeSample();
    const ClockLine old = Load();
    if (!IsDue(rate_, old, sample.ticks)) return;
    sequence_.fetch_add(1, std::memory_order_acq_rel);
    Store(NextLine(rate_, old, ReadTicksInOrder(), sample));
    // Release: whoever sees the even number sees the whole line.
    sequence_.fetch_add(1, std::memory_order_release);
  }

  // For the order of these see the top of the file.
  ClockLine Load() const {
    return {.ticks = ticks_.load(std::memory_order_acquire),
            .monotonic_ns = monotonic_ns_.load(std::memory_order_acquire),
            .wall_offset_ns = wall_offset_ns_.load(std::memory_order_acquire),
            .ns_per_tick_q32 = ns_per_tick_q32_.load(std::memory_order_acquire)};
  }
  void Store(const ClockLine& line) {
    ticks_.store(line.ticks, std::memory_order_release);
    monotonic_ns_.store(line.monotonic_ns, std::memory_order_release);
    wall_offset_ns_.store(line.wall_offset_ns, std::memory_order_release);
    ns_per_tick_q32_.store(line.ns_per_tick_q32, std::memory_order_release);
  }

  const ClockRate rate_;
  std::atomic_flag drawing_;
  // What readers load, on a cache line that is written 20 times a second.
  alignas(64) std::atomic<uint32_t> sequence_{0};  // odd while the fields below change
  std::atomic<uint64_t> ticks_;
  std::atomic<int64_t> monotonic_ns_;
  std::atomic<int64_t> wall_offset_ns_;
  std::atomic<uint64_t> ns_per_tick_q32_;
};

SystemClock::SystemClock() : tsc_(TscLine::Create()) {}
SystemClock::~SystemClock() = default;

Now SystemClock::Read() {
  if (tsc_ != nullptr) [[likely]] {
    return tsc_->Read();
  }
  return ReadKernel();
}

Now SystemClock::ReadKernel() {
  const int64_t monotonic_ns = ReadNs(CLOCK_MONOTONIC);
  return {.monotonic_ns = monotonic_ns, .wall_ns = ReadNs(CLOCK_REALTIME)};
}

std::string_view SystemClock::source() const { return tsc_ != nullptr ? "tsc" : "clock_gettime"; }

}  // namespace headgate
