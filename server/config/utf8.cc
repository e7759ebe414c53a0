#include "server/config/utf8.h"

#include "common/utf8.h"

namespace headgate::config {
namespace {

bool IsControl(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
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
