#include "common/utf8.h"

#include <array>
#include <utility>

#include "absl/strings/str_format.h"

namespace headgate {
namespace {

void AppendEscape(char32_t code, std::string& out) {
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      if (code < 0x100) {
        absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned>(code));
      } else {
        absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(code));
      }
  }
}

bool IsControl(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

}  // namespace

bool IsHarmful(char32_t code) {
  using Range = std::pair<char32_t, char32_t>;
  constexpr std::array<Range, 9> kRanges = {{
      {0x00, 0x1f},        // C0
      {0x7f, 0x9f},        // DEL and C1, which has a control sequence introducer of its own
      {0x061c, 0x061c},    // direction marks
      {0x200b, 0x200f},    // zero width, and more direction marks
      {0x2028, 0x202e},    // line separators, direction embeddings and overrides
      {0x2060, 0x206f},    // invisible operators, direction isolates
      {0xfeff, 0xfeff},    // byte order mark
      {0xfff9, 0xfffb},    // interlinear annotations
      {0xe0000, 0xe007f},  // tags
  }};
  for (const auto& [first, last] : kRanges) {
    if (code >= first && code <= last) return true;
  }
  return false;
}

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

std::string EscapeHarmful(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    if (character.bytes == 0) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (IsHarmful(character.code)) {
      AppendEscape(character.code, out);
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

}  // namespace headgate
