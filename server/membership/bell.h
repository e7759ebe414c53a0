// Bell: wakes threads that wait until something has changed.
//
// Whoever waits reads the count first, then looks at what may have changed, then waits for the
// count to have gone on: so nothing is missed, and nobody holds a lock while waiting.
//
// Thread-safe.
//
//   const uint64_t seen = bell.rings();
//   if (!is_there_something()) bell.Wait(seen, absl::Seconds(1));

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace headgate::membership {

class Bell {
 public:
  void Ring() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++rings_;
    }
    rang_.notify_all();
  }
  uint64_t rings() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return rings_;
  }
  // Until it has rung since the count was `seen`, for `longest_ns` at most.
  void Wait(uint64_t seen, int64_t longest_ns) {
    std::unique_lock<std::mutex> lock(mutex_);
    rang_.wait_for(lock, std::chrono::nanoseconds(longest_ns), [&] { return rings_ != seen; });
  }

 private:
  mutable std::mutex mutex_;  // for waiting alone
  std::condition_variable rang_;
  uint64_t rings_ = 0;
};

}  // namespace headgate::membership
