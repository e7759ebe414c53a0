// Rankings: pages of sums that were put in order once.

#include "server/remember/throttle_log/rankings.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate::throttle_log {
namespace {

std::vector<Sum> SumsFrom(int first, int count) {
  std::vector<Sum> sums(count);
  for (int i = 0; i < count; ++i) sums[i].key.identity = absl::StrCat("job-", first + i);
  return sums;
}
Now AtSecond(int64_t second) { return {.monotonic_ns = second * 1'000'000'000, .wall_ns = 0}; }

TEST(Rankings, GiveOnePageAfterTheOther) {
  Rankings rankings({});
  const uint64_t number = rankings.Keep("q", SumsFrom(0, 5), AtSecond(0));
  const auto first = rankings.Page({number, 0}, "q", 3, AtSecond(1));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->sums.size(), 3);
  EXPECT_TRUE(first->more);
  const auto second = rankings.Page({number, 3}, "q", 3, AtSecond(1));
  ASSERT_TRUE(second.has_value());
  ASSERT_EQ(second->sums.size(), 2);
  EXPECT_EQ(second->sums[0].key.identity, "job-3");
  EXPECT_FALSE(second->more);
}

TEST(Rankings, AnswerNoOtherQuestion) {
  Rankings rankings({});
  const uint64_t number = rankings.Keep("mine", SumsFrom(0, 5), AtSecond(0));
  EXPECT_FALSE(rankings.Page({number, 0}, "yours", 3, AtSecond(0)).has_value());
  EXPECT_FALSE(rankings.Page({number + 1, 0}, "mine", 3, AtSecond(0)).has_value());
  EXPECT_FALSE(rankings.Page({number, 5}, "mine", 3, AtSecond(0)).has_value());
}

TEST(Rankings, AreKeptForAMinuteAfterTheLastPage) {
  Rankings rankings({});
  const uint64_t number = rankings.Keep("q", SumsFrom(0, 5), AtSecond(0));
  EXPECT_TRUE(rankings.Page({number, 0}, "q", 1, AtSecond(59)).has_value());
  EXPECT_TRUE(rankings.Page({number, 1}, "q", 1, AtSecond(118)).has_value());
  EXPECT_FALSE(rankings.Page({number, 2}, "q", 1, AtSecond(179)).has_value());
}

TEST(Rankings, HoldSoManyGroupsAndNoMore) {
  Rankings rankings({.most_groups = 10, .most_rankings = 3});
  EXPECT_EQ(rankings.Keep("large", SumsFrom(0, 11), AtSecond(0)), 0);
  const uint64_t a = rankings.Keep("a", SumsFrom(0, 6), AtSecond(0));
  const uint64_t b = rankings.Keep("b", SumsFrom(0, 6), AtSecond(0));
  EXPECT_FALSE(rankings.Page({a, 0}, "a", 1, AtSecond(0)).has_value());
  EXPECT_TRUE(rankings.Page({b, 0}, "b", 1, AtSecond(0)).has_value());
  for (int i = 0; i < 3; ++i) rankings.Keep("c", SumsFrom(0, 1), AtSecond(0));
  EXPECT_FALSE(rankings.Page({b, 0}, "b", 1, AtSecond(0)).has_value());
}

TEST(Rankings, CountWhatTheyHoldUntilItIsDropped) {
  HeldBytes held;
  {
    Rankings rankings({.most_groups = 10, .held = &held});
    rankings.Keep("a", SumsFrom(0, 6), AtSecond(0));
    const int64_t of_six = held.bytes();
    EXPECT_GE(of_six, static_cast<int64_t>(6 * sizeof(Sum)));
    rankings.Keep("b", SumsFrom(0, 6), AtSecond(0));
    EXPECT_EQ(held.bytes(), of_six);
    EXPECT_FALSE(rankings.Page({1, 0}, "a", 1, AtSecond(100)).has_value());
    EXPECT_EQ(held.bytes(), 0);
    rankings.Keep("c", SumsFrom(0, 6), AtSecond(100));
  }
  EXPECT_EQ(held.bytes(), 0);
}

}  // namespace
}  // namespace headgate::throttle_log
