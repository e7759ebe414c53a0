// A virtual clock as the reference model reads it: health-time by plain 128-bit arithmetic.
//
// Health-time since the last change of speed is floor(real time x speed), the speed being a 32.32
// fixed-point number. A reading before the last change is the reading at that change. Real time
// ends where the engine bounds it, virtual time at VirtualClock::kHorizonNs.
//
// Thread-compatible.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "server/decide/engine/virtual_clock.h"

namespace headgate::model {

__extension__ using Wide = __int128;

class ModelClock {
 public:
  static constexpr int64_t kEndNs = engine::VirtualClock::kHorizonNs;

  explicit ModelClock(int64_t real_ns) : changed_at_ns_(real_ns) {}

  void Set(const engine::Health& health, int64_t real_ns) {
    const int64_t virtual_ns = VirtualAt(real_ns);
    changed_at_ns_ = std::max(changed_at_ns_, real_ns);
    virtual_then_ns_ = virtual_ns;
    health_ = health;
    const double most = engine::VirtualClock::kMaxSpeed;
    const double speed = std::isnan(health.speed) ? 0 : std::clamp(health.speed, 0.0, most);
    speed_fixed_ = std::llround(std::ldexp(speed, 32));
    health_.speed = std::ldexp(static_cast<double>(speed_fixed_), -32);
  }

  // A new process: real time begins at `real_ns`, whatever it showed before.
  void Restart(int64_t real_ns) {
    virtual_then_ns_ = VirtualAt(real_ns);
    changed_at_ns_ = real_ns;
  }

  const engine::Health& health() const { return health_; }

  int64_t VirtualAt(int64_t real_ns) const {
    const Wide elapsed = std::max<Wide>(Wide{real_ns} - changed_at_ns_, 0);
    return static_cast<int64_t>(
        std::min<Wide>(virtual_then_ns_ + ((elapsed * speed_fixed_) >> 32), kEndNs));
  }

  // What it shows more after such a time, at its speed now.
  int64_t RunIn(int64_t real_span_ns) const {
    return static_cast<int64_t>(std::min<Wide>((Wide{real_span_ns} * speed_fixed_) >> 32, kEndNs));
  }

  // The first instant after `from_ns` at which the clock shows `virtual_ns` or more, found by
  // halving; empty where real or virtual time ends before.
  std::optional<int64_t> FirstShowing(int64_t virtual_ns, int64_t from_ns) const {
    if (virtual_ns >= kEndNs || VirtualAt(kEndNs) < virtual_ns) return std::nullopt;
    int64_t before = from_ns;
    int64_t at = kEndNs;
    while (at - before > 1) {
      const int64_t middle = before + (at - before) / 2;
      (VirtualAt(middle) < virtual_ns ? before : at) = middle;
    }
    return at;
  }

 private:
  int64_t changed_at_ns_;
  int64_t virtual_then_ns_ = 0;
  int64_t speed_fixed_ = int64_t{1} << 32;
  engine::Health health_;
};

}  // namespace headgate::model
