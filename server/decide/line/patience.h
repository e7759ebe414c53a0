// How long those who wait in a line have been kept waiting by callers that are not there, and how
// much longer they may be.
//
// A place at the head for which there is no room yet, and room that is held for a place, keep
// others waiting although a budget is idle. A caller that comes back needs that for a moment, and
// nobody can tell it from one that never does. So the line has patience with all of them together:
// half a second, of which a twentieth of the time in which nobody is kept waiting comes back.
//
// Guarded by its owner. Times are monotonic nanoseconds.
//
//   patience.Pass(now_ns);  // at each look
//   if (patience.Try(from_ns) <= now_ns) ... it is out: do without the absent ...

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace headgate::line {

class Patience {
 public:
  static constexpr int64_t kMostNs = 500'000'000;
  static constexpr int64_t kGainedIn = 20;

  // Whoever is tried is tried until now.
  void Pass(int64_t now_ns) {
    const int64_t passed_ns = std::max<int64_t>(now_ns - at_ns_, 0);
    const int64_t tried_ns =
        std::clamp<int64_t>(now_ns - std::max(tried_from_ns_, at_ns_), 0, passed_ns);
    left_ns_ =
        std::clamp<int64_t>(left_ns_ - tried_ns + (passed_ns - tried_ns) / kGainedIn, 0, kMostNs);
    at_ns_ = now_ns;
    tried_from_ns_ = kNobody;
  }
  // It is tried from then on, until the next look. Returns when it will be out.
  int64_t Try(int64_t from_ns) {
    tried_from_ns_ = from_ns;
    return EndsAt(from_ns);
  }
  // When it will be out if it is tried from then on, or earlier if it is already. kNobody: it is
  // not tried at all.
  int64_t EndsAt(int64_t from_ns) const {
    const int64_t tried_ns = std::min(from_ns, tried_from_ns_);
    return tried_ns == kNobody ? kNobody : std::max(tried_ns, at_ns_) + left_ns_;
  }

 private:
  static constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();

  int64_t left_ns_ = kMostNs;  // as of `at_ns_`
  int64_t at_ns_ = 0;
  int64_t tried_from_ns_ = kNobody;
};

}  // namespace headgate::line
