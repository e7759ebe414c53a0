// IpPrefix::Parse: what it takes prints and parses back the same, contains its own address, and
// agrees with a mask applied bit by bit.
#include <arpa/inet.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/decide/engine/ip_prefix.h"

namespace {

using headgate::engine::IpAddress;
using headgate::engine::IpPrefix;

void Require(bool condition) {
  if (!condition) std::abort();
}

bool Bit(const uint8_t* bytes, int i) { return (bytes[i / 8] >> (7 - i % 8) & 1) != 0; }

void RequireMasked(const IpPrefix& prefix) {
  uint8_t bytes[16] = {};
  const int family = prefix.is_v4() ? AF_INET : AF_INET6;
  Require(inet_pton(family, prefix.address().ToString().c_str(), bytes) == 1);
  for (int i = prefix.length(); i < prefix.address().bits(); ++i) Require(!Bit(bytes, i));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<IpAddress> address = IpAddress::Parse(text);
  const absl::StatusOr<IpPrefix> prefix = IpPrefix::Parse(text);
  if (address.ok()) {
    Require(prefix.ok() && prefix->length() == address->bits());
    Require(*IpAddress::Parse(address->ToString()) == *address);
    for (int length = 0; length <= address->bits(); ++length) {
      const IpPrefix net = IpPrefix::Of(*address, length);
      RequireMasked(net);
      Require(net.Contains(*address));
      Require(*IpPrefix::Parse(net.ToString()) == net);
    }
  }
  if (!prefix.ok()) {
    Require(prefix.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  RequireMasked(*prefix);
  Require(prefix->Contains(prefix->address()));
  Require(IpPrefix::Of(prefix->address(), prefix->length()) == *prefix);
  Require(IpPrefix::Parse(prefix->ToString())->Hash(1) == prefix->Hash(1));
  return 0;
}
