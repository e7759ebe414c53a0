#include "tests/demo/servers/results.h"

#include "gtest/gtest.h"

namespace headgate::demo {
namespace {

ServersRecord Record(std::vector<AskedCheck> checks) {
  return {.rate = 100,
          .burst = 50,
          .ended_s = 2,
          .databases = {{.name = "a", .checks = std::move(checks)}}};
}

TEST(ServersResults, BurstAndRateAreNotTooMuch) {
  const ServersRecord record = Record({{1, 1, 50}, {1.5, 1.5, 50}});
  EXPECT_EQ(Evaluate(record).over_admitted, 0);
  EXPECT_DOUBLE_EQ(Evaluate(record).share_of_due, .5);
}

TEST(ServersResults, WhatIsBeyondThemInAnySpanIsTooMuch) {
  EXPECT_DOUBLE_EQ(Evaluate(Record({{.1, .1, 10}, {1, 1, 50}, {1.1, 1.1, 30}})).over_admitted, 20);
}

// It may have been admitted when it was asked.
TEST(ServersResults, WhatWasHeldMayHaveBeenAdmittedBefore) {
  EXPECT_EQ(Evaluate(Record({{0.5, 1, 50}, {1, 1, 50}})).over_admitted, 0);
}

TEST(ServersResults, AFailedCheckIsNoAnswer) {
  const ServersResults results =
      Evaluate(Record({{.1, .1, 0}, {.2, .5, 0, true}, {.5, 1.1, 0}, {1.9, 1.9, 0}}));
  EXPECT_EQ(results.checks, 4);
  EXPECT_EQ(results.failed_checks, 1);
  EXPECT_NEAR(results.longest_gap_ms, 1000, 1e-6);
}

TEST(ServersResults, SilenceAtTheEndIsAGap) {
  EXPECT_NEAR(Evaluate(Record({{.1, .5, 0}})).longest_gap_ms, 1500, 1e-6);
}

}  // namespace
}  // namespace headgate::demo
