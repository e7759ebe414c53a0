// IP addresses as text and as bytes, by the C library's own parser: the one thing about networks
// that a decision needs, kept out of the engine's room together with its system headers. Pure
// functions.
//
//   uint8_t bytes[16];
//   if (ParseIp("10.0.0.1", bytes) == IpFamily::kV4) ...  // the first four bytes are set
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headgate {

enum class IpFamily { kNone, kV4, kV6 };

// kNone if the text is anything but an address. In network byte order.
IpFamily ParseIp(std::string_view text, uint8_t (&bytes)[16]);

// Requires a family other than kNone.
std::string FormatIp(IpFamily family, const uint8_t (&bytes)[16]);

}  // namespace headgate
