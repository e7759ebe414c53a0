// Listener: the sockets that one address is listened on. A name may stand for several of them.
//
// 0.0.0.0 and [::] both mean every address of the host, of IPv6 and IPv4 alike, where the host has
// both. Nobody else can listen on the same port: two servers there would each have the whole
// budget to give away.
//
// Immutable but for Close; thread-compatible.
//
//   absl::StatusOr<Listener> listener = Listener::Open("localhost:0");
//   if (!listener.ok()) return listener.status();
//   ... listener->port(), listener->sockets() ...

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"

namespace headgate::transport {

// Of a socket that is bound; 0 if it is not.
int PortOfSocket(const FileDescriptor& socket);

class Listener {
 public:
  // Of "host:port" (common/host_port.h); port 0 picks a free one, the same for all its sockets.
  // Unavailable: the address is taken, not of this host, or not an address at all.
  static absl::StatusOr<Listener> Open(const std::string& address);

  int port() const { return port_; }
  // They do not block.
  const std::vector<FileDescriptor>& sockets() const { return sockets_; }
  void Close() { sockets_.clear(); }

 private:
  Listener(std::vector<FileDescriptor> sockets, int port)
      : sockets_(std::move(sockets)), port_(port) {}

  std::vector<FileDescriptor> sockets_;
  int port_;
};

}  // namespace headgate::transport
