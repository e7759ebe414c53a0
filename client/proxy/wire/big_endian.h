// Numbers as PostgreSQL's protocol has them: big-endian.
//
// Pure functions. The caller has made sure that there are enough bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headgate::proxy {

inline uint32_t ReadUint32(std::string_view bytes, size_t at = 0) {
  const auto byte = [&](size_t i) { return uint32_t{static_cast<uint8_t>(bytes[at + i])}; };
  return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}

inline void AppendUint32(uint32_t number, std::string& to) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>(number >> shift));
}

}  // namespace headgate::proxy
