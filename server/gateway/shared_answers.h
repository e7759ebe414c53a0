// SharedAnswers: what a page was answered a moment ago, for whoever asks the same as the same
// caller.
//
// During an incident many people look at the same page, which asks once a second. One answer does
// for all of them: each takes what a call costs to answer, not what it costs to work out. Shared is
// what reads, is asked by a page and went well, for kFor; callers who bring other evidence of who
// they are never share. Whatever changes something through this port ends all of it.
//
// Bounded: what finds no room is not kept. Thread-safe.
//
//   const std::string key = SharedAnswers::KeyOf(request);
//   if (shared.Find(key, now_ns, response.body)) return true;
//   ... shared.Keep(key, now_ns, body);

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/http/message.h"

namespace headgate::gateway {

class SharedAnswers {
 public:
  static constexpr absl::Duration kFor = absl::Milliseconds(900);
  static constexpr size_t kMostBytes = size_t{8} << 20;

  // Empty: its answer is not for others.
  static std::string KeyOf(const http::Request& request);

  // Whether there is one that is young enough, which then is the body.
  bool Find(const std::string& key, int64_t now_ns, std::string& body) ABSL_LOCKS_EXCLUDED(mutex_);
  void Keep(const std::string& key, int64_t now_ns, std::string_view body)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Clear() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Answer {
    int64_t at_ns = 0;
    std::string body;
  };

  static bool IsFresh(const Answer& answer, int64_t now_ns) {
    return now_ns - answer.at_ns < absl::ToInt64Nanoseconds(kFor);
  }

  Mutex mutex_;
  absl::flat_hash_map<std::string, Answer> answers_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of keys and bodies
};

}  // namespace headgate::gateway
