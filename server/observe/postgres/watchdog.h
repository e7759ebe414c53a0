// Watchdog: ends a call that blocks on a socket, by shutting the socket down when its time is over.
//
// For libraries whose calls cannot be given up: what waits in recv() or send() then fails at once.
// A server that was stopped is not found out otherwise, as its kernel still answers for it.
//
// Arm and Disarm take turns, on one thread. The socket is the caller's, and stays open meanwhile.
//
//   Watchdog watchdog;
//   watchdog.Arm(socket, absl::Seconds(5));
//   Call();
//   const bool too_late = watchdog.Disarm();
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace headgate::postgres {

class Watchdog {
 public:
  Watchdog();
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void Arm(int socket, absl::Duration limit);
  // Whether it has bitten since Arm.
  bool Disarm();

 private:
  enum class State { kIdle, kArmed, kBitten, kEnding };

  void Watch();

  // A std::mutex for the sake of the condition variable; it guards all below but the thread.
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kIdle;
  int64_t rounds_ = 0;  // that were ended by Disarm
  int socket_ = -1;
  absl::Duration limit_;
  std::thread thread_;
};

}  // namespace headgate::postgres
