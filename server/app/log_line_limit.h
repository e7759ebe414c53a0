// How many lines of one kind the log takes: some at once, then so many a second. For lines that
// callers can provoke.
//
// Thread-safe.
//
//   LogLineLimit limit({.at_once = 20, .per_second = 10});
//   if (const auto before = limit.Admit(now_ns)) ... write, and that *before lines were left out

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace headgate::app {

struct LogLineLimitOptions {
  double at_once = 20;
  double per_second = 10;
};

class LogLineLimit {
 public:
  explicit LogLineLimit(const LogLineLimitOptions& options)
      : options_(options), left_(options.at_once) {}

  // How many lines were suppressed since the last one that was admitted; absent: this one is.
  std::optional<int64_t> Admit(int64_t now_ns) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    const double passed_s = static_cast<double>(std::max<int64_t>(now_ns - last_ns_, 0)) * 1e-9;
    left_ = std::min(options_.at_once, left_ + passed_s * options_.per_second);
    last_ns_ = std::max(now_ns, last_ns_);
    if (left_ < 1) {
      ++since_last_;
      ++suppressed_;
      return std::nullopt;
    }
    left_ -= 1;
    return std::exchange(since_last_, 0);
  }

  int64_t suppressed() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return suppressed_;
  }

 private:
  const LogLineLimitOptions options_;
  mutable Mutex mutex_;
  double left_ ABSL_GUARDED_BY(mutex_);
  int64_t last_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t since_last_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t suppressed_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headgate::app
