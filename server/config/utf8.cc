#include "server/config/utf8.h"

#include <cstdint>

namespace headgate::config {
namespace {

bool IsControl(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

// How many bytes the character at the front has; 0: it is none.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  uint32_t code = first & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : size;
}

}  // namespace

std::optional<BadByte> FindBadByte(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (IsControl(static_cast<unsigned char>(text[i]))) {
      return BadByte{.offset = i, .is_control = true};
    }
    const size_t size = CharacterBytes(text.substr(i));
    if (size == 0) return BadByte{.offset = i};
    i += size;
  }
  return std::nullopt;
}

}  // namespace headgate::config
