#include "server/decide/engine/virtual_clock.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace headgate::engine {

VirtualClock::Reading VirtualClock::Read(int64_t real_now_ns) const {
  Reading reading;
  Read(real_now_ns, reading);
  return reading;
}

uint64_t VirtualClock::AwaitRead(Reading& reading) const {
  uint64_t packed = 0;
  while (!TryRead(reading, packed)) {
  }
  return packed;
}

void VirtualClock::Set(const Health& health, int64_t real_now_ns) {
  // NaN compares false and becomes 0.
  const double speed = health.speed > 0 ? std::min(health.speed, kMaxSpeed) : 0;
  MutexLock lock(&writer_);
  const int64_t real_base = real_base_ns_.load(std::memory_order_relaxed);
  const int64_t real_now = std::max(real_now_ns, real_base);
  const int64_t virtual_now = Elapse(virtual_base_ns_.load(std::memory_order_relaxed),
                                     real_now - real_base, speed_.load(std::memory_order_relaxed));
  const uint64_t sequence = sequence_.load(std::memory_order_relaxed);
  sequence_.store(sequence + 1, std::memory_order_relaxed);
  // release: whoever sees a new field also sees the odd sequence before it.
  real_base_ns_.store(real_now, std::memory_order_release);
  virtual_base_ns_.store(virtual_now, std::memory_order_release);
  speed_.store(static_cast<uint64_t>(std::llround(speed * static_cast<double>(kRealSpeed))),
               std::memory_order_release);
  sampled_at_ns_.store(health.sampled_at_ns, std::memory_order_release);
  next_sample_at_ns_.store(health.next_sample_at_ns, std::memory_order_release);
  packed_.store(Pack(health), std::memory_order_release);
  sequence_.store(sequence + 2, std::memory_order_release);
}

int64_t VirtualClock::Reading::RealTimeOf(int64_t virtual_at_ns) const {
  if (virtual_at_ns <= virtual_base_ns) return real_base_ns;
  if (speed_fixed == 0 || virtual_at_ns >= kHorizonNs) return kNever;
  const Wide distance = Wide{static_cast<uint64_t>(virtual_at_ns - virtual_base_ns)} << kSpeedBits;
  const Wide real = (distance + speed_fixed - 1) / speed_fixed;
  if (real > static_cast<uint64_t>(kHorizonNs - std::min(real_base_ns, kHorizonNs))) return kNever;
  return real_base_ns + static_cast<int64_t>(real);
}

uint64_t VirtualClock::Pack(const Health& health) {
  return uint64_t{std::bit_cast<uint32_t>(health.pressure)} |
         uint64_t{static_cast<uint16_t>(health.signal)} << 32 |
         uint64_t{static_cast<uint8_t>(health.status)} << 48 | uint64_t{health.gate_shut} << 56 |
         uint64_t{health.unread} << 57;
}

}  // namespace headgate::engine
