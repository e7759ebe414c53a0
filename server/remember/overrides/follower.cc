#include "server/remember/overrides/follower.h"

#include <utility>

namespace headgate::overrides {

Follower::~Follower() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Follower::Notify(uint64_t revision) {
  {
    const std::lock_guard lock(mutex_);
    news_ = revision;
  }
  wake_.notify_one();
}

void Follower::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || news_.has_value(); });
    if (stopping_) return;
    const uint64_t revision = *std::exchange(news_, std::nullopt);
    lock.unlock();
    // Its status tells. The store has just answered: now is the time to write what has expired.
    if (registry_.Follow(revision).ok()) registry_.EndExpired();
    lock.lock();
  }
}

}  // namespace headgate::overrides
