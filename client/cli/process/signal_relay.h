// Passes this process's signals on to a child while it lives.
//
// Signals that were ignored before stay ignored, by the child too, as nohup wants it. What arrives
// before there is a child is passed on as soon as there is one.
//
// One at a time in a process, because signal handlers are the process's. Handlers run on any
// thread, and only touch lock-free atomics and kill().
//
//   SignalRelay relay;
//   relay.PassOnTo(pid);
//   ... wait until the child has ended, without reaping it ...
//   relay.Stop();

#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>

namespace headgate::cli {

class SignalRelay {
 public:
  static constexpr std::array<int, 6> kSignals = {SIGHUP,  SIGINT,  SIGQUIT,
                                                  SIGTERM, SIGUSR1, SIGUSR2};

  // From here on the signals no longer end this process.
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  void PassOnTo(pid_t child);
  // To be called before the child is reaped: afterwards its number may be another process's.
  void Stop();

 private:
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

}  // namespace headgate::cli
