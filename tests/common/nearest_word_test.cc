#include "common/nearest_word.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace headgate {
namespace {

TEST(NearestWord, IsTheOneThatWasMeant) {
  const std::vector<std::string> commands = {"check", "status", "store", "rules", "replay", "run"};
  const auto nearest = [&](std::string_view word) {
    const std::string found = NearestWord(word, commands);
    return found.empty() ? "none" : found;
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
  EXPECT_EQ(NearestWord("status", {}), "");
}

TEST(NearestWord, IsFewLettersAway) {
  EXPECT_EQ(NearestWord("rte", {"name", "rate", "burst"}), "rate");
  EXPECT_EQ(NearestWord("RATE", {"name", "rate"}), "rate");
  EXPECT_EQ(NearestWord("max_concurency", {"max_cost", "max_concurrency"}), "max_concurrency");
  EXPECT_EQ(NearestWord("rulse", {"rules"}), "rules");
  EXPECT_EQ(NearestWord("arte", {"rate"}), "rate");
  EXPECT_EQ(NearestWord("colour", {"name", "rate"}), "");
  EXPECT_EQ(NearestWord("c", {"b"}), "");
  EXPECT_EQ(NearestWord("", {"b"}), "");
}

TEST(NearestWord, VeryLongNamesAreNotCompared) {
  EXPECT_EQ(NearestWord(std::string(100'000, 'a'), {std::string(100'000, 'a')}), "");
}

}  // namespace
}  // namespace headgate
