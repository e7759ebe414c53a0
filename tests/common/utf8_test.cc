#include "common/utf8.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace headgate {
namespace {

TEST(DecodeUtf8, KnowsCharactersOfEachLength) {
  EXPECT_EQ(DecodeUtf8("a").code, U'a');
  EXPECT_EQ(DecodeUtf8("éa").code, U'é');
  EXPECT_EQ(DecodeUtf8("\u202e").code, U'\u202e');
  EXPECT_EQ(DecodeUtf8("\U0001f418").code, U'\U0001f418');
  EXPECT_EQ(DecodeUtf8("\U0001f418").bytes, 4u);
  EXPECT_EQ(DecodeUtf8("\U0010ffff").bytes, 4u);
}

TEST(DecodeUtf8, RefusesWhatIsNone) {
  for (const char* text : {"\xff", "\xc3", "\xc0\x9b", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\x80"}) {
    EXPECT_EQ(DecodeUtf8(text).bytes, 0u) << text;
    EXPECT_EQ(CharacterBytes(text), 0u) << text;
  }
}

TEST(IsHarmful, KnowsControlsSeparatorsAndDirections) {
  for (const char32_t code : {U'\0', U'\n', U'\x7f', U'\x80', U'\x9f', U'\u2028', U'\u2029',
                              U'\u202e', U'\u2066', U'\u200b', U'\ufeff', U'\U000e0041'}) {
    EXPECT_TRUE(IsHarmful(code)) << static_cast<uint32_t>(code);
  }
  for (const char32_t code : {U' ', U'~', U'\xa0', U'é', U'日', U'\U0001f418'}) {
    EXPECT_FALSE(IsHarmful(code)) << static_cast<uint32_t>(code);
  }
}

}  // namespace
}  // namespace headgate
