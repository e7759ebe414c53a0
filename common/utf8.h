// Where the characters of UTF-8 begin and end. A pure function; thread-safe.
//
//   CharacterBytes("é")     // 2
//   CharacterBytes("\xff")  // 0: it is none

#ifndef HEADGATE_COMMON_UTF8_H_
#define HEADGATE_COMMON_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headgate {

// How many bytes the character at the front of a text that is not empty has; 0: it is none. Neither
// overlong forms nor surrogates are characters.
inline size_t CharacterBytes(std::string_view text) {
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

}  // namespace headgate

#endif  // HEADGATE_COMMON_UTF8_H_
