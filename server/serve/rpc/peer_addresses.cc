#include "server/serve/rpc/peer_addresses.h"

#include "common/strings.h"

namespace headgate::rpc {
namespace {

// gRPC escapes the brackets of an IPv6 address, and before the name of an interface the '%'.
constexpr std::string_view kOpen = "%5B";
constexpr std::string_view kClose = "%5D";
constexpr std::string_view kZone = "%25";

}  // namespace

std::optional<engine::IpAddress> ParsePeer(std::string_view peer) {
  const bool is_ip = peer.starts_with("ipv4:") || peer.starts_with("ipv6:");
  const size_t port = peer.rfind(':');
  if (!is_ip || port < 5) return std::nullopt;
  std::string_view address = peer.substr(5, port - 5);
  if (address.starts_with(kOpen) && address.ends_with(kClose)) {
    address.remove_prefix(kOpen.size());
    address.remove_suffix(kClose.size());
  } else if (address.starts_with('[') && address.ends_with(']')) {
    address.remove_prefix(1);
    address.remove_suffix(1);
  }
  address = address.substr(0, address.find(kZone));
  const absl::StatusOr<engine::IpAddress> parsed = engine::IpAddress::Parse(address);
  if (!parsed.ok()) return std::nullopt;
  return *parsed;
}

const engine::IpAddress* PeerAddresses::Find(std::string_view peer) {
  const std::string_view host = peer.substr(0, peer.rfind(':'));
  auto found = known_.find(Sv(host));
  if (found == known_.end()) [[unlikely]] {
    if (known_.size() >= kMax) known_.clear();
    found = known_.emplace(host, ParsePeer(peer)).first;
  }
  return found->second.has_value() ? &*found->second : nullptr;
}

}  // namespace headgate::rpc
