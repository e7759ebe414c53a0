// WorkListener: whoever wants to see how much foreground and batch work runs, several times a
// second.
//
// The primary's poll loop takes the samples on its own thread and connection, between polls of the
// signals. While nobody asks for anything (the target is idle) or the primary can't be reached no
// samples are taken; a failed poll is passed on as a failed sample.
//
// Implementations: the control loop of `rate: auto` budgets.

#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/observe/health/probe.h"

namespace headgate::health {

// What a listener wants next.
struct WorkWish {
  // How long after this sample was complete. InfiniteDuration: not until the target wakes from
  // idleness, recovers or is reconfigured.
  absl::Duration after;
  StatementsWish statements = StatementsWish::kSpare;
};

class WorkListener {
 public:
  virtual ~WorkListener() = default;

  // `now` is when the sample was complete. Always called by the same thread, which polls nothing
  // meanwhile.
  virtual WorkWish OnWork(const absl::StatusOr<WorkCounters>& sample, Now now) = 0;
};

}  // namespace headgate::health
