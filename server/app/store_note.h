// StoreNote: what is worth knowing of how the store is reached, such as that the connection leads
// through a pooler. The sessions with it are several, and it is logged once.
//
// Thread-safe.
//
//   store::TransactorOptions options{.on_note = [&](const std::string& text) { note.Set(text); }};

#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/app/server_log.h"

namespace headgate::app {

class StoreNote {
 public:
  // Empty: there is nothing to know.
  void Set(const std::string& text) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const MutexLock lock(&mutex_);
      if (text == text_) return;
      text_ = text;
    }
    if (!text.empty()) {
      LogWarning("PostgreSQL is not reached directly", {{"for", "the store"}, {"what", text}});
    }
  }

  std::string text() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return text_;
  }

 private:
  mutable Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::app
