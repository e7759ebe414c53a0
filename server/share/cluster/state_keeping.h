// Whether a server can read and write what owners know of their targets.
//
// That goes through a session and a table of its own, which may fail while rounds go well: a
// missing grant, a table that somebody dropped, a role that may have one connection and no more.
// Who cannot do it for the length of a lease keeps no states, and does again once it could for as
// long. One that has not been able to since it started does at once what its attempts say: it has
// nothing to lose. While rounds fail the store is away, which is another matter: failures say
// nothing then.
//
// Thread-compatible. Times are monotonic nanoseconds of one clock.
//
//   StateKeeping keeping(absl::Seconds(3), true);
//   if (keeping.OnTried(status, rounds_go_well, now_ns)) TellOthers(keeping.status());

#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::cluster {

class StateKeeping {
 public:
  // Where it `is_tried`, it keeps none before that went well once; else it does until one fails.
  StateKeeping(absl::Duration lease, bool is_tried)
      : lease_ns_(absl::ToInt64Nanoseconds(lease)), keeps_(!is_tried) {}

  // What became of reading or writing, or of trying to. Whether any of the following has changed.
  bool OnTried(const absl::Status& status, bool rounds_go_well, int64_t now_ns);

  bool keeps() const { return keeps_; }
  // Of one that does not, why, as of the newest attempt that failed; OK: nothing is known yet.
  const absl::Status& status() const { return status_; }
  // Whether it has kept none for so long that others which fail alike have said so by now.
  bool HasGivenUp(int64_t now_ns) const { return !keeps_ && now_ns - failed_at_ns_ >= lease_ns_; }

 private:
  const int64_t lease_ns_;
  bool keeps_;
  absl::Status status_;
  int64_t failed_at_ns_ = 0;  // when it was found to keep none
  bool has_worked_ = false;
  // Since when all attempts have come to something else than keeps(); absent: the newest has not.
  std::optional<int64_t> otherwise_since_ns_;
};

}  // namespace headgate::cluster
