// CheckActivity: that somebody asks for a target, from the threads that serve Checks to the monitor
// that measures it; and CheckActivityBook, which finds the right one by the target's name.
//
// A Check costs one relaxed load, except for the first one after each poll, which takes a lock. A
// Check that runs into the very end of a poll may go unnoticed; another one was noticed less than a
// poll before it, so the monitor thinks itself idle by as much too early at most.
//
// Thread-safe. A CheckActivity may outlive its monitor: serving threads keep the book that they
// last saw.
//
//   CheckActivityBook book;
//   book.Set({{"orders", monitor.activity()}});
//   book.OnCheck("orders");  // for each Check

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/published.h"

namespace headgate::health {

class CheckActivity {
 public:
  // For each Check. relaxed: whoever sees an old value calls the waker once too often, or is the
  // Check that goes unnoticed; the waker's own lock orders everything else.
  void Note() {
    if (!noted_.load(std::memory_order_relaxed)) [[unlikely]]
      NoteFirst();
  }

  // The next Note calls the waker again.
  void Rearm() { noted_.store(false, std::memory_order_relaxed); }

  // Null for none. Once this returns, the waker before is not running and never will again.
  void SetWaker(std::function<void()> waker) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    waker_ = std::move(waker);
  }

 private:
  void NoteFirst() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    // relaxed: others that note at the same time wait for the lock, and find it done.
    if (noted_.exchange(true, std::memory_order_relaxed)) return;
    if (waker_ != nullptr) waker_();
  }

  std::atomic<bool> noted_{false};
  Mutex mutex_;
  std::function<void()> waker_ ABSL_GUARDED_BY(mutex_);
};

class CheckActivityBook {
 public:
  using Entries = std::vector<std::pair<std::string, std::shared_ptr<CheckActivity>>>;

  // Replaces all targets.
  void Set(Entries entries) { entries_.Set(std::make_shared<const Entries>(std::move(entries))); }

  // An empty name stands for the only target there is. Unknown ones are ignored.
  void OnCheck(std::string_view target) const {
    const Entries* entries = entries_.Get().get();
    if (entries == nullptr) return;
    for (const auto& [name, activity] : *entries) {
      if (target.empty() || name == target) activity->Note();
    }
  }

 private:
  Published<Entries> entries_;
};

}  // namespace headgate::health
