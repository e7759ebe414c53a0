#include "server/remember/overrides/expiry_writer.h"

namespace headgate::overrides {

ExpiryWriter::~ExpiryWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_changed_.notify_one();
  thread_.join();
}

void ExpiryWriter::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_changed_.wait_for(lock, every_, [this] { return stopping_; })) {
    lock.unlock();
    registry_.EndExpired();
    registry_.TryToWrite();
    lock.lock();
  }
}

}  // namespace headgate::overrides
