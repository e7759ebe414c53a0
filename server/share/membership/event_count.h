// EventCount: wakes threads that wait until something has changed.
//
// A thread that waits reads the count first, then looks at what may have changed, and then waits
// for the count to have grown. So no change is missed, and nobody holds a lock while waiting.
//
// Thread-safe.
//
//   const uint64_t seen = changes.count();
//   if (!is_there_something()) changes.Wait(seen, 1'000'000'000);

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace headgate::membership {

class EventCount {
 public:
  // After the change.
  void Notify() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++count_;
    }
    grown_.notify_all();
  }
  uint64_t count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }
  // Returns once the count is not `seen` any more, after `longest_ns` at the latest.
  void Wait(uint64_t seen, int64_t longest_ns) {
    std::unique_lock<std::mutex> lock(mutex_);
    grown_.wait_for(lock, std::chrono::nanoseconds(longest_ns), [&] { return count_ != seen; });
  }

 private:
  mutable std::mutex mutex_;  // for waiting alone
  std::condition_variable grown_;
  uint64_t count_ = 0;
};

}  // namespace headgate::membership
