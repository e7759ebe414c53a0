// SHA-256, with what OpenSSL would look up each time kept.
//
// Thread-safe.
//
//   if (DigestOf(token) == known) ...

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headgate::access {

using Digest = std::array<uint8_t, 32>;

Digest DigestOf(std::string_view text);

}  // namespace headgate::access
