#include "tests/demo/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

namespace headgate::demo {

Interrupt::Interrupt() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
}

Interrupt::~Interrupt() { close(fd_); }

absl::Status Interrupt::Wait(absl::Duration duration) const {
  pollfd wanted = {.fd = fd_, .events = POLLIN, .revents = 0};
  const int64_t milliseconds = std::max<int64_t>(absl::ToInt64Milliseconds(duration), 0);
  // The signal is left where it is, so that the next call sees it too.
  if (poll(&wanted, 1, static_cast<int>(milliseconds)) > 0) return absl::CancelledError("stopped");
  return absl::OkStatus();
}

}  // namespace headgate::demo
