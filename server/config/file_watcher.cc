#include "server/config/file_watcher.h"

#include <optional>
#include <utility>

namespace headgate::config {

FileWatcher::FileWatcher(std::string path, OnChange on_change, absl::Duration interval)
    : file_(std::move(path)),
      on_change_(std::move(on_change)),
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
    if (const std::optional<Content> news = file_.Look(); news.has_value()) on_change_(*news);
    lock.lock();
    stop_changed_.wait_for(lock, interval, [this] { return stop_; });
  }
}

}  // namespace headgate::config
