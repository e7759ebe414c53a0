// LeaseWatcher: the thread that waits for orders that take a lease's holdings back.
//
// It waits only while there is something to take back, or to be had; what it then knows of the
// state stays known, so that nothing that is ordered in between is missed.
//
// Thread-safe; owns one thread, from the first time that there is something to wait for until Stop.
//
//   LeaseWatcher watcher(core, {.identity = "backfill:etl"}, [&](uint64_t state) { ... });
//   watcher.SetActive(true);

#pragma once

#include <headgate/transport.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "client/lease_watch_pauses.h"

namespace headgate::client::internal {

class Core;

class LeaseWatcher {
 public:
  // Told of each other state than the one before, the first one included, on the watcher's thread
  // and without locks.
  using OnState = std::function<void(uint64_t state)>;

  LeaseWatcher(std::shared_ptr<Core> core, LeaseWatch about, OnState on_state);
  ~LeaseWatcher() { Stop(); }
  LeaseWatcher(const LeaseWatcher&) = delete;
  LeaseWatcher& operator=(const LeaseWatcher&) = delete;

  // Whether orders matter from now on. Never blocks for long, and calls nobody.
  void SetActive(bool active);
  // Returns when nobody is told any more. Not for the thread that is told.
  void Stop();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void Run();
  // One call. Without the lock meanwhile.
  void Watch(Lock& lock);

  const std::shared_ptr<Core> core_;
  const OnState on_state_;
  std::mutex joining_;  // of two who stop it, one joins

  // A std::mutex because condition variables wait with it. Guards everything below.
  std::mutex mutex_;
  std::condition_variable changed_;
  LeaseWatch watch_;  // with the newest state that is known
  LeaseWatchPauses pauses_;
  bool active_ = false;
  bool stopping_ = false;
  std::stop_source call_;  // ends the call that is under way

  std::thread thread_;
};

}  // namespace headgate::client::internal
