// The callers' addresses as the server sees them, from what gRPC calls a peer:
// "ipv4:10.0.0.1:4711", "ipv6:%5B::1%5D:4711", "unix:/run/headgate.sock".
//
// Those seen lately are kept, in fixed memory: they hardly ever change. Thread-compatible.
//
//   const engine::IpAddress* address = peers.Find(context.peer());  // null: not known

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "server/decide/engine/ip_prefix.h"

namespace headgate::rpc {

// Empty where the peer has no IP address.
std::optional<engine::IpAddress> ParsePeer(std::string_view peer);

class PeerAddresses {
 public:
  // Stays valid until the next call.
  const engine::IpAddress* Find(std::string_view peer);

 private:
  static constexpr size_t kMax = 1024;

  // By the peer without its port.
  absl::flat_hash_map<std::string, std::optional<engine::IpAddress>> known_;
};

}  // namespace headgate::rpc
