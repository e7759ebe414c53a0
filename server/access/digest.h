// SHA-256, with what OpenSSL would look up each time kept.
//
// Thread-safe.
//
//   if (DigestOf(token) == known) ...

#ifndef HEADGATE_SERVER_ACCESS_DIGEST_H_
#define HEADGATE_SERVER_ACCESS_DIGEST_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace headgate::access {

using Digest = std::array<uint8_t, 32>;

Digest DigestOf(std::string_view text);

}  // namespace headgate::access

#endif  // HEADGATE_SERVER_ACCESS_DIGEST_H_
