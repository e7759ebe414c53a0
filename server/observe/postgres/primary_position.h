// PrimaryPosition: how far a target's primary has written its WAL, from the session that measures
// the primary to those that measure its standbys.
//
// What a standby says of itself is no measure of its lag: one that is fed by another standby has
// replayed all that it received, and knows nothing of what that one does not receive. So its
// position is compared with the primary's.
//
// Guarantees:
// - A distance is a bound on both sides, true whenever both were asked. Nothing is made up: where
//   the primary cannot be asked, where it says nothing of its position, or where the two are not of
//   one cluster and one timeline, there is an error.
// - Another primary, or another timeline, begins anew.
//
// Thread-safe. Times are monotonic nanoseconds.
//
//   position.Note(ended_ns, {.bytes = written, .system = "7123...", .timeline = "1"});
//   absl::StatusOr<PrimaryPosition::Distance> behind = position.DistanceTo(replayed, began_ns);
#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/observe/postgres/wal_timeline.h"

namespace headgate::postgres {

// A place in the WAL of one cluster. Empty texts are not known, and compared with nothing.
struct WalPosition {
  double bytes = 0;      // since the beginning of WAL
  std::string system;    // the cluster's identifier
  std::string timeline;  // its number
};

class PrimaryPosition {
 public:
  struct Distance {
    double bytes = 0;      // that are not replayed; 0: all is that was there at the last look
    WalTimeline::Age age;  // of the oldest of them
  };

  // The primary had written so much by then.
  void Note(int64_t at_ns, WalPosition written) ABSL_LOCKS_EXCLUDED(mutex_);
  // It cannot be asked: nothing is known until it was asked again.
  void Lose(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  // Of a standby that had replayed so much at that time. NotFound: the primary was not asked yet;
  // Unavailable: it cannot be asked; FailedPrecondition: they cannot be compared.
  absl::StatusOr<Distance> DistanceTo(const WalPosition& replayed, int64_t at_ns) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_) =
      absl::NotFoundError("the primary's position is not known yet");
  WalPosition written_ ABSL_GUARDED_BY(mutex_);
  WalTimeline times_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::postgres
