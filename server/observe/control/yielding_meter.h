// YieldingMeter: whether a target's sessions of batch work yield the processor now, and for how
// much of the time for which they are at work they have one.
//
// What was told holds for a lease. It does not where permits are out and no session is told of: the
// agent looks for others than those that jobs log in with.
//
// The share of the processor is what sessions that yield have had of it by the busy time that
// Reports tell, both over the last kSmoothed seconds or so. Until something is known it is 1, and
// never above: of sessions that Reports do not tell of, or of parallel workers, there may be more.
//
// Pure and thread-compatible. Times are monotonic.
//
//   meter.Tell(yielding, now_ns);
//   meter.Note({.outstanding = 2, .busy_seconds = 12.5}, now_ns);
//   if (meter.Yields(now_ns)) ...

#pragma once

#include <cstdint>

#include "server/observe/control/yielding.h"

namespace headgate::control {

class YieldingMeter {
 public:
  static constexpr int64_t kLeaseNs = 2'000'000'000;

  void Tell(const Yielding& told, int64_t now_ns);
  // What Headgate itself knows, with each sample.
  struct Work {
    int64_t outstanding = 0;  // permits
    double busy_seconds = 0;  // that Reports have told so far; it grows
  };
  void Note(const Work& work, int64_t now_ns);

  bool Yields(int64_t now_ns) const;
  // 0.05 to 1.
  double processor_share() const;

 private:
  Yielding told_;
  int64_t told_at_ns_ = 0;   // 0: never
  int64_t noted_at_ns_ = 0;  // 0: never
  double noted_busy_ = 0;
  double unseen_for_ = 0;            // s that permits were out, and no session told of
  double had_ = 0;                   // s of the processor that were told of, and not noted yet
  double processor_ = 0, busy_ = 0;  // s, smoothed
};

}  // namespace headgate::control
