#include "server/govern/config/suggest.h"

#include <string>

#include "gtest/gtest.h"

namespace headgate::config {
namespace {

TEST(Suggest, ListsWhatIsKnownWhereNothingIsNear) {
  EXPECT_EQ(Suggestion("x", {"rate", "burst"}), "; known: 'rate', 'burst'");
  EXPECT_EQ(Suggestion("x", {}), "");
}

TEST(Suggest, QuotedTextIsOneShortPrintableLine) {
  EXPECT_EQ(Quoted("a\nb\x01"), "'a\\nb\\x01'");
  EXPECT_EQ(Quoted("Grüße"), "'Grüße'");
  EXPECT_EQ(Quoted(std::string(61, 'a')), "'" + std::string(60, 'a') + "...'");
  EXPECT_EQ(Quoted(std::string(59, 'a') + "ü"), "'" + std::string(59, 'a') + "...'");
}

TEST(Suggest, Alternatives) {
  EXPECT_EQ(Alternatives({"a"}), "a");
  EXPECT_EQ(Alternatives({"a", "b"}), "a or b");
  EXPECT_EQ(Alternatives({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace headgate::config
