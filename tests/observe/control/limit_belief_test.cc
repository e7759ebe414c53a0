#include "server/observe/control/limit_belief.h"

#include <cmath>

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

TEST(LimitBelief, IsNormalRoundItsMedian) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 1);
  EXPECT_NEAR(belief.Quantile(0.5), 0.2, 0.01);
  EXPECT_NEAR(belief.Quantile(0.84), 0.2 * std::exp(1), 0.03);
  EXPECT_NEAR(belief.Spread(), 1, 0.02);
}

TEST(LimitBelief, FirmEvidenceSettlesIt) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 1.2);
  for (int i = 0; i < 5; ++i) belief.Observe(10, 0.25);  // a limit of 0.1
  EXPECT_NEAR(belief.Quantile(0.5), 0.1, 0.01);
  EXPECT_LT(belief.Spread(), 0.2);
}

TEST(LimitBelief, SaysWhatWorkDoesAndHowSureThatIs) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 0.1);
  EXPECT_NEAR(belief.HarmOf(0.2).expected, 1, 0.03);
  EXPECT_NEAR(belief.HarmOf(0.1).expected, 0.5, 0.02);
  EXPECT_NEAR(belief.HarmOf(0.2).deviation, 0.1, 0.05);
  belief.Believe(0.2, 1);
  EXPECT_GT(belief.HarmOf(0.2).deviation, 0.8);
}

TEST(LimitBelief, NoiseHardlyMovesIt) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 1.2);
  const double before = belief.Quantile(0.5);
  belief.Observe(-30, 40 * 40);
  EXPECT_NEAR(belief.Quantile(0.5), before, 0.05);
}

TEST(LimitBelief, HarmThatCannotBeSeenLetsTheLimitGrowAsFarAsThatSays) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 1.2);
  for (int i = 0; i < 10; ++i) belief.Observe(0, 1);  // less than about 0.5: a limit above 2
  EXPECT_GT(belief.Quantile(0.4), 1);
  EXPECT_LT(belief.Quantile(0.4), 8);
}

TEST(LimitBelief, OneOutlierDoesNotOverturnIt) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 1.2);
  for (int i = 0; i < 10; ++i) belief.Observe(5, 1);
  belief.Observe(60, 1);
  EXPECT_NEAR(belief.Quantile(0.5), 0.2, 0.06);
}

TEST(LimitBelief, DriftMakesItVagueAndLeavesItsMiddle) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 0.3);
  belief.Drift(0.4);
  EXPECT_NEAR(belief.Spread(), 0.5, 0.02);
  EXPECT_NEAR(belief.Quantile(0.5), 0.2, 0.01);
}

TEST(LimitBelief, DoubtGivesAnotherBeliefItsShare) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.05, 0.1);
  belief.Doubt(0.3, 5, 0.1);
  EXPECT_NEAR(belief.Quantile(0.6), 0.05, 0.02);
  EXPECT_NEAR(belief.Quantile(0.8), 5, 0.5);
}

TEST(LimitBelief, HarmThatIsExactlyNoneKeepsTheLimitHigh) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 1.2);
  for (int i = 0; i < 10; ++i) belief.Observe(0, 1e-3);
  const double before = belief.Quantile(0.4);
  EXPECT_GT(before, 4);
  for (const double variance : {1e-6, 1e-9, 1e-12, 0.0}) {
    for (int i = 0; i < 20; ++i) {
      belief.Observe(0, variance);
      ASSERT_GE(belief.Quantile(0.4), before) << variance;
    }
  }
}

TEST(LimitBelief, ExactEvidenceSettlesItWhateverWasBelieved) {
  LimitBelief belief(0.005, 16);
  belief.Believe(8, 0.3);
  for (int i = 0; i < 5; ++i) belief.Observe(10, 0);  // a limit of 0.1, far from it
  EXPECT_NEAR(belief.Quantile(0.5), 0.1, 0.01);
}

TEST(LimitBelief, AnotherOneGoesOnFromItsCells) {
  LimitBelief belief(0.005, 16), next(0.005, 16);
  belief.Believe(0.2, 0.1);
  belief.Doubt(0.3, 2, 1);
  next.Restore(belief.cells());
  for (const double share : {0.1, 0.4, 0.9}) {
    EXPECT_NEAR(next.Quantile(share), belief.Quantile(share), 1e-9);
  }
  EXPECT_NEAR(next.Spread(), belief.Spread(), 1e-9);
}

TEST(LimitBelief, StaysFiniteWhateverItIsTold) {
  LimitBelief belief(0.005, 16);
  belief.Believe(0.2, 1.2);
  for (const double harm : {1e9, -1e9, 0.0}) {
    for (int i = 0; i < 20; ++i) belief.Observe(harm, 1e-6);
    EXPECT_GE(belief.Quantile(0.4), 0.004);
    EXPECT_LE(belief.Quantile(0.4), 18);
  }
}

}  // namespace
}  // namespace headgate::control
