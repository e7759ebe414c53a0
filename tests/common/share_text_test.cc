#include "common/share_text.h"

#include <cmath>

#include "gtest/gtest.h"

namespace headgate {
namespace {

TEST(ShareText, IsAllOnlyForAll) {
  EXPECT_EQ(ShareText(1), "100 %");
  EXPECT_EQ(ShareText(0.999999), "99.9999 %");
  EXPECT_EQ(ShareText(0.99999999), "99.999999 %");
  EXPECT_EQ(ShareText(1 - 1e-12).substr(0, 8), "99.99999");
  EXPECT_NE(ShareText(std::nextafter(1.0, 0.0)), "100 %");
}

TEST(ShareText, IsNothingOnlyForNothing) {
  EXPECT_EQ(ShareText(0), "0 %");
  EXPECT_EQ(ShareText(0.000001), "0.0001 %");
  EXPECT_NE(ShareText(5e-324), "0 %");
}

TEST(ShareText, HasNoMoreDigitsThanItTakes) {
  EXPECT_EQ(ShareText(0.8), "80 %");
  EXPECT_EQ(ShareText(0.25), "25 %");
  EXPECT_EQ(ShareText(0.07), "7 %");
  EXPECT_EQ(ShareText(1.0 / 3), "33.3333 %");
}

TEST(RoundShareText, IsAllOnlyForAllAndNothingOnlyForNothing) {
  EXPECT_EQ(RoundShareText(0), "0 %");
  EXPECT_EQ(RoundShareText(0.0001), "<1 %");
  EXPECT_EQ(RoundShareText(0.01), "1 %");
  EXPECT_EQ(RoundShareText(0.125), "13 %");
  EXPECT_EQ(RoundShareText(0.99), "99 %");
  EXPECT_EQ(RoundShareText(0.996), ">99 %");
  EXPECT_EQ(RoundShareText(std::nextafter(1.0, 0.0)), ">99 %");
  EXPECT_EQ(RoundShareText(1), "100 %");
  EXPECT_EQ(RoundShareText(2.5), "250 %");
}

}  // namespace
}  // namespace headgate
