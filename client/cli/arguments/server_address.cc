#include "client/cli/arguments/server_address.h"

#include <initializer_list>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"

namespace headgate::cli {

std::string WithPort(const std::string& address) {
  const bool bare = address.find(':') == std::string::npos || address.back() == ']';
  return bare ? absl::StrCat(address, ":8081") : address;
}

bool IsAddress(const std::string& address) {
  for (const std::string_view scheme :
       {"dns:", "ipv4:", "ipv6:", "unix:", "unix-abstract:", "vsock:", "xds:"}) {
    if (std::string_view(address).starts_with(scheme)) return address.size() > scheme.size();
  }
  if (address.empty()) return false;
  const std::optional<HostPort> to = ParseHostPort(WithPort(address));
  return to.has_value() && to->port > 0;
}

}  // namespace headgate::cli
