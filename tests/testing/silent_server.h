// A server that takes connections and says nothing.
#ifndef HEADGATE_TESTS_TESTING_SILENT_SERVER_H_
#define HEADGATE_TESTS_TESTING_SILENT_SERVER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate {

class SilentServer {
 public:
  SilentServer() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { close(fd_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  // Whether somebody has connected. The kernel did that: nobody accepts here.
  bool connected() const {
    pollfd event = {.fd = fd_, .events = POLLIN, .revents = 0};
    return poll(&event, 1, 0) == 1;
  }

 private:
  const int fd_;
  int port_ = 0;
};

}  // namespace headgate

#endif  // HEADGATE_TESTS_TESTING_SILENT_SERVER_H_
