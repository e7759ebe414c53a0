// ExpiryWriter: writes, within a second, what has expired, on a thread of its own, so that nobody
// who reads has to; and finds out whether what could not be written can be by now. Of a store that
// several servers share Follower does.
//
// Thread-safe. The registry outlives it.
//
//   ExpiryWriter expiries(registry);

#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/remember/overrides/registry.h"

namespace headgate::overrides {

class ExpiryWriter {
 public:
  explicit ExpiryWriter(Registry& registry,
                        std::chrono::nanoseconds every = std::chrono::seconds(1))
      : registry_(registry), every_(every), thread_([this] { Run(); }) {}
  ~ExpiryWriter();
  ExpiryWriter(const ExpiryWriter&) = delete;
  ExpiryWriter& operator=(const ExpiryWriter&) = delete;

 private:
  void Run();

  Registry& registry_;
  const std::chrono::nanoseconds every_;
  // A std::mutex because condition variables wait with it. Guards `stopping_`.
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stopping_ = false;

  std::thread thread_;  // last: it uses all the others
};

}  // namespace headgate::overrides
