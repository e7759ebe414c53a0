// A client that says exactly what a test wants, when it wants.
//
//   RawSocket socket(port);
//   socket.SendAll("GET /healthz HTTP/1.1\r\n\r\n");
//   EXPECT_THAT(socket.ReceiveAll(), HasSubstr("200"));

#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gtest/gtest.h"

namespace headgate {

class RawSocket {
 public:
  explicit RawSocket(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    // What is said goes out at once, and not when what was said before has been acknowledged.
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket() { close(fd_); }

  int fd() const { return fd_; }

  // Waits until all of it is on its way; whether it is.
  bool SendAll(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // All until the other side ends it.
  std::string ReceiveAll() const {
    std::string all;
    std::array<char, 4096> some;
    for (;;) {
      const ssize_t size = recv(fd_, some.data(), some.size(), 0);
      if (size <= 0) return all;
      all.append(some.data(), static_cast<size_t>(size));
    }
  }
  // Whether the other side has ended it by now.
  bool IsEnded() const {
    pollfd ready = {.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 0) != 1) return false;
    char byte;
    return recv(fd_, &byte, 1, MSG_PEEK) <= 0;
  }

 private:
  int fd_;
};

}  // namespace headgate
