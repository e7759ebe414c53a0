// Counts what was refused, and tells of some of it: at most kMaxASecond a second, so that a flood
// of refusals floods no log. What was not told is counted with the next that is.
//
// Thread-safe.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/govern/access/refusal.h"

namespace headgate::access {

struct ToldRefusal {
  const Refusal& refusal;
  const std::string& peer;     // "ipv4:10.0.0.1:4711"
  uint64_t untold_before = 0;  // since the one that was told last
};

class RefusalLog {
 public:
  static constexpr int kMaxASecond = 5;

  // `tell` may be null. It is called on the thread of the call that is refused, one at a time.
  RefusalLog(Clock& clock, std::function<void(const ToldRefusal&)> tell)
      : clock_(clock), tell_(std::move(tell)) {}

  void Note(const Refusal& refusal, const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  RefusalCounts counts() const;

 private:
  Clock& clock_;
  const std::function<void(const ToldRefusal&)> tell_;
  // relaxed everywhere: each is a number of its own.
  std::array<std::atomic<uint64_t>, kRefusalReasons> counts_{};

  Mutex mutex_;
  int64_t second_ ABSL_GUARDED_BY(mutex_) = -1;  // monotonic
  int told_ ABSL_GUARDED_BY(mutex_) = 0;         // in this second
  uint64_t untold_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headgate::access
