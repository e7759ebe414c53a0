// RuleTimes: when time alone may change which rules apply: the end of one, or a window of a
// schedule. All rules are looked at once for each policy and each such instant, however many ask.
//
// Thread-safe. A wall clock that is set back makes it look again.
//
//   absl::Time next = rule_times.NextChange(*policy, now.wall_ns);

#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/decide/engine/policy.h"

namespace headgate::engine {

class RuleTimes {
 public:
  // After that time; perhaps earlier than the first change, never later. The infinite future:
  // there will be none.
  absl::Time NextChange(const Policy& policy, int64_t wall_ns) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::Time wall = absl::FromUnixNanos(wall_ns);
    const MutexLock lock(&mutex_);
    if (version_ != policy.version || wall < looked_at_ || wall >= next_) {
      version_ = policy.version;
      looked_at_ = wall;
      next_ = policy.rules.NextChange(wall);
    }
    return next_;
  }

 private:
  Mutex mutex_;
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: nothing is known
  absl::Time looked_at_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::engine
