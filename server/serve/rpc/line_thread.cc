#include "server/serve/rpc/line_thread.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace headgate::rpc {
namespace {

// An instant further off is asked for again: a span that long may not fit into a timer.
constexpr int64_t kLongestSleepNs = int64_t{60} * 1'000'000'000;

}  // namespace

LineThread::LineThread(line::WaitingLines& lines, Clock& clock) : lines_(lines), clock_(clock) {
  lines_.SetWake([this] { Wake(); });
  thread_ = std::thread([this] { Run(); });
}

void LineThread::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  lines_.SetWake({});
}

void LineThread::Wake() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void LineThread::Run() {
  for (;;) {
    const int64_t next_ns = lines_.Advance(clock_.Read());
    // From now on, for that took time, in which nobody wakes this thread.
    const int64_t sleep_ns =
        std::clamp<int64_t>(next_ns - clock_.Read().monotonic_ns, 0, kLongestSleepNs);
    std::unique_lock<std::mutex> lock(mutex_);
    if (sleep_ns > 0) {
      changed_.wait_for(lock, std::chrono::nanoseconds(sleep_ns),
                        [this] { return woken_ || stopping_; });
    }
    if (stopping_) return;
    woken_ = false;
  }
}

}  // namespace headgate::rpc
