#include "client/lease_watcher.h"

#include <utility>

#include "client/bounded_wait.h"
#include "client/core.h"

namespace headgate::client::internal {

LeaseWatcher::LeaseWatcher(std::shared_ptr<Core> core, LeaseWatch about, OnState on_state)
    : core_(std::move(core)),
      on_state_(std::move(on_state)),
      watch_(std::move(about)),
      pauses_(core_->jitter()) {
  watch_.max_wait = LeaseWatchPauses::kMaxWait;
}

void LeaseWatcher::SetActive(bool active) {
  const std::lock_guard lock(mutex_);
  if (active == active_ || stopping_) return;
  active_ = active;
  if (!active) call_.request_stop();
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.notify_all();
}

void LeaseWatcher::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    call_.request_stop();
  }
  changed_.notify_all();
  const std::lock_guard joining(joining_);
  if (thread_.joinable()) thread_.join();
}

void LeaseWatcher::Watch(Lock& lock) {
  call_ = std::stop_source();
  const std::stop_token stop = call_.get_token();
  const LeaseWatch watch = watch_;
  lock.unlock();
  TimeSource& time = *core_->options().time;
  const absl::Duration began = time.Now();
  const absl::StatusOr<uint64_t> state = core_->WatchLease(watch, stop);
  const absl::Duration took = time.Now() - began;
  const bool changed = state.ok() && *state != watch.state;
  if (changed) on_state_(*state);
  lock.lock();
  if (changed) watch_.state = *state;
  const absl::Duration pause = pauses_.After(state.status(), {.changed = changed, .took = took});
  if (pause > absl::ZeroDuration()) {
    changed_.wait_for(lock, BoundedWait(pause), [this] { return stopping_; });
  }
}

void LeaseWatcher::Run() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (active_) {
      Watch(lock);
    } else {
      changed_.wait(lock, [this] { return active_ || stopping_; });
    }
  }
}

}  // namespace headgate::client::internal
