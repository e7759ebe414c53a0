#include "server/web/http_worker.h"

namespace headgate::web {

HttpWorker::HttpWorker(Answer answer, size_t most, std::function<void()> answered)
    : answer_(std::move(answer)), most_(most), answered_(std::move(answered)) {
  thread_ = std::thread(&HttpWorker::Run, this);
}

HttpWorker::~HttpWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool HttpWorker::Ask(uint64_t number, std::string request) {
  const std::lock_guard lock(mutex_);
  if (asked_.size() >= most_) return false;
  asked_.emplace_back(number, std::move(request));
  changed_.notify_all();
  return true;
}

HttpWorker::Answered HttpWorker::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

void HttpWorker::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
    if (stopping_) return;
    const auto [number, request] = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    std::string response = answer_(request);
    lock.lock();
    done_.emplace_back(number, std::move(response));
    lock.unlock();
    answered_();
    lock.lock();
  }
}

}  // namespace headgate::web
