// Takes signals as events instead of interruptions.
//
// It has to be made before any other thread is: threads that exist already would still be
// interrupted. For one thread, and one at a time in a process.
//
//   const SignalInbox signals;
//   if (const std::optional<int> signal = signals.WaitFor(fd)) ...

#pragma once

#include <csignal>
#include <optional>

#include "absl/time/time.h"

namespace headgate::cli {

class SignalInbox {
 public:
  // INT, TERM, HUP, QUIT, TSTP and WINCH.
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  // Readable while there is a signal.
  int fd() const { return fd_; }
  // The signal that arrived.
  int Take() const;
  // The signal that ended the wait; none: `fd` is readable, or the time is over. A window that
  // changes its size ends no wait, and the terminal's stop key stops this process meanwhile.
  std::optional<int> WaitFor(int fd, absl::Duration limit = absl::InfiniteDuration()) const;

 private:
  sigset_t before_;
  int fd_;
};

}  // namespace headgate::cli
