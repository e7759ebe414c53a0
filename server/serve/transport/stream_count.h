// How many streams are open, on all loops, and by whom: a caller alone cannot hold all of them.
//
// Thread-safe.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/mutex.h"

namespace headgate::transport {

struct StreamLimits {
  int all = 1024;
  int of_one_caller = 512;
};

class StreamCount {
 public:
  enum class Outcome : uint8_t { kOpened, kTooMany, kTooManyOfCaller };

  // `gauge`, which outlives this, counts along.
  StreamCount(StreamLimits limits, std::atomic<int64_t>& gauge) : limits_(limits), gauge_(gauge) {}

  // An empty caller is nobody in particular. Each that was opened is closed once, by that name.
  Outcome TryOpen(const std::string& caller) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    if (open_ >= limits_.all) return Outcome::kTooMany;
    if (!caller.empty()) {
      // At most as many names are here as streams are open.
      int& of_caller = open_by_[caller];
      if (of_caller >= limits_.of_one_caller) return Outcome::kTooManyOfCaller;
      ++of_caller;
    }
    Add(1);
    return Outcome::kOpened;
  }
  void Close(const std::string& caller) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    Add(-1);
    if (caller.empty()) return;
    const auto found = open_by_.find(caller);
    if (--found->second == 0) open_by_.erase(found);
  }
  int open() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return open_;
  }

 private:
  void Add(int count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    open_ += count;
    gauge_.fetch_add(count, std::memory_order_relaxed);  // relaxed: it orders nothing
  }

  const StreamLimits limits_;
  std::atomic<int64_t>& gauge_;
  mutable Mutex mutex_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, int> open_by_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::transport
