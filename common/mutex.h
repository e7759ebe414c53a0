// A mutex that clang's -Wthread-safety and ThreadSanitizer both understand.
//
// std::mutex with annotations. absl::Mutex would do, but the distribution's build of it is not
// instrumented: ThreadSanitizer then sees a race in everything it guards, and its deadlock detector
// makes it several times slower.
//
//   Mutex mutex;
//   int count ABSL_GUARDED_BY(mutex);
//   MutexLock lock(&mutex);

#pragma once

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace headgate {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds a Mutex for as long as it lives.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace headgate
