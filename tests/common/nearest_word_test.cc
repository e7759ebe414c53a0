#include "common/nearest_word.h"

#include "gtest/gtest.h"

namespace headgate {
namespace {

TEST(NearestWord, IsTheOneThatWasMeant) {
  const std::vector<std::string> commands = {"check", "status", "store", "rules", "replay", "run"};
  const auto nearest = [&](std::string_view word) {
    return NearestWord(word, commands).value_or("none");
  };
  EXPECT_EQ(nearest("stauts"), "status");  // two letters swapped
  EXPECT_EQ(nearest("statuss"), "status");
  EXPECT_EQ(nearest("chek"), "check");
  EXPECT_EQ(nearest("rulez"), "rules");
  EXPECT_EQ(nearest("status"), "status");
  EXPECT_EQ(nearest("frobnicate"), "none");
  EXPECT_EQ(nearest("st"), "none");
  EXPECT_EQ(nearest(""), "none");
  EXPECT_EQ(nearest(std::string(1'000'000, 's')), "none");
  EXPECT_FALSE(NearestWord("status", {}).has_value());
}

}  // namespace
}  // namespace headgate
