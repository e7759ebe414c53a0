// Servers that say nothing, and one that nobody can even reach.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate {

// Accepts connections, by the kernel, and never says anything.
class SilentServer {
 public:
  explicit SilentServer(int backlog = 16) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address_);
    EXPECT_EQ(bind(fds_[0], reinterpret_cast<const sockaddr*>(&address_), length), 0);
    EXPECT_EQ(listen(fds_[0], backlog), 0);
    EXPECT_EQ(getsockname(fds_[0], reinterpret_cast<sockaddr*>(&address_), &length), 0);
  }
  ~SilentServer() {
    for (const int fd : fds_) close(fd);
  }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  int port() const { return ntohs(address_.sin_port); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port()); }
  // Whether somebody has connected. The kernel did that: nobody accepts here.
  bool connected() const {
    pollfd event = {.fd = fds_[0], .events = POLLIN, .revents = 0};
    return poll(&event, 1, 0) == 1;
  }

 protected:
  sockaddr_in address_ = {};
  std::vector<int> fds_ = {socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

// Has no place for another connection: whoever comes gets no answer at all, as from an address that
// swallows packets.
class BlackHole : public SilentServer {
 public:
  BlackHole() : SilentServer(/*backlog=*/0) {
    for (int i = 0; i < 4; ++i) {
      fds_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      connect(fds_.back(), reinterpret_cast<const sockaddr*>(&address_), sizeof(address_));
    }
  }
};

}  // namespace headgate
