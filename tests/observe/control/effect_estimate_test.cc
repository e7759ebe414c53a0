#include "server/observe/control/effect_estimate.h"

#include <cmath>

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

using Kind = EffectEstimate::Kind;

// Adds flows of a fifth of a second.
class Stretch {
 public:
  void Add(int flows, double in_flight, double throughput) {
    for (int i = 0; i < flows; ++i) {
      at_ += 0.2;
      Flow flow;
      flow.at = at_;
      flow.seconds = 0.2;
      flow.in_flight = in_flight;
      flow.throughput = throughput + trend_ * at_;
      flow.occupancy = 1 + in_flight;
      flow.source = source_;
      estimate_.Add(flow);
    }
  }

  EffectEstimate estimate_;
  double trend_ = 0;
  Flow::Source source_ = Flow::Source::kStatements;

 private:
  double at_ = 0;
};

TEST(EffectEstimate, FindsWhatAUnitOfWorkDoes) {
  Stretch stretch;
  stretch.Add(5, 0, 1000);
  stretch.Add(3, 0.5, 900);
  stretch.Add(5, 0, 1000);
  const auto effect = stretch.estimate_.EffectOn(&Flow::throughput);
  ASSERT_TRUE(effect.has_value());
  EXPECT_NEAR(effect->each, -200, 1e-6);
  EXPECT_NEAR(effect->alone, 1000, 1e-6);
  EXPECT_NEAR(effect->noise, 0, 1e-6);
  EXPECT_NEAR(stretch.estimate_.EffectOn(&Flow::occupancy)->each, 1, 1e-9);
}

TEST(EffectEstimate, ATrendIsNotTakenForAnEffect) {
  Stretch stretch;
  stretch.trend_ = -100;  // a second
  stretch.Add(5, 0, 1000);
  stretch.Add(3, 0.5, 900);
  stretch.Add(2, 0, 1000);
  EXPECT_NEAR(stretch.estimate_.EffectOn(&Flow::throughput)->each, -200, 1e-6);
}

TEST(EffectEstimate, WithoutContrastThereIsNoEffect) {
  Stretch stretch;
  EXPECT_FALSE(stretch.estimate_.EffectOn(&Flow::throughput).has_value());
  stretch.Add(20, 0.5, 900);
  EXPECT_FALSE(stretch.estimate_.EffectOn(&Flow::throughput).has_value());
}

// What is known of each flow by itself is off by half a chunk at each end.
TEST(EffectEstimate, WorkCountsAsTheAverageOfItsRun) {
  Stretch stretch;
  stretch.Add(5, 0, 1000);
  stretch.Add(1, 0.9, 900);
  stretch.Add(1, 0, 900);
  stretch.Add(1, 0.6, 900);
  stretch.Add(5, 0, 1000);
  EXPECT_NEAR(stretch.estimate_.EffectOn(&Flow::throughput)->each, -200, 1e-6);
}

TEST(EffectEstimate, TellsTimeWithWorkFromTimeWithout) {
  Stretch stretch;
  stretch.Add(5, 0, 1000);
  stretch.Add(3, 0.5, 900);
  stretch.Add(2, 0, 1100);
  const EffectEstimate& estimate = stretch.estimate_;
  EXPECT_NEAR(estimate.Seconds(Kind::kQuiet), 1.4, 1e-9);
  EXPECT_NEAR(estimate.Seconds(Kind::kWorked), 0.6, 1e-9);
  EXPECT_NEAR(estimate.QuietEnd(), 0.4, 1e-9);
  EXPECT_NEAR(estimate.Mean(Kind::kWorked, &Flow::throughput), 900, 1e-9);
  EXPECT_NEAR(estimate.Mean(Kind::kAll, &Flow::throughput), 990, 1e-9);
  EXPECT_NEAR(estimate.Step(), std::log(1.1), 1e-9);
}

TEST(EffectEstimate, TheQuietEndBeginsWhatComesNext) {
  Stretch stretch;
  stretch.Add(5, 0, 1000);
  stretch.Add(3, 0.5, 900);
  stretch.Add(2, 0, 1100);
  stretch.estimate_.KeepQuietEnd();
  EXPECT_NEAR(stretch.estimate_.Seconds(Kind::kAll), 0.4, 1e-9);
  EXPECT_NEAR(stretch.estimate_.Mean(Kind::kAll, &Flow::throughput), 1100, 1e-9);
  stretch.Add(2, 0.5, 900);
  stretch.estimate_.KeepQuietEnd();
  EXPECT_EQ(stretch.estimate_.Seconds(Kind::kAll), 0);
}

TEST(EffectEstimate, KeepsAsMuchAsItIsTold) {
  Stretch stretch;
  stretch.Add(50, 0, 1000);
  stretch.estimate_.KeepLast(1);
  EXPECT_NEAR(stretch.estimate_.Seconds(Kind::kAll), 1.2, 0.01);
}

TEST(EffectEstimate, TransactionsAreNotComparedWithStatements) {
  Stretch stretch;
  stretch.Add(5, 0, 7000);
  stretch.source_ = Flow::Source::kTransactionIds;
  stretch.Add(3, 0.5, 1000);
  EXPECT_NEAR(stretch.estimate_.Seconds(Kind::kAll), 0.6, 1e-9);
}

TEST(EffectEstimate, ItsMemoryIsBounded) {
  Stretch stretch;
  stretch.Add(100'000, 0.5, 1000);
  EXPECT_LT(stretch.estimate_.Seconds(Kind::kAll), 200);
}

}  // namespace
}  // namespace headgate::control
