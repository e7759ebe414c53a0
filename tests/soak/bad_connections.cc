#include "tests/soak/bad_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"

namespace headgate::soak {
namespace {

constexpr size_t kMaxOpen = 12;
constexpr std::string_view kGreeting("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
// An empty SETTINGS frame: with it the connection is one of HTTP/2, on which nothing ever comes.
constexpr std::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);

}  // namespace

BadConnections::~BadConnections() {
  for (const int fd : open_) Reset(fd);
}

void BadConnections::Reset(int fd) const {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close(fd);
}

void BadConnections::OpenOnce() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in server = {};
  server.sin_family = AF_INET;
  server.sin_port =
      htons(static_cast<uint16_t>(ParseHostPort(state_.address).value_or(HostPort()).port));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof(server)) != 0) {
    state_.calls.Require(false, absl::StrCat("no connection: ", strerror(errno)));
    close(fd);
    return;
  }
  const std::string greeted = absl::StrCat(std::string(kGreeting), std::string(kSettings));
  const std::string sent[] = {"", std::string(kGreeting.substr(0, 11)), greeted,
                              "GET / HTTP/1.1\r\n\r\n", greeted + std::string(64, '\xff')};
  const std::string& what = sent[opened_++ % std::size(sent)];
  // It may have hung up already.
  [[maybe_unused]] const ssize_t written = send(fd, what.data(), what.size(), MSG_NOSIGNAL);
  open_.push_back(fd);
  if (open_.size() <= kMaxOpen) return;
  Reset(open_.front());
  open_.pop_front();
}

}  // namespace headgate::soak
