#include "server/serve/transport/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/freed.h"
#include "common/host_port.h"

namespace headgate::transport {
namespace {

// A port that the kernel picks for one of a name's addresses may be taken on another.
constexpr int kMaxTries = 16;

using Addresses = std::unique_ptr<addrinfo, Freed<freeaddrinfo>>;

absl::Status Failed(const std::string& address, const char* reason) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on '", absl::Utf8SafeCEscape(address), "': ", reason));
}

absl::StatusOr<Addresses> Resolve(const std::string& address, const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return Failed(address, gai_strerror(error));
  return Addresses(found);
}

void SetPort(sockaddr& address, int port) {
  const in_port_t bytes = htons(static_cast<in_port_t>(port));
  if (address.sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = bytes;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = bytes;
  }
}

enum class Family { kAsGiven, kBoth };

// Nothing, and errno, where the host does not have this address or it is taken.
FileDescriptor OpenSocket(const sockaddr& address, socklen_t size, Family family) {
  FileDescriptor opened(
      socket(address.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!opened.ok()) return opened;
  const int on = 1;
  const int only_v6 = family == Family::kBoth ? 0 : 1;
  // Without it a restart would have to wait until the last connections are forgotten.
  setsockopt(opened.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.sa_family == AF_INET6) {
    setsockopt(opened.number(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
  }
  if (bind(opened.number(), &address, size) != 0 || listen(opened.number(), SOMAXCONN) != 0) {
    return FileDescriptor();
  }
  return opened;
}

bool IsEveryAddress(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

FileDescriptor OpenEveryAddress(int port) {
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  SetPort(reinterpret_cast<sockaddr&>(address), port);
  return OpenSocket(reinterpret_cast<sockaddr&>(address), sizeof(address), Family::kBoth);
}

// All sockets on one port, 0 being any. Empty, and errno, if it is taken on one of the addresses,
// or none of them is of this host.
std::vector<FileDescriptor> OpenAll(const addrinfo* addresses, int port) {
  std::vector<FileDescriptor> sockets;
  int error = 0;
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    SetPort(*at->ai_addr, sockets.empty() ? port : PortOfSocket(sockets.front()));
    FileDescriptor socket = OpenSocket(*at->ai_addr, at->ai_addrlen, Family::kAsGiven);
    if (socket.ok()) {
      sockets.push_back(std::move(socket));
      continue;
    }
    error = errno;
    if (error == EADDRINUSE || error == EACCES) {
      sockets.clear();
      break;
    }
  }
  errno = error;
  return sockets;
}

}  // namespace

int PortOfSocket(const FileDescriptor& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

absl::StatusOr<Listener> Listener::Open(const std::string& address) {
  const std::optional<HostPort> to = ParseHostPort(address);
  if (!to.has_value()) {
    return Failed(address, absl::StrCat("it must be ", kHostPortForm).c_str());
  }
  std::vector<FileDescriptor> sockets;
  if (IsEveryAddress(to->host)) {
    FileDescriptor both = OpenEveryAddress(to->port);
    if (both.ok()) {
      sockets.push_back(std::move(both));
    } else if (errno == EADDRINUSE || errno == EACCES) {
      return Failed(address, std::strerror(errno));
    }  // else the host has no IPv6
  }
  if (sockets.empty()) {
    const absl::StatusOr<Addresses> addresses = Resolve(address, to->host);
    if (!addresses.ok()) return addresses.status();
    for (int tries = 0; tries < kMaxTries && sockets.empty(); ++tries) {
      sockets = OpenAll(addresses->get(), to->port);
      if (sockets.empty() && (to->port != 0 || errno != EADDRINUSE)) break;
    }
  }
  if (sockets.empty()) return Failed(address, std::strerror(errno));
  const int bound = PortOfSocket(sockets.front());
  return Listener(std::move(sockets), bound);
}

}  // namespace headgate::transport
