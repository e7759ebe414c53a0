// LearntControl: what a controller learnt, for the one that comes after it: in the next process, or
// on the server that owns the target next.
//
// It is text: a line for each thing, numbers between single spaces, the last line a newline too.
// What was learnt while sessions yielded stands for itself, behind the rest; where there is nothing
// of it, it is as before there was such a thing. What is read comes from a disk or from another
// server, and is never believed: a number that is out of range or not written as ToText writes it,
// or one number too few or too many, and all of it is refused. Then a controller begins with
// nothing, as at the first start.
//
//   headgate control 1
//   <wall time, ns> <tolerance> <latency> <tail> <cores> <max rate>
//   <foreground>
//   <ever> <usual> <noise> <unseen for> <64 shares, in millionths>  for each indicator
//   <the same>  for each indicator, with yielding; then the first line says 2
//
// The whole histogram of a belief is kept and not its middle and spread, since it is none of a
// known shape: most of it is narrow, on a broad prior that it never quite leaves. It takes 1.8 kB,
// 2.6 at most, and as much again with yielding.
//
// Pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/observe/control/foreground_presence.h"
#include "server/observe/control/work_limits.h"

namespace headgate::control {

struct LearntControl {
  int64_t at_wall_ns = 0;  // when it was so
  // With which it was learnt, all but the seed: what others found is of no use.
  ControlOptions options;
  Foreground foreground = Foreground::kNone;
  WorkLimits::LearntIndicators indicators = {};
  // While sessions of batch work yielded; absent: nothing was learnt then.
  std::optional<WorkLimits::LearntIndicators> yielding = {};

  // Whether it was learnt with these, whatever their seed.
  bool IsWith(ControlOptions others) const;
  // Since it was so. Clocks that say that it is still to come may be a little apart, as those of
  // two servers are, and then it is 0; or wrong, and then it is forgotten, since nobody knows.
  double SecondsUntil(int64_t wall_ns) const;
};

std::string ToText(const LearntControl& learnt);

// InvalidArgument: no controller of this version has written this.
absl::StatusOr<LearntControl> ParseLearntControl(std::string_view text);

}  // namespace headgate::control
