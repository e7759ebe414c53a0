#include "client/cli/process/signal_inbox.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>

namespace headgate::cli {

SignalInbox::SignalInbox() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
    sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
}

SignalInbox::~SignalInbox() {
  close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int SignalInbox::Take() const {
  signalfd_siginfo info = {};
  while (read(fd_, &info, sizeof(info)) < 0 && errno == EINTR) {
  }
  return static_cast<int>(info.ssi_signo);
}

std::optional<int> SignalInbox::WaitFor(int fd, absl::Duration limit) const {
  std::array<pollfd, 2> events = {
      {{.fd = fd_, .events = POLLIN, .revents = 0}, {.fd = fd, .events = POLLIN, .revents = 0}}};
  const auto limit_ms =
      static_cast<int>(absl::ToInt64Milliseconds(std::min(limit, absl::Hours(24))));
  for (;;) {
    const int ready =
        poll(events.data(), events.size(), limit == absl::InfiniteDuration() ? -1 : limit_ms);
    if (ready < 0) continue;  // interrupted
    if (ready == 0 || events[1].revents != 0) return std::nullopt;
    const int signal = Take();
    if (signal == SIGTSTP) {
      kill(getpid(), SIGSTOP);
    } else if (signal != SIGWINCH) {
      return signal;
    }
  }
}

}  // namespace headgate::cli
