// Health-time: a clock that runs at `speed` times real time, so that one number slows the draining
// of every bucket on it.
//
// Read(t) = virtual_base + (t - real_base) x speed. Changing the speed re-bases both in O(1) and
// touches no bucket. The clock never runs backwards: a reader whose `t` was taken before the last
// re-base is given the base itself, which is no less than any reading under the old speed.
//
// Thread-safe. Readers take no lock (a seqlock); writers exclude each other. With each reading
// comes the health that set the speed, all of one update.
//
//   VirtualClock clock(now.monotonic_ns);
//   clock.Set({.speed = 0.25, .status = HealthStatus::kHealthy}, now.monotonic_ns);
//   int64_t at = clock.Read(now.monotonic_ns).virtual_ns;

#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace headgate::engine {

enum class HealthStatus : uint8_t {
  kUnmonitored,  // nothing measures this clock: real time
  kWarming,      // no sample yet
  kHealthy,      // a recent sample; it may still call for a low speed
  kStale,        // the newest sample is too old
};

// One verdict on a target's health, as its poller publishes it.
struct Health {
  double speed = 1;  // 0..kMaxSpeed; for an `auto` budget's clock, the rate found
  HealthStatus status = HealthStatus::kUnmonitored;
  bool gate_shut = false;         // true: every Check on the profile is denied
  bool unread = false;            // `signal` is not known though its server was sampled: an error
  float pressure = 0;             // of the binding signal: 0 at soft, 1 at hard
  int16_t signal = -1;            // the binding signal's index in its profile; -1: none
  int64_t sampled_at_ns = 0;      // monotonic; 0: never
  int64_t next_sample_at_ns = 0;  // monotonic; when the gate may next open; 0: unknown
};

class VirtualClock {
 public:
  static constexpr double kMaxSpeed = 1024;
  // Where virtual time stops, about 36 years: nothing drains any more. Buckets can owe beyond it.
  static constexpr int64_t kHorizonNs = int64_t{1} << 60;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  struct Reading {
    int64_t virtual_ns = 0;
    Health health;
    int64_t real_base_ns = 0;
    int64_t virtual_base_ns = 0;
    uint64_t speed_fixed = 0;

    // The first real instant at which the clock shows `virtual_at_ns`, at the present speed; kNever
    // where that is beyond the horizon.
    int64_t RealTimeOf(int64_t virtual_at_ns) const;
  };

  explicit VirtualClock(int64_t real_now_ns, int64_t virtual_now_ns = 0)
      : real_base_ns_(real_now_ns), virtual_base_ns_(virtual_now_ns) {}
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  // Not inline: a Check mostly has one clock, which it reads in place, and all that looks for
  // another stays small.
  Reading Read(int64_t real_now_ns) const;
  // The same, written in place: a Check keeps the health, and copying it costs more than reading
  // it.
  void Read(int64_t real_now_ns, Reading& reading) const {
    uint64_t packed;
    if (!TryRead(reading, packed)) [[unlikely]]
      packed = AwaitRead(reading);
    Unpack(packed, reading.health);
    reading.health.speed = static_cast<double>(static_cast<int64_t>(reading.speed_fixed)) / 0x1p32;
    reading.virtual_ns =
        Elapse(reading.virtual_base_ns, real_now_ns - reading.real_base_ns, reading.speed_fixed);
  }
  // What a clock shows `elapsed_ns` after it showed `base_ns`.
  static int64_t After(int64_t base_ns, int64_t elapsed_ns, uint64_t speed_fixed) {
    return Elapse(base_ns, elapsed_ns, speed_fixed);
  }
  // Speeds outside [0, kMaxSpeed] are clamped to it and NaN is 0: a clock that stands still refuses
  // too much, never too little. A `real_now_ns` before the last change counts as that change's.
  void Set(const Health& health, int64_t real_now_ns) ABSL_LOCKS_EXCLUDED(writer_);

 private:
  // Speed as 32.32 fixed point: integer arithmetic keeps readers on all machines to the nanosecond.
  static constexpr int kSpeedBits = 32;
  static constexpr uint64_t kRealSpeed = uint64_t{1} << kSpeedBits;

  __extension__ using Wide = unsigned __int128;

  // Time that runs backwards stands still.
  static int64_t Elapse(int64_t base_ns, int64_t elapsed_ns, uint64_t speed) {
    if (elapsed_ns <= 0) return base_ns;
    const Wide run = (Wide{static_cast<uint64_t>(elapsed_ns)} * speed) >> kSpeedBits;
    const auto left = static_cast<uint64_t>(kHorizonNs - base_ns);
    return base_ns + static_cast<int64_t>(run < left ? static_cast<uint64_t>(run) : left);
  }

  Mutex writer_;
  // One cache line. Fields are written between an odd and an even `sequence_`.
  alignas(64) std::atomic<uint64_t> sequence_{0};
  std::atomic<int64_t> real_base_ns_;
  std::atomic<int64_t> virtual_base_ns_;
  std::atomic<uint64_t> speed_{kRealSpeed};
  std::atomic<int64_t> sampled_at_ns_{0};
  std::atomic<int64_t> next_sample_at_ns_{0};
  std::atomic<uint64_t> packed_{PackDefault()};

  // False: a writer came in between.
  bool TryRead(Reading& reading, uint64_t& packed) const {
    // acquire: no field is read before the sequence. Each field's own acquire keeps the second look
    // at the sequence behind it: what a fence would do, and ThreadSanitizer understands it.
    const uint64_t before = sequence_.load(std::memory_order_acquire);
    reading.real_base_ns = real_base_ns_.load(std::memory_order_acquire);
    reading.virtual_base_ns = virtual_base_ns_.load(std::memory_order_acquire);
    reading.speed_fixed = speed_.load(std::memory_order_acquire);
    reading.health.sampled_at_ns = sampled_at_ns_.load(std::memory_order_acquire);
    reading.health.next_sample_at_ns = next_sample_at_ns_.load(std::memory_order_acquire);
    packed = packed_.load(std::memory_order_acquire);
    return (before & 1) == 0 && sequence_.load(std::memory_order_relaxed) == before;
  }
  // Reads until no writer comes in between, and returns what is packed. Not inline: around a loop
  // the compiler keeps the address of each field in a register of its own.
  uint64_t AwaitRead(Reading& reading) const;
  static uint64_t Pack(const Health& health);
  static constexpr uint64_t PackDefault() { return uint64_t{0xffff} << 32; }
  static void Unpack(uint64_t packed, Health& health) {
    health.pressure = std::bit_cast<float>(static_cast<uint32_t>(packed));
    health.signal = static_cast<int16_t>(packed >> 32);
    health.status = static_cast<HealthStatus>((packed >> 48) & 0xff);
    health.gate_shut = ((packed >> 56) & 1) != 0;
    health.unread = ((packed >> 57) & 1) != 0;
  }
};

}  // namespace headgate::engine
