// The cores of the models: how they are shared, with numbers by hand.

#include "tests/sim/processors.h"

#include <cmath>

#include "gtest/gtest.h"

namespace headgate::sim {
namespace {

// When the next job ends, and which it is.
int EndNext(Processors& cores, double& at) {
  at = cores.NextEnd();
  cores.Advance(at);
  return cores.TakeDone();
}

TEST(Processors, JobsOfNormalRankShareEqually) {
  Processors cores(2);
  for (int job = 0; job < 4; ++job) cores.Start(job, 1);
  EXPECT_DOUBLE_EQ(cores.NextEnd(), 2);
}

TEST(Processors, IdleRankHasACoreToItselfWhereOneIsFree) {
  Processors cores(2);
  cores.Start(1, 1);
  cores.Start(2, 0.5, Rank::kIdle);
  double at = 0;
  EXPECT_EQ(EndNext(cores, at), 2);
  EXPECT_DOUBLE_EQ(at, 0.5);
  EXPECT_EQ(EndNext(cores, at), 1);
  EXPECT_DOUBLE_EQ(at, 1);
}

TEST(Processors, IdleRankWaitsWhileAllCoresAreWanted) {
  Processors cores(2);
  cores.Start(9, 0.5, Rank::kIdle);
  for (int job = 0; job < 2; ++job) cores.Start(job, 1 + job);
  double at = 0;
  EXPECT_EQ(EndNext(cores, at), 0);
  EXPECT_DOUBLE_EQ(at, 1);
  EXPECT_DOUBLE_EQ(cores.LeftOf(9), 0.5);
  EXPECT_EQ(EndNext(cores, at), 9);
  EXPECT_DOUBLE_EQ(at, 1.5);
  EXPECT_DOUBLE_EQ(cores.idle_seconds(), 0.5);
}

TEST(Processors, IdleRankAloneWithNothingToRunOnNeverEnds) {
  Processors cores(1);
  cores.Start(9, 0.5, Rank::kIdle);
  cores.Start(1, 1);
  cores.Advance(0.5);
  EXPECT_DOUBLE_EQ(cores.NextEnd(), 1);
  EXPECT_EQ(cores.idle_seconds(), 0);
}

TEST(Processors, JobsOfIdleRankShareWhatIsLeft) {
  Processors cores(2);
  cores.Start(0, 10);
  for (int job = 1; job <= 4; ++job) cores.Start(job, 0.5, Rank::kIdle);
  EXPECT_DOUBLE_EQ(cores.NextEnd(), 2);
}

TEST(Processors, WhoIsRaisedGoesOnFromWhereItWas) {
  Processors cores(1);
  cores.Start(9, 1, Rank::kIdle);
  cores.Advance(0.25);
  cores.Start(1, 10);
  cores.Advance(0.75);
  EXPECT_TRUE(cores.SetRank(9, Rank::kNormal));
  EXPECT_FALSE(cores.SetRank(9, Rank::kNormal));
  double at = 0;
  EXPECT_EQ(EndNext(cores, at), 9);
  EXPECT_DOUBLE_EQ(at, 0.75 + 2 * 0.75);
}

TEST(Processors, WhoIsLoweredWaits) {
  Processors cores(1);
  cores.Start(1, 1);
  cores.Start(2, 1);
  cores.Advance(1);
  EXPECT_TRUE(cores.SetRank(2, Rank::kIdle));
  double at = 0;
  EXPECT_EQ(EndNext(cores, at), 1);
  EXPECT_DOUBLE_EQ(at, 1.5);
  EXPECT_EQ(EndNext(cores, at), 2);
  EXPECT_DOUBLE_EQ(at, 2);
}

TEST(Processors, BothPayWhereACoreIsTaken) {
  Processors cores(1, {.preempts = 0.125, .resumes = 0.25});
  cores.Start(9, 1, Rank::kIdle);
  cores.Start(1, 1);
  double at = 0;
  EXPECT_EQ(EndNext(cores, at), 1);
  EXPECT_DOUBLE_EQ(at, 1.125);
  EXPECT_EQ(EndNext(cores, at), 9);
  EXPECT_DOUBLE_EQ(at, 1.125 + 1.25);
  EXPECT_DOUBLE_EQ(cores.idle_seconds(), 1.25);
}

TEST(Processors, NobodyPaysWhereACoreIsFree) {
  Processors cores(2, {.preempts = 0.125, .resumes = 0.25});
  cores.Start(9, 1, Rank::kIdle);
  cores.Start(1, 1);
  double at = 0;
  (void)EndNext(cores, at);
  EXPECT_DOUBLE_EQ(at, 1);
}

TEST(Processors, NobodyPaysAgainWhereItWaitsAlready) {
  Processors cores(1, {.preempts = 0.125});
  cores.Start(9, 1, Rank::kIdle);
  cores.Start(1, 1);
  cores.Start(2, 1);
  double at = 0;
  (void)EndNext(cores, at);
  (void)EndNext(cores, at);
  EXPECT_DOUBLE_EQ(at, 2.125);
}

}  // namespace
}  // namespace headgate::sim
