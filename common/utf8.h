// Characters of UTF-8, and those of them that are not to reach a terminal or a log as they are.
//
// Pure functions; thread-safe.
//
//   CharacterBytes("é")     // 2
//   CharacterBytes("\xff")  // 0: it is none
//   EscapeHarmful("a\x1b")  // "a\\x1b"

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headgate {

struct Utf8Character {
  char32_t code = 0;
  size_t bytes = 0;  // 0: it is none
};

// The character at the front of a text that is not empty. Neither overlong forms nor surrogates are
// characters.
inline Utf8Character DecodeUtf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {.code = first, .bytes = 1};
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  char32_t code = first & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (overlong || surrogate || code > 0x10ffff) return {};
  return {.code = code, .bytes = size};
}

// How many bytes that character has; 0: it is none.
inline size_t CharacterBytes(std::string_view text) { return DecodeUtf8(text).bytes; }

// Whether it moves a cursor, ends a line, or reorders or hides what is near it: controls,
// separators of lines, marks and overrides of direction, characters of no width.
bool IsHarmful(char32_t code);

struct BadByte {
  size_t offset = 0;
  bool is_control = false;  // a control character; else no valid UTF-8
};

// The first byte that is not printable UTF-8, tab or line break. A byte order mark may stand first.
std::optional<BadByte> FindBadByte(std::string_view text);

// With \n, \x1b or \u202e for what is harmful or no UTF-8. All else stays as it is.
std::string EscapeHarmful(std::string_view text);

}  // namespace headgate
