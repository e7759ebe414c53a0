// Fallback: what the client decides by itself while Headgate is unreachable.
//
// An outage begins with a call that failed and ends with one that succeeds. While it lasts, one
// call in each `pause` still goes to the server and the others need not wait for a deadline.
// OnUnreachable's Fail and Wait decide nothing here, so their calls always go.
//
// The floor rate is a reverse leaky bucket without a burst: a Check is allowed once everything
// allowed before has drained. What is allowed in an interval is therefore at most its length times
// the rate, plus the one Check that was allowed last. A Check that would take longer than a day to
// drain takes a day: a mistaken estimate must not hold its process for good.
//
// Thread-safe.
//
//   if (!fallback.MayAsk(now)) return fallback.Decide(request, now);

#pragma once

#include <headgate/check.h>
#include <headgate/client.h>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace headgate::client::internal {

class Fallback {
 public:
  Fallback(const OnUnreachable& policy, absl::Duration pause) : policy_(policy), pause_(pause) {}

  // Whether Decide has an answer.
  bool Decides() const {
    return policy_.kind() == OnUnreachable::Kind::kProceed ||
           policy_.kind() == OnUnreachable::Kind::kFloorRate;
  }

  // Whether this call may go to the server.
  bool MayAsk(absl::Duration now) ABSL_LOCKS_EXCLUDED(mutex_);
  // How it went.
  void Failed(absl::Duration now) ABSL_LOCKS_EXCLUDED(mutex_);
  void Succeeded() ABSL_LOCKS_EXCLUDED(mutex_);
  // The server that answered stops: no outage, but nobody knows which one answers next.
  void SentAway() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the newest call was answered, so that the next one may be expected to be.
  bool IsAnswered() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Instead of the server. The estimate is absent, or a cost.
  Answer Decide(const CheckRequest& request, absl::Duration now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const OnUnreachable policy_;
  const absl::Duration pause_;

  mutable Mutex mutex_;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
  bool outage_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration ask_at_ ABSL_GUARDED_BY(mutex_);
  absl::Duration drained_at_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace headgate::client::internal
