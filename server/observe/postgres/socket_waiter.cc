#include "server/observe/postgres/socket_waiter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace headgate::postgres {

SocketWaiter::SocketWaiter() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

absl::Status SocketWaiter::Wait(int fd, short events, const Deadline& deadline) const {
  // Where there was no descriptor left for the event, poll() passes over the negative number.
  pollfd fds[] = {{.fd = fd, .events = events, .revents = 0},
                  {.fd = event_.number(), .events = POLLIN, .revents = 0}};
  for (;;) {
    const int ready = poll(fds, 2, deadline.LeftMs());
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return absl::ErrnoToStatus(errno, "poll");
    if (fds[1].revents != 0) return absl::CancelledError("cancelled");
    if (ready == 0) return absl::DeadlineExceededError("no answer in time");
    return absl::OkStatus();
  }
}

void SocketWaiter::Cancel() {
  const uint64_t one = 1;
  // It fails only where the counter is full, when the event is readable anyway.
  [[maybe_unused]] const ssize_t written = write(event_.number(), &one, sizeof(one));
}

}  // namespace headgate::postgres
