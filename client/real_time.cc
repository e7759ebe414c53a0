#include <headgate/time_source.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>

#include "absl/time/time.h"
#include "client/bounded_wait.h"
#include "common/system_clock.h"

namespace headgate::client {
namespace {

class RealTime final : public TimeSource {
 public:
  absl::Duration Now() override { return absl::Nanoseconds(clock_.Read().monotonic_ns); }

  int64_t NowNanos() override { return clock_.Read().monotonic_ns; }

  void Wait(absl::Duration duration, const std::stop_token& stop) override {
    std::mutex mutex;  // guards nothing: only `stop` is waited for
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, internal::BoundedWait(duration), [] { return false; });
  }

 private:
  SystemClock clock_;
};

}  // namespace

std::shared_ptr<TimeSource> NewRealTime() { return std::make_shared<RealTime>(); }

}  // namespace headgate::client
