#include "server/control/contrast.h"

#include <cmath>

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

using Kind = Contrast::Kind;

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
      contrast_.Add(flow);
    }
  }

  Contrast contrast_;
  double trend_ = 0;
  Flow::Source source_ = Flow::Source::kStatements;

 private:
  double at_ = 0;
};

TEST(Contrast, FindsWhatAUnitOfWorkDoes) {
  Stretch stretch;
  stretch.Add(5, 0, 1000);
  stretch.Add(3, 0.5, 900);
  stretch.Add(5, 0, 1000);
  const auto effect = stretch.contrast_.EffectOn(&Flow::throughput);
  ASSERT_TRUE(effect.has_value());
  EXPECT_NEAR(effect->each, -200, 1e-6);
  EXPECT_NEAR(effect->alone, 1000, 1e-6);
  EXPECT_NEAR(effect->noise, 0, 1e-6);
  EXPECT_NEAR(stretch.contrast_.EffectOn(&Flow::occupancy)->each, 1, 1e-9);
}

TEST(Contrast, ATrendIsNotTakenForAnEffect) {
  Stretch stretch;
  stretch.trend_ = -100;  // a second
  stretch.Add(5, 0, 1000);
  stretch.Add(3, 0.5, 900);
  stretch.Add(2, 0, 1000);
  EXPECT_NEAR(stretch.contrast_.EffectOn(&Flow::throughput)->each, -200, 1e-6);
}

TEST(Contrast, WithoutContrastThereIsNoEffect) {
  Stretch stretch;
  EXPECT_FALSE(stretch.contrast_.EffectOn(&Flow::throughput).has_value());
  stretch.Add(20, 0.5, 900);
  EXPECT_FALSE(stretch.contrast_.EffectOn(&Flow::throughput).has_value());
}

// What is known of each flow by itself is off by half a chunk at each end.
TEST(Contrast, WorkCountsAsTheAverageOfItsRun) {
  Stretch stretch;
  stretch.Add(5, 0, 1000);
  stretch.Add(1, 0.9, 900);
  stretch.Add(1, 0, 900);
  stretch.Add(1, 0.6, 900);
  stretch.Add(5, 0, 1000);
  EXPECT_NEAR(stretch.contrast_.EffectOn(&Flow::throughput)->each, -200, 1e-6);
}

TEST(Contrast, TellsTimeWithWorkFromTimeWithout) {
  Stretch stretch;
  stretch.Add(5, 0, 1000);
  stretch.Add(3, 0.5, 900);
  stretch.Add(2, 0, 1100);
  const Contrast& contrast = stretch.contrast_;
  EXPECT_NEAR(contrast.Seconds(Kind::kQuiet), 1.4, 1e-9);
  EXPECT_NEAR(contrast.Seconds(Kind::kWorked), 0.6, 1e-9);
  EXPECT_NEAR(contrast.QuietEnd(), 0.4, 1e-9);
  EXPECT_NEAR(contrast.Mean(Kind::kWorked, &Flow::throughput), 900, 1e-9);
  EXPECT_NEAR(contrast.Mean(Kind::kAll, &Flow::throughput), 990, 1e-9);
  EXPECT_NEAR(contrast.Step(), std::log(1.1), 1e-9);
}

TEST(Contrast, TheQuietEndBeginsWhatComesNext) {
  Stretch stretch;
  stretch.Add(5, 0, 1000);
  stretch.Add(3, 0.5, 900);
  stretch.Add(2, 0, 1100);
  stretch.contrast_.KeepQuietEnd();
  EXPECT_NEAR(stretch.contrast_.Seconds(Kind::kAll), 0.4, 1e-9);
  EXPECT_NEAR(stretch.contrast_.Mean(Kind::kAll, &Flow::throughput), 1100, 1e-9);
  stretch.Add(2, 0.5, 900);
  stretch.contrast_.KeepQuietEnd();
  EXPECT_EQ(stretch.contrast_.Seconds(Kind::kAll), 0);
}

TEST(Contrast, KeepsAsMuchAsItIsTold) {
  Stretch stretch;
  stretch.Add(50, 0, 1000);
  stretch.contrast_.KeepLast(1);
  EXPECT_NEAR(stretch.contrast_.Seconds(Kind::kAll), 1.2, 0.01);
}

TEST(Contrast, TransactionsAreNotComparedWithStatements) {
  Stretch stretch;
  stretch.Add(5, 0, 7000);
  stretch.source_ = Flow::Source::kTransactionIds;
  stretch.Add(3, 0.5, 1000);
  EXPECT_NEAR(stretch.contrast_.Seconds(Kind::kAll), 0.6, 1e-9);
}

TEST(Contrast, ItsMemoryIsBounded) {
  Stretch stretch;
  stretch.Add(100'000, 0.5, 1000);
  EXPECT_LT(stretch.contrast_.Seconds(Kind::kAll), 200);
}

}  // namespace
}  // namespace headgate::control
