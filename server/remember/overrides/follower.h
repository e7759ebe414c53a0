// Follower: puts into force what other servers order, and writes what has expired, on a thread of
// its own, so that whoever learns of it need not wait for the store.
//
// Thread-safe. The registry outlives it.
//
//   Follower follower(registry);
//   follower.Notify(reply.overrides_revision);  // after each round

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "server/remember/overrides/registry.h"

namespace headgate::overrides {

class Follower {
 public:
  explicit Follower(Registry& registry) : registry_(registry), thread_([this] { Run(); }) {}
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // The store has this revision by now. Where it could not be read, it is tried again when somebody
  // says so the next time. Never blocks.
  void Notify(uint64_t revision);

 private:
  void Run();

  Registry& registry_;
  // A std::mutex because condition variables wait with it. Guards what follows.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<uint64_t> news_;  // nothing: all of it was followed, or could not be
  bool stopping_ = false;

  std::thread thread_;  // last: it uses all the others
};

}  // namespace headgate::overrides
