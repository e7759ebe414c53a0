#include "common/file_watcher.h"

#include <utility>

namespace headgate {

FileWatcher::FileWatcher(SettledFiles files, Callbacks callbacks, absl::Duration interval)
    : files_(std::move(files)),
      callbacks_(std::move(callbacks)),
      interval_(interval),
      thread_([this] { Run(); }) {}

FileWatcher::~FileWatcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_one();
  thread_.join();
}

void FileWatcher::Run() {
  const auto interval = absl::ToChronoNanoseconds(interval_);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    if (const auto news = files_.Look(); news.has_value()) {
      callbacks_.on_change(*news);
    } else if (callbacks_.on_quiet != nullptr) {
      callbacks_.on_quiet();
    }
    lock.lock();
    stop_changed_.wait_for(lock, interval, [this] { return stop_; });
  }
}

}  // namespace headgate
