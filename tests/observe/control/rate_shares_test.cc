#include "server/observe/control/rate_shares.h"

#include <numeric>

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

TEST(RateShares, ThoseThatAskShareByWeight) {
  const auto shares = DivideByWeight({{.weight = 3, .asks = true}, {.weight = 1, .asks = true}});
  EXPECT_DOUBLE_EQ(shares[0], 0.75);
  EXPECT_DOUBLE_EQ(shares[1], 0.25);
}

TEST(RateShares, OneThatDoesNotAskIsToldWhatItWouldGet) {
  const auto shares = DivideByWeight({{.weight = 3, .asks = true}, {.weight = 1, .asks = false}});
  EXPECT_DOUBLE_EQ(shares[0], 1);
  EXPECT_DOUBLE_EQ(shares[1], 0.25);
}

TEST(RateShares, WhatOneDoesNotUseGoesToTheOthers) {
  const auto shares = DivideByWeight(
      {{.asks = true, .had = 0.5, .used = 0.1}, {.asks = true, .had = 0.5, .used = 0.5}});
  EXPECT_DOUBLE_EQ(shares[0], 0.2);
  EXPECT_DOUBLE_EQ(shares[1], 0.8);
}

TEST(RateShares, AndComesBackWhenItUsesWhatItHas) {
  const auto shares = DivideByWeight(
      {{.asks = true, .had = 0.2, .used = 0.19}, {.asks = true, .had = 0.8, .used = 0.8}});
  EXPECT_DOUBLE_EQ(shares[0], 0.5);
  EXPECT_DOUBLE_EQ(shares[1], 0.5);
}

TEST(RateShares, WhereNobodyWantsMoreAllOfItIsHandedOut) {
  const auto shares = DivideByWeight({{.weight = 2, .asks = true, .had = 0.6, .used = 0.05},
                                      {.weight = 1, .asks = true, .had = 0.4, .used = 0.01}});
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
  EXPECT_GT(shares[0], shares[1]);
}

TEST(RateShares, NobodyAskingIsNoDivisionByZero) {
  const auto shares = DivideByWeight({{.weight = 1}, {.weight = 2}});
  EXPECT_DOUBLE_EQ(shares[0], 1);
  EXPECT_DOUBLE_EQ(shares[1], 1);
  EXPECT_TRUE(DivideByWeight({}).empty());
}

}  // namespace
}  // namespace headgate::control
