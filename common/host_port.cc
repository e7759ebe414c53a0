#include "common/host_port.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace headgate {

bool IsLoopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  in_addr address = {};
  if (host.starts_with("::ffff:")) host.remove_prefix(7);
  constexpr uint32_t kNet = 127;
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 &&
         ntohl(address.s_addr) >> 24 == kNet;
}

std::optional<HostPort> ParseHostPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  const bool brackets = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (!brackets && host.find_first_of(":[]/ ") != std::string_view::npos) return std::nullopt;
  int number = -1;
  const char* const end = port.data() + port.size();
  const auto result = std::from_chars(port.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || number < 0 || number > 65535) {
    return std::nullopt;
  }
  if (brackets) host = host.substr(1, host.size() - 2);
  return HostPort{.host = std::string(host), .port = number};
}

}  // namespace headgate
