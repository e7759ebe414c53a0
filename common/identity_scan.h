// The scan below Identity::Parse: where does the text have ':', and are all its bytes allowed?
//
// Two implementations of one contract, tested against each other; IdentityScan is the faster one
// that the platform has. Neither reads outside the text. Thread-compatible. For identity.cc and its
// tests.
//
//   IdentityScan scan(text);  // at least one byte
//   for (size_t base = 0; base < text.size(); base += 64) Use(scan.Colons(base));
//   if (!scan.valid()) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/base/attributes.h"
#include "common/hash.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace headgate::internal {

// A-Z a-z 0-9 _ - . @ / and the separator. From '-' to ':' and from '@' to 'Z' all are allowed.
constexpr bool IsIdentityByte(char c) {
  return (c >= '-' && c <= ':') || (c >= '@' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

class ScalarScan {
 public:
  explicit ScalarScan(std::string_view text) : text_(text) {}

  // Bit i is set if text[base + i] is a ':'; zero beyond the text. To be asked once for each
  // multiple of 64 within the text.
  uint64_t Colons(size_t base) {
    uint64_t colons = 0;
    for (size_t i = 0; i < 64 && base + i < text_.size(); ++i) {
      valid_ &= IsIdentityByte(text_[base + i]);
      colons |= uint64_t{text_[base + i] == ':'} << i;
    }
    return colons;
  }

  // Whether all bytes asked about so far are allowed.
  bool valid() const { return valid_; }

 private:
  std::string_view text_;
  bool valid_ = true;
};

#if defined(__SSE2__)
class Sse2Scan {
 public:
  explicit Sse2Scan(std::string_view text) : data_(text.data()), size_(text.size()) {}

  // Inline in any case, so that what was wrong so far stays in a register.
  ABSL_ATTRIBUTE_ALWAYS_INLINE uint64_t Colons(size_t base) {
    const size_t left = size_ - base;
    if (left >= 64) {
      return Block(base) | Block(base + 16) << 16 | Block(base + 32) << 32 | Block(base + 48) << 48;
    }
    if (size_ < 16) return Short();
    uint64_t colons = 0;
    if (left >= 16) colons = Block(base);
    if (left >= 32) colons |= Block(base + 16) << 16;
    if (left >= 48) colons |= Block(base + 32) << 32;
    if (left % 16 == 0) return colons;
    // The last block ends with the text and looks again at bytes before it, even before `base`.
    const uint64_t last = Block(size_ - 16);
    return colons | (left >= 16 ? last << (left - 16) : last >> (16 - left));
  }

  bool valid() const {
    return short_valid_ && Mask(_mm_cmpeq_epi8(wrong_, _mm_setzero_si128())) == 0xffff;
  }

 private:
  static uint64_t Mask(__m128i bytes) {
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(bytes)));
  }

  // By how much each byte lies outside the range: zero if it lies inside, as an unsigned
  // subtraction that saturates says in one instruction.
  static __m128i Outside(__m128i bytes, char first, char last) {
    return _mm_subs_epu8(_mm_sub_epi8(bytes, _mm_set1_epi8(first)),
                         _mm_set1_epi8(static_cast<char>(last - first)));
  }

  // Zero for each byte that is in one of IsIdentityByte's ranges.
  static __m128i Wrong(__m128i bytes) {
    return _mm_min_epu8(
        _mm_min_epu8(Outside(bytes, '-', ':'), Outside(bytes, '@', 'Z')),
        _mm_min_epu8(Outside(bytes, 'a', 'z'), _mm_xor_si128(bytes, _mm_set1_epi8('_'))));
  }

  uint64_t Block(size_t at) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data_ + at));
    wrong_ = _mm_or_si128(wrong_, Wrong(bytes));
    return Mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')));
  }

  // A text of 1 to 15 bytes, by loads that overlap instead of reaching past its end. The bytes of
  // the register beyond the text become zero, which is not allowed, so these are not held against
  // it.
  uint64_t Short() {
    uint64_t low = 0;
    uint64_t high = 0;
    if (size_ >= 8) {
      low = LoadWord<uint64_t>(data_);
      // In two steps: at size 8 nothing may remain, and a shift by 64 is undefined.
      high = LoadWord<uint64_t>(data_ + size_ - 8) >> 8 >> (8 * (15 - size_));
    } else if (size_ >= 4) {
      low = LoadWord<uint32_t>(data_) | LoadWord<uint32_t>(data_ + size_ - 4) << (8 * (size_ - 4));
    } else {
      low = LoadWord<uint8_t>(data_) | LoadWord<uint8_t>(data_ + size_ / 2) << (8 * (size_ / 2)) |
            LoadWord<uint8_t>(data_ + size_ - 1) << (8 * (size_ - 1));
    }
    const __m128i bytes = _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
    const uint64_t right = Mask(_mm_cmpeq_epi8(Wrong(bytes), _mm_setzero_si128()));
    short_valid_ = (~right & ((uint64_t{1} << size_) - 1)) == 0;
    return Mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')));
  }

  const char* data_;
  size_t size_;
  __m128i wrong_ = _mm_setzero_si128();
  bool short_valid_ = true;
};
using IdentityScan = Sse2Scan;
#else
using IdentityScan = ScalarScan;
#endif

}  // namespace headgate::internal
