#include "common/ip_text.h"

#include <arpa/inet.h>

#include <algorithm>

namespace headgate {

IpFamily ParseIp(std::string_view text, uint8_t (&bytes)[16]) {
  // inet_pton wants a terminator, and would take a zero byte within the text for it.
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof(terminated) || text.find('\0') != std::string_view::npos) {
    return IpFamily::kNone;
  }
  std::copy(text.begin(), text.end(), terminated);
  terminated[text.size()] = '\0';
  if (inet_pton(AF_INET, terminated, bytes) == 1) return IpFamily::kV4;
  if (inet_pton(AF_INET6, terminated, bytes) == 1) return IpFamily::kV6;
  return IpFamily::kNone;
}

std::string FormatIp(IpFamily family, const uint8_t (&bytes)[16]) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(family == IpFamily::kV4 ? AF_INET : AF_INET6, bytes, text, sizeof(text));
}

}  // namespace headgate
