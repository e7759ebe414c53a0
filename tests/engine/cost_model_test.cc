#include "server/engine/cost_model.h"

#include "gtest/gtest.h"
#include "server/engine/spec.h"

namespace headgate::engine {
namespace {

constexpr uint64_t kTarget = 0x1111111111111111;
constexpr uint64_t kPattern = 0x2222222222222222;
constexpr double kNone = CostModel::kNone;

TEST(CostModel, KnowsNothingAtFirst) {
  const CostModel costs(64);
  EXPECT_EQ(costs.Predict(kTarget, kPattern, 10), 10);
  EXPECT_EQ(costs.Predict(kTarget, kPattern, kNone), kNone);
  EXPECT_EQ(costs.Ratio(kPattern), std::nullopt);
}

TEST(CostModel, PredictsEstimateTimesRatio) {
  CostModel costs(64);
  costs.Learn(kTarget, kPattern, 10, 25);
  EXPECT_DOUBLE_EQ(*costs.Ratio(kPattern), 2.5);
  EXPECT_DOUBLE_EQ(costs.Predict(kTarget, kPattern, 4), 10);
}

TEST(CostModel, RatioIsThatOfTwoAverages) {
  CostModel costs(64);
  costs.Learn(kTarget, kPattern, 10, 10);
  costs.Learn(kTarget, kPattern, 30, 70);
  EXPECT_DOUBLE_EQ(*costs.Ratio(kPattern), 2);  // 40 / 20; the mean of the ratios would be 1.67
}

TEST(CostModel, RecentValuesWeighMore) {
  CostModel costs(64);
  for (int i = 0; i < 50; ++i) costs.Learn(kTarget, kPattern, 1, 1);
  costs.Learn(kTarget, kPattern, 1, 9);
  EXPECT_NEAR(*costs.Ratio(kPattern), 2, 1e-6);  // an eighth of the way
  for (int i = 0; i < 100; ++i) costs.Learn(kTarget, kPattern, 1, 9);
  EXPECT_NEAR(*costs.Ratio(kPattern), 9, 1e-4);
}

TEST(CostModel, UnknownPatternUsesTheTargetsRatio) {
  CostModel costs(64);
  costs.Learn(kTarget, kPattern, 10, 30);
  EXPECT_DOUBLE_EQ(costs.Predict(kTarget, 3 * kPattern, 5), 15);
  EXPECT_DOUBLE_EQ(costs.Predict(kTarget, 0, 5), 15);
  EXPECT_DOUBLE_EQ(costs.Predict(5 * kTarget, 3 * kPattern, 5), 5);
}

TEST(CostModel, WithoutAnEstimatePredictsThePatternsMeanActual) {
  CostModel costs(64);
  costs.Learn(kTarget, kPattern, kNone, 20);
  costs.Learn(kTarget, kPattern, 1, 40);
  EXPECT_DOUBLE_EQ(costs.Predict(kTarget, kPattern, kNone), 30);
  EXPECT_EQ(costs.Predict(kTarget, 0, kNone), kNone);
}

TEST(CostModel, PatternWithoutEstimatesHasNoRatio) {
  CostModel costs(64);
  costs.Learn(kTarget, kPattern, kNone, 20);
  EXPECT_EQ(costs.Ratio(kPattern), std::nullopt);
  EXPECT_DOUBLE_EQ(costs.Predict(kTarget, kPattern, 4), 4);
}

TEST(CostModel, ZeroEstimatesGiveNoRatio) {
  CostModel costs(64);
  costs.Learn(kTarget, kPattern, 0, 20);
  EXPECT_EQ(costs.Ratio(kPattern), std::nullopt);
  EXPECT_EQ(costs.Predict(kTarget, kPattern, 0), 0);
}

TEST(CostModel, ZeroActualsPredictZero) {
  CostModel costs(64);
  costs.Learn(kTarget, kPattern, 10, 0);
  EXPECT_EQ(costs.Predict(kTarget, kPattern, 5), 0);
  EXPECT_EQ(costs.Predict(kTarget, kPattern, kNone), 0);
}

TEST(CostModel, NeverPredictsMoreThanACostMayBe) {
  CostModel costs(64);
  costs.Learn(kTarget, kPattern, 1e-300, kMaxAmount);
  costs.Learn(kTarget, kPattern, 1e-30, kMaxAmount);
  for (const double estimate : {0.0, 1e-300, 1.0, kMaxAmount}) {
    const double predicted = costs.Predict(kTarget, kPattern, estimate);
    EXPECT_GE(predicted, 0);
    EXPECT_LE(predicted, kMaxAmount);
  }
  EXPECT_LE(costs.Predict(kTarget, kPattern, kNone), kMaxAmount);
}

TEST(CostModel, PatternLongestWithoutAReportGivesWay) {
  CostModel costs(1);  // one set of four
  for (uint64_t pattern = 1; pattern <= 3; ++pattern) costs.Learn(99, pattern, 1, 2);
  costs.Learn(99, 1, 1, 2);  // pattern 2 is the oldest now
  costs.Learn(99, 4, 1, 2);
  EXPECT_EQ(costs.Ratio(2), std::nullopt);
  for (const uint64_t pattern : {1, 3, 4}) EXPECT_TRUE(costs.Ratio(pattern).has_value());
}

TEST(CostModel, NewcomerStartsAfresh) {
  CostModel costs(1);
  for (uint64_t pattern = 1; pattern <= 20; ++pattern) {
    costs.Learn(99, pattern, 1, static_cast<double>(pattern));
    EXPECT_DOUBLE_EQ(*costs.Ratio(pattern), static_cast<double>(pattern));
  }
}

}  // namespace
}  // namespace headgate::engine
