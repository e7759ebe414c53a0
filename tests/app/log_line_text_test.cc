#include "server/app/log_line_text.h"

#include <string>

#include "gtest/gtest.h"

namespace headgate::app {
namespace {

TEST(TextLine, QuotesWhereItMust) {
  EXPECT_EQ(TextLine("an event", {{"a", "plain"}, {"b", "two words"}, {"c", ""}}),
            R"(an event a=plain b="two words" c="")");
  EXPECT_EQ(TextLine("e", {{"a", R"(x"y\z)"}}), R"(e a="x\"y\\z")");
  EXPECT_EQ(TextLine("e", {{"a", "日本"}}), "e a=日本");
}

TEST(TextLine, IsOneLineThatATerminalObeysInNothing) {
  EXPECT_EQ(TextLine("e", {{"a", "one\ntwo\x1b[2J\x7f"}}), R"(e a="one\ntwo\x1b[2J\x7f")");
  EXPECT_EQ(TextLine("e", {{"a", "\u009b2J"}}), R"(e a="\x9b2J")");
  EXPECT_EQ(TextLine("e", {{"a", "one\u2028two\u2029"}}), R"(e a="one\u2028two\u2029")");
  EXPECT_EQ(TextLine("e", {{"a", "b\u202ec\u2066"}}), R"(e a="b\u202ec\u2066")");
}

TEST(TextLine, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(TextLine("e", {{"a", "\xff"}}), R"(e a="\xff")");
  EXPECT_EQ(TextLine("e", {{"a", "\xc2"}}), R"(e a="\xc2")");
}

}  // namespace
}  // namespace headgate::app
