// The form of an address: host:port, or [address]:port for IPv6. Nothing is looked up.
//
// A pure function; thread-safe.
//
//   ParseHostPort("127.0.0.1:8081")->port  // 8081
//   ParseHostPort("[::1]:8081")->host      // "::1"
//   ParseHostPort("::1:8081")              // nullopt: where does the address end?

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headgate {

// What an address must be, for errors.
inline constexpr char kHostPortForm[] =
    "host:port such as 127.0.0.1:8081 or [::1]:8081, port 0 to 65535";

struct HostPort {
  std::string host;  // without brackets
  int port = 0;      // 0 to 65535
};

// Whether only this machine can connect there. A name other than localhost may be anything.
bool IsLoopback(std::string_view host);

// Absent if the text has another form.
std::optional<HostPort> ParseHostPort(std::string_view address);

}  // namespace headgate
