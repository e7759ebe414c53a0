#include "server/observe/postgres/watchdog.h"

#include <sys/socket.h>

namespace headgate::postgres {

Watchdog::Watchdog() : thread_([this] { Watch(); }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    state_ = State::kEnding;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::Arm(int socket, absl::Duration limit) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    socket_ = socket;
    limit_ = limit;
    state_ = State::kArmed;
  }
  changed_.notify_one();
}

bool Watchdog::Disarm() {
  bool has_bitten = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    has_bitten = state_ == State::kBitten;
    state_ = State::kIdle;
    ++rounds_;
  }
  changed_.notify_one();
  return has_bitten;
}

void Watchdog::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return state_ == State::kArmed || state_ == State::kEnding; });
    if (state_ == State::kEnding) return;
    // Between two looks of this thread it may have been disarmed and armed again.
    const int64_t round = rounds_;
    const auto limit = absl::ToChronoNanoseconds(limit_);
    const bool in_time = changed_.wait_for(
        lock, limit, [&] { return state_ == State::kEnding || rounds_ != round; });
    if (in_time) continue;
    shutdown(socket_, SHUT_RDWR);
    state_ = State::kBitten;
  }
}

}  // namespace headgate::postgres
