// A client that says exactly what a test wants, when it wants.
//
//   RawSocket socket(port);
//   socket.Send("GET /healthz HTTP/1.1\r\n\r\n");
//   EXPECT_THAT(socket.ReceiveAll(), HasSubstr("200"));

#ifndef HEADGATE_TESTS_WEB_RAW_SOCKET_H_
#define HEADGATE_TESTS_WEB_RAW_SOCKET_H_

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace headgate::web {

class RawSocket {
 public:
  explicit RawSocket(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  ~RawSocket() { close(fd_); }

  // Whether it could be sent.
  bool Send(std::string_view text) {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // All until the other side ends it.
  std::string ReceiveAll() {
    std::string all;
    std::array<char, 4096> some;
    for (;;) {
      const ssize_t size = recv(fd_, some.data(), some.size(), 0);
      if (size <= 0) return all;
      all.append(some.data(), static_cast<size_t>(size));
    }
  }
  // Whether the other side has ended it by now.
  bool IsEnded() {
    pollfd ready = {.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 0) != 1) return false;
    char byte;
    return recv(fd_, &byte, 1, MSG_PEEK) <= 0;
  }

 private:
  const int fd_;
};

}  // namespace headgate::web

#endif  // HEADGATE_TESTS_WEB_RAW_SOCKET_H_
