// SocketWaiter: the one place where this room blocks. It waits for a file descriptor, until a
// deadline, and can be cancelled.
//
// Thread-compatible, but Cancel() may be called from any thread.
//
//   absl::Status status = waiter.Wait(socket, POLLIN, deadline);
#pragma once

#include "absl/status/status.h"
#include "common/file_descriptor.h"
#include "server/observe/postgres/deadline.h"

namespace headgate::postgres {

class SocketWaiter {
 public:
  SocketWaiter();
  SocketWaiter(const SocketWaiter&) = delete;
  SocketWaiter& operator=(const SocketWaiter&) = delete;

  // OK when one of `events` (POLLIN, POLLOUT) or an error is on `fd`. DeadlineExceeded, or
  // Cancelled for good after Cancel().
  absl::Status Wait(int fd, short events, const Deadline& deadline) const;

  // Thread-safe.
  void Cancel();

 private:
  const FileDescriptor event_;  // readable once cancelled
};

}  // namespace headgate::postgres
