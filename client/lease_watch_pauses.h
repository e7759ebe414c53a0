// LeaseWatchPauses: how long to pause before the next call that waits for an order.
//
// After an answer: not at all, for what may come next is not to be missed; but what is answered at
// once though nothing has changed would be asked all the time, and is a failure. After failures: a
// backoff with jitter, and no less than the server says. A server that does not know the call, or
// may not be asked, is asked again every half a minute: leases then end by their time.
//
// Thread-compatible, no I/O and no clock.
//
//   absl::Duration pause = pauses.After(state.status(), {.changed = changed, .took = took});

#pragma once

#include <headgate/transport.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/jitter.h"

namespace headgate::client::internal {

class LeaseWatchPauses {
 public:
  // So long a server is to let one wait.
  static constexpr absl::Duration kMaxWait = absl::Seconds(30);
  static constexpr absl::Duration kUnknown = absl::Seconds(30);

  // The jitter outlives this.
  explicit LeaseWatchPauses(Jitter& jitter) : jitter_(jitter) {}

  struct Call {
    bool changed = false;  // it told another state
    absl::Duration took = {};
  };
  absl::Duration After(const absl::Status& status, const Call& call) {
    constexpr absl::Duration kFirst = absl::Milliseconds(50);
    constexpr absl::Duration kLongest = absl::Seconds(2);
    if (absl::IsCancelled(status)) return absl::ZeroDuration();
    const bool repeats = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
                         absl::IsResourceExhausted(status);
    if (!status.ok() && !repeats) return jitter_.AtLeast(kUnknown);
    if (status.ok() && (call.changed || call.took >= kMaxWait / 2)) {
      failures_ = 0;
      return absl::ZeroDuration();
    }
    return std::max(jitter_.Backoff(failures_++, kFirst, kLongest),
                    RetryDelay(status).value_or(absl::ZeroDuration()));
  }

 private:
  Jitter& jitter_;
  int failures_ = 0;  // in a row
};

}  // namespace headgate::client::internal
