// Deadline: when a call has to be over, whatever it waits for.
//
// Immutable; as thread-safe as its clock.
//
//   const Deadline deadline(clock, absl::Seconds(1));
//   poll(&fd, 1, deadline.LeftMs());
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "common/clock.h"

namespace headgate::postgres {

class Deadline {
 public:
  Deadline(Clock& clock, absl::Duration after)
      : clock_(&clock), end_ns_(clock.Read().monotonic_ns + absl::ToInt64Nanoseconds(after)) {}

  absl::Duration Left() const {
    return absl::Nanoseconds(std::max<int64_t>(0, end_ns_ - clock_->Read().monotonic_ns));
  }

  // Rounded up, so that waiting so long reaches the deadline.
  int LeftMs() const {
    return static_cast<int>(absl::ToInt64Milliseconds(
        std::min(absl::Ceil(Left(), absl::Milliseconds(1)), absl::Hours(1))));
  }

  // The deadline of the first of so many things that have to share what is left.
  Deadline FirstOf(size_t count) const {
    return Deadline(*clock_, Left() / static_cast<int64_t>(std::max<size_t>(count, 1)));
  }

 private:
  Clock* clock_;
  int64_t end_ns_;
};

}  // namespace headgate::postgres
