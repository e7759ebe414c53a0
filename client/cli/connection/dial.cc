#include "client/cli/connection/dial.h"

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "common/freed.h"

namespace headgate::cli {

FileDescriptor Dial(const HostPort& to, absl::Duration timeout) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found) != 0) {
    return {};
  }
  const std::unique_ptr<addrinfo, Freed<freeaddrinfo>> addresses(found);
  const timeval limit = absl::ToTimeval(timeout);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    FileDescriptor opened(socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (!opened.ok()) continue;
    setsockopt(opened.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(opened.number(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(opened.number(), at->ai_addr, at->ai_addrlen) == 0) return opened;
  }
  return {};
}

}  // namespace headgate::cli
