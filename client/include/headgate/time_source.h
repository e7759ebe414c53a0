// TimeSource: how the client tells the time and lets it pass, so that tests need not wait.
//
// The client uses the real one unless ClientOptions gives another; <headgate/fake.h> has one whose
// time is virtual. Implementations are thread-safe.
//
//   time.Wait(absl::Milliseconds(50), stop);

#ifndef HEADGATE_TIME_SOURCE_H_
#define HEADGATE_TIME_SOURCE_H_

#include <cstdint>
#include <memory>
#include <stop_token>

#include "absl/time/time.h"

namespace headgate::client {

class TimeSource {
 public:
  virtual ~TimeSource() = default;

  // Since an arbitrary start. Never runs backwards.
  virtual absl::Duration Now() = 0;

  // The same in nanoseconds, for who asks millions of times a second.
  virtual int64_t NowNanos() { return absl::ToInt64Nanoseconds(Now()); }

  // Returns when `duration` has passed, or as soon as `stop` is requested.
  virtual void Wait(absl::Duration duration, const std::stop_token& stop) = 0;
};

// The real time.
std::shared_ptr<TimeSource> NewRealTime();

}  // namespace headgate::client

#endif  // HEADGATE_TIME_SOURCE_H_
