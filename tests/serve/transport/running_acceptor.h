// An acceptor that runs, and keeps what it accepts; and callers of it.
//
//   RunningAcceptor running(2);
//   const FileDescriptor caller = Caller();
//   Connect(caller, running.acceptor().port());
//   ASSERT_TRUE(WaitUntil([&] { return running.kept() == 1; }));

#pragma once

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "server/serve/transport/acceptor.h"

namespace headgate::transport {

// A caller that connects to a port of this host.
inline FileDescriptor Caller() {
  return FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}
inline void Connect(const FileDescriptor& caller, int port) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<in_port_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // In progress; what becomes of it is seen at the other end.
  (void)connect(caller.number(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
}
// As gRPC names it at the other end.
inline std::string PeerNameOf(const FileDescriptor& caller) {
  sockaddr_in own = {};
  socklen_t size = sizeof(own);
  getsockname(caller.number(), reinterpret_cast<sockaddr*>(&own), &size);
  return absl::StrCat("ipv4:127.0.0.1:", ntohs(own.sin_port));
}
inline bool IsClosed(const FileDescriptor& caller) {
  char byte = 0;
  const ssize_t got = recv(caller.number(), &byte, 1, 0);
  return got == 0 || (got < 0 && (errno == ECONNRESET || errno == ECONNREFUSED));
}

// Keeps what it is given.
class RunningAcceptor {
 public:
  explicit RunningAcceptor(size_t max_open)
      : RunningAcceptor(AcceptorOptions{.max_connections = max_open}) {}
  explicit RunningAcceptor(const AcceptorOptions& options) {
    absl::StatusOr<Listener> listener = Listener::Open("127.0.0.1:0");
    EXPECT_TRUE(listener.ok()) << listener.status();
    acceptor_.emplace(*std::move(listener), options);
    const absl::Status started = acceptor_->Start([this](int /*listener*/, int connection) {
      MutexLock lock(&mutex_);
      kept_.emplace_back(connection);
    });
    EXPECT_TRUE(started.ok()) << started;
  }
  ~RunningAcceptor() { acceptor_->Stop(); }

  Acceptor& acceptor() { return *acceptor_; }
  size_t kept() {
    MutexLock lock(&mutex_);
    return kept_.size();
  }
  // Whatever has come on any of them; how many bytes.
  int64_t ReadAll() {
    MutexLock lock(&mutex_);
    int64_t bytes = 0;
    for (const FileDescriptor& connection : kept_) bytes += Read(connection);
    return bytes;
  }
  // Bytes that whoever came first has received.
  int AckedOfFirst() {
    MutexLock lock(&mutex_);
    int unacknowledged = 0;
    EXPECT_EQ(ioctl(kept_.front().number(), SIOCOUTQ, &unacknowledged), 0);
    return sent_to_first_ - unacknowledged;
  }
  // To whoever came first.
  void AnswerFirst(const std::string& bytes) {
    MutexLock lock(&mutex_);
    const ssize_t sent =
        send(kept_.front().number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    sent_to_first_ += static_cast<int>(std::max<ssize_t>(sent, 0));
  }
  void Drop() {
    MutexLock lock(&mutex_);
    kept_.clear();
  }

 private:
  static int64_t Read(const FileDescriptor& connection) {
    char bytes[4096];
    int64_t all = 0;
    for (;;) {
      const ssize_t some = recv(connection.number(), bytes, sizeof(bytes), 0);
      if (some <= 0) return all;
      all += some;
    }
  }

  Mutex mutex_;
  std::vector<FileDescriptor> kept_ ABSL_GUARDED_BY(mutex_);
  int sent_to_first_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Acceptor> acceptor_;
};

}  // namespace headgate::transport
