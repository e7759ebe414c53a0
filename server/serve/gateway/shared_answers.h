// SharedAnswers: what a page was answered a moment ago, for whoever asks the same and may see the
// same.
//
// During an incident many people look at the same page, which asks once a second. One answer does
// for all of them: each takes what a call costs to take, not what it costs to work out. Shared are
// answers of methods for which it counts what a caller is granted and not who that is, for kFor
// from when they were asked for. So it is keyed by what is granted, never by who brings which
// evidence: whoever is known by nothing, or is granted other things, finds nothing. Whatever
// changes something through this port ends all of it, and what was asked for before that is not
// kept.
//
// Bounded: what finds no room is not kept. Thread-safe.
//
//   const std::string key = SharedAnswers::KeyOf(path, body, caller->rights());
//   if (shared.Find(key, now_ns, body)) return true;
//   ... shared.Keep(key, asked_ns, body);

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace headgate::gateway {

class SharedAnswers {
 public:
  static constexpr absl::Duration kFor = absl::Milliseconds(900);
  static constexpr size_t kMostBytes = size_t{8} << 20;

  // Under which a question by somebody with these rights is kept. Empty: its answer is not for
  // others.
  static std::string KeyOf(std::string_view path, std::string_view body, std::string_view rights);

  // Whether there is one that is young enough, which then is the body.
  bool Find(const std::string& key, int64_t now_ns, std::string& body) ABSL_LOCKS_EXCLUDED(mutex_);
  // An answer to what was asked then.
  void Keep(const std::string& key, int64_t asked_ns, std::string_view body)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Something has changed by then.
  void Clear(int64_t now_ns) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Answer {
    int64_t asked_ns = 0;
    std::string body;
  };

  static bool IsFresh(const Answer& answer, int64_t now_ns) {
    return now_ns - answer.asked_ns < absl::ToInt64Nanoseconds(kFor);
  }

  Mutex mutex_;
  absl::flat_hash_map<std::string, Answer> answers_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of keys and bodies
  int64_t changed_ns_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
};

}  // namespace headgate::gateway
