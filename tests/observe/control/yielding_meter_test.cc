#include "server/observe/control/yielding_meter.h"

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

int64_t AtNs(double seconds) { return static_cast<int64_t>((1000 + seconds) * 1e9); }

TEST(YieldingMeter, NothingYieldsBeforeAnythingIsTold) {
  const YieldingMeter meter;
  EXPECT_FALSE(meter.Yields(AtNs(0)));
  EXPECT_EQ(meter.processor_share(), 1);
}

TEST(YieldingMeter, WhatIsToldHoldsForALease) {
  YieldingMeter meter;
  meter.Tell({.works = true, .sessions = 1}, AtNs(0));
  EXPECT_TRUE(meter.Yields(AtNs(0)));
  EXPECT_TRUE(meter.Yields(AtNs(0) + 2 * kSecondNs - 1));
  EXPECT_FALSE(meter.Yields(AtNs(0) + 2 * kSecondNs));
}

TEST(YieldingMeter, NothingYieldsWhereItDoesNotWork) {
  YieldingMeter meter;
  meter.Tell({.works = true, .sessions = 1}, AtNs(0));
  meter.Tell({.works = false, .means = "autogroups are on"}, AtNs(0.5));
  EXPECT_FALSE(meter.Yields(AtNs(0.5)));
}

// The agent looks for other sessions than those that jobs log in with.
TEST(YieldingMeter, NothingYieldsWherePermitsAreOutAndNoSessionIsToldOf) {
  YieldingMeter meter;
  for (double now = 0; now < 2; now += 0.5) {
    meter.Tell({.works = true}, AtNs(now));
    meter.Note({.outstanding = 1}, AtNs(now));
    EXPECT_TRUE(meter.Yields(AtNs(now))) << now;
  }
  meter.Tell({.works = true}, AtNs(2));
  meter.Note({.outstanding = 1}, AtNs(2));
  EXPECT_FALSE(meter.Yields(AtNs(2)));
  meter.Tell({.works = true, .sessions = 1}, AtNs(2.5));
  EXPECT_TRUE(meter.Yields(AtNs(2.5)));
}

TEST(YieldingMeter, NobodyAtWorkIsNoMistake) {
  YieldingMeter meter;
  for (double now = 0; now < 20; now += 0.5) {
    meter.Tell({.works = true}, AtNs(now));
    meter.Note({.outstanding = 0}, AtNs(now));
  }
  EXPECT_TRUE(meter.Yields(AtNs(20)));
}

TEST(YieldingMeter, ARaisedSessionIsOneThatIsSeen) {
  YieldingMeter meter;
  for (double now = 0; now < 5; now += 0.5) {
    meter.Tell({.works = true, .raised = 1}, AtNs(now));
    meter.Note({.outstanding = 1}, AtNs(now));
  }
  EXPECT_TRUE(meter.Yields(AtNs(5)));
}

// Two sessions that are at work all the time, and have a fifth of a core each.
void RunTwo(YieldingMeter& meter, double from, double until, double processor_at_first = 0) {
  for (double now = from; now <= until; now += 0.5) {
    meter.Tell({.works = true,
                .sessions = 2,
                .processor_seconds = processor_at_first + 0.4 * (now - from)},
               AtNs(now));
    meter.Note({.outstanding = 2, .busy_seconds = 2 * now}, AtNs(now));
  }
}

TEST(YieldingMeter, TheShareIsWhatSessionsHadByWhatReportsSay) {
  YieldingMeter meter;
  RunTwo(meter, 0, 10, 500);
  EXPECT_NEAR(meter.processor_share(), 0.2, 1e-9);
}

TEST(YieldingMeter, TheShareIsOneUntilEnoughIsKnown) {
  YieldingMeter meter;
  RunTwo(meter, 0, 0.4);
  EXPECT_EQ(meter.processor_share(), 1);
}

TEST(YieldingMeter, AnAgentThatBeginsAnewCountsFromNothing) {
  YieldingMeter meter;
  RunTwo(meter, 0, 10, 500);
  RunTwo(meter, 10, 20, 0);
  EXPECT_NEAR(meter.processor_share(), 0.2, 0.01);
}

TEST(YieldingMeter, TheShareIsBounded) {
  YieldingMeter meter;
  for (double now = 0; now < 10; now += 0.5) {
    meter.Tell({.works = true, .sessions = 1, .processor_seconds = 5 * now}, AtNs(now));
    meter.Note({.outstanding = 1, .busy_seconds = now}, AtNs(now));
  }
  EXPECT_EQ(meter.processor_share(), 1);
  for (double now = 10; now < 200; now += 0.5) {
    meter.Tell({.works = true, .sessions = 1, .processor_seconds = 50}, AtNs(now));
    meter.Note({.outstanding = 1, .busy_seconds = now}, AtNs(now));
  }
  EXPECT_EQ(meter.processor_share(), 0.05);
}

TEST(YieldingMeter, TheShareFollowsWithinHalfAMinute) {
  YieldingMeter meter;
  RunTwo(meter, 0, 60);
  for (double now = 60; now < 90; now += 0.5) {
    meter.Tell({.works = true, .sessions = 2, .processor_seconds = 24 + 1.6 * (now - 60)},
               AtNs(now));
    meter.Note({.outstanding = 2, .busy_seconds = 2 * now}, AtNs(now));
  }
  EXPECT_NEAR(meter.processor_share(), 0.8, 0.15);
}

TEST(YieldingMeter, NothingIsLeftOfTheShareWhenNothingYieldsAnyMore) {
  YieldingMeter meter;
  RunTwo(meter, 0, 10);
  meter.Note({.outstanding = 2, .busy_seconds = 30}, AtNs(15));
  EXPECT_EQ(meter.processor_share(), 1);
}

}  // namespace
}  // namespace headgate::control
