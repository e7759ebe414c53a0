#include "client/cli/output/terminal_text.h"

#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

TEST(Escaped, LeavesPrintableTextAlone) {
  EXPECT_EQ(Escaped("budget 'Übersicht' 日本 100 %"), "budget 'Übersicht' 日本 100 %");
}

TEST(Escaped, DisarmsTerminalSequences) {
  EXPECT_EQ(Escaped("\x1b[2Jgone\x07"), "\\x1b[2Jgone\\x07");
  EXPECT_EQ(Escaped("one\nline\r\tonly"), "one\\nline\\r\\tonly");
  EXPECT_EQ(Escaped(std::string_view("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(Escaped("\x7f"), "\\x7f");
}

TEST(Escaped, DisarmsControlsBeyondAscii) {
  EXPECT_EQ(Escaped("\u009b2J"), "\\x9b2J");     // a one-character control sequence introducer
  EXPECT_EQ(Escaped("a\u202eb"), "a\\u202eb");   // turns the direction of what follows
  EXPECT_EQ(Escaped("a\u2066b"), "a\\u2066b");   // isolates a direction
  EXPECT_EQ(Escaped("a\u200bb"), "a\\u200bb");   // looks like "ab"
  EXPECT_EQ(Escaped("\U000e0041"), "\\ue0041");  // an invisible tag
  EXPECT_EQ(Escaped("line\u2028two"), "line\\u2028two");
}

TEST(Escaped, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(Escaped("a\xff"), "a\\xff");
  EXPECT_EQ(Escaped("\xc3"), "\\xc3");                             // cut off
  EXPECT_EQ(Escaped("\xc0\x9b"), "\\xc0\\x9b");                    // overlong, of ESC
  EXPECT_EQ(Escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a surrogate pair
  EXPECT_EQ(Escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
}

TEST(DisplayWidth, CountsTerminalColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("Übung"), 5u);
  EXPECT_EQ(DisplayWidth("日本"), 4u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);  // a combining accent
  EXPECT_EQ(DisplayWidth("\x1b[31mred\x1b[0m"), 3u);
}

TEST(Fitted, CutsAtColumnsAndKeepsColours) {
  EXPECT_EQ(Fitted("abcdef", 3), "abc");
  EXPECT_EQ(Fitted("abc", 3), "abc");
  EXPECT_EQ(Fitted("日本語", 5), "日本");
  EXPECT_EQ(Fitted("\x1b[31mabcdef\x1b[0m", 2), "\x1b[31mab\x1b[0m");
}

TEST(IsUtf8, RefusesWhatNoMessageCanHold) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("Zürich €"));
  EXPECT_FALSE(IsUtf8("\xff"));
  EXPECT_FALSE(IsUtf8("ok\xc3"));
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));  // a surrogate
}

TEST(Squeezed, IsOneLine) { EXPECT_EQ(Squeezed(" a\n\tb  c\td\n"), "a b c d"); }

}  // namespace
}  // namespace headgate::cli
