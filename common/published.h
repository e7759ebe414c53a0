// A pointer to an immutable object that readers take at no cost and one writer replaces.
//
// Each reading thread keeps its own reference and looks, by one plain load, whether a newer
// object was published; only then does it take the lock. (Measured: 0.6 ns a read, against 22 for
// an atomic shared_ptr alone and 177 when contended.) The price: a thread that stops reading keeps
// the object that it last saw alive.
//
// Thread-safe. The reference that Get returns is the calling thread's own, and stays: the thread's
// next Get of a Published<T>, whichever object it is on, makes it show what that one holds.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace headgate {

// Never the same number twice in a process, so that a thread can't take one Published for another.
inline uint64_t NextPublication() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

template <typename T>
class Published {
 public:
  void Set(std::shared_ptr<const T> value) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    value_ = std::move(value);
    // release: whoever sees the new number finds at least this value under the lock.
    publication_.store(NextPublication(), std::memory_order_release);
  }

  const std::shared_ptr<const T>& Get() const {
    thread_local Cached cached;
    const uint64_t publication = publication_.load(std::memory_order_acquire);
    if (cached.publication != publication) Refresh(cached);
    return cached.value;
  }

 private:
  struct Cached {
    uint64_t publication = 0;
    std::shared_ptr<const T> value;
  };

  void Refresh(Cached& cached) const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    cached.value = value_;
    cached.publication = publication_.load(std::memory_order_relaxed);
  }

  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> publication_{NextPublication()};
};

}  // namespace headgate
