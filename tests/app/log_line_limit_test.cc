#include "server/app/log_line_limit.h"

#include "gtest/gtest.h"

namespace headgate::app {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(LogLineLimit, AdmitsSomeAtOnceThenSoManyASecondAndSaysHowManyItDidNot) {
  LogLineLimit limit({.at_once = 3, .per_second = 2});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Admit(kSecond), 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(limit.Admit(kSecond), std::nullopt);
  EXPECT_EQ(limit.Admit(kSecond + kSecond / 2), 5);
  EXPECT_EQ(limit.Admit(kSecond + kSecond / 2), std::nullopt);
  EXPECT_EQ(limit.suppressed(), 6);
}

TEST(LogLineLimit, SavesNoMoreThanItAdmitsAtOnce) {
  LogLineLimit limit({.at_once = 2, .per_second = 10});
  EXPECT_EQ(limit.Admit(1000 * kSecond), 0);
  EXPECT_EQ(limit.Admit(2000 * kSecond), 0);
  EXPECT_EQ(limit.Admit(2000 * kSecond), 0);
  EXPECT_EQ(limit.Admit(2000 * kSecond), std::nullopt);
}

TEST(LogLineLimit, DoesNotMindAClockThatLags) {
  LogLineLimit limit({.at_once = 1, .per_second = 1});
  EXPECT_EQ(limit.Admit(10 * kSecond), 0);
  EXPECT_EQ(limit.Admit(5 * kSecond), std::nullopt);
  EXPECT_EQ(limit.Admit(10 * kSecond), std::nullopt);
  EXPECT_EQ(limit.Admit(11 * kSecond), 2);
}

}  // namespace
}  // namespace headgate::app
