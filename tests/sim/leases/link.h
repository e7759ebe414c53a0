// Link: one client's network, in each of its two directions: what is sent arrives late, very late,
// twice, or not at all.
//
// Thread-compatible.
//
//   link.Send(Link::kToServer, [&] { cluster.Ask(...); });

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "tests/sim/leases/timeline.h"

namespace headgate::leases {

class Link {
 public:
  enum Direction : uint8_t { kToServer, kToClient };

  // Each client has its own luck, so that nothing hangs on which of two is answered first.
  Link(Timeline& timeline, Chance& chance) : timeline_(timeline), chance_(chance) {}

  // False: it is lost.
  bool Send(Direction direction, const std::function<void()>& arrive) {
    if (timeline_.now_ns() < cut_until_ns_[direction] || chance_.Happens(0.005)) return false;
    timeline_.After(Delay(), arrive);
    if (chance_.Happens(0.01)) timeline_.After(Delay(), arrive);
    return true;
  }
  void Cut(Direction direction, absl::Duration time) {
    int64_t& until_ns = cut_until_ns_[direction];
    until_ns = std::max(until_ns, timeline_.now_ns() + absl::ToInt64Nanoseconds(time));
  }

 private:
  absl::Duration Delay() {
    if (chance_.Happens(0.01)) {
      return chance_.Between(absl::Milliseconds(100), absl::Seconds(4));
    }
    return chance_.Between(absl::Microseconds(200), absl::Milliseconds(5));
  }

  Timeline& timeline_;
  Chance& chance_;
  std::array<int64_t, 2> cut_until_ns_ = {0, 0};
};

}  // namespace headgate::leases
