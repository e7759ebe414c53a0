// HealthSpeed without recent readings: warming, stale, unreadable, absent and set aside.

#include <optional>

#include "tests/health/health_speed_fixture.h"

namespace headgate::health {
namespace {

using engine::HealthStatus;

// Signals on the primary ("load"), on the standbys as the primary sees them ("lag"), and on the
// standby "s2" itself ("own"). Everything is well at first.
class HealthSpeedStaleTest : public HealthSpeedFixture {
 protected:
  HealthSpeedStaleTest()
      : HealthSpeedFixture({Signal("load", Scope::kPrimary, 10, 20),
                            Signal("lag", Scope::kStandbyOnPrimary, 1, 5),
                            Signal("own", Scope::kStandby, 1, 5)}) {
    for (const char* instance : {"load", "lag on s1", "lag on s2", "own on s2"}) Put(instance, 0);
  }

  void AllSampled() {
    Sampled(0);
    Sampled(1);
  }

  const engine::Health& LookAfter(absl::Duration wait) {
    clock_.Advance(wait);
    return Look();
  }
};

TEST_F(HealthSpeedStaleTest, IsWarmingUntilEveryNeededServerWasSampled) {
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Look().sampled_at_ns, 0);
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_EQ(Binding(), "own on s2");
  Sampled(1);
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
}

TEST_F(HealthSpeedStaleTest, FirstCompleteSampleSetsTheSpeedWithoutAClimb) {
  Look();
  Sampled(0);
  Look();
  Sampled(1);
  EXPECT_EQ(Look().speed, 1);
  EXPECT_FALSE(Look().gate_shut);
}

TEST_F(HealthSpeedStaleTest, SpeedClimbsThoughOneServerNeverAnswersAndStaleAllows) {
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  Sampled(0);
  Put("load", 30);
  Look();
  Put("load", 0);
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_DOUBLE_EQ(Look().speed, 0.05);
}

TEST_F(HealthSpeedStaleTest, SampleIsAsOldAsThatOfTheOldestServer) {
  Sampled(0);
  const int64_t before_ns = NowNs();
  clock_.Advance(absl::Seconds(1));
  Sampled(1);
  EXPECT_EQ(Look().sampled_at_ns, before_ns);
}

TEST_F(HealthSpeedStaleTest, SampleOlderThanStaleAfterIsStale) {
  AllSampled();
  EXPECT_EQ(LookAfter(absl::Seconds(5)).status, HealthStatus::kHealthy);
  EXPECT_EQ(LookAfter(absl::Nanoseconds(1)).status, HealthStatus::kStale);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Look().speed, 0);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthSpeedStaleTest, SaysWhenTheSampleGoesStale) {
  AllSampled();
  Look();
  EXPECT_EQ(speed_->verdict().valid_until_ns, NowNs() + 5'000'000'001);
}

TEST_F(HealthSpeedStaleTest, PollThatWasPlannedLateIsGivenItsTime) {
  AllSampled();
  sample_.servers[0].grace_ns = 9'500'000'000;
  sample_.servers[1].grace_ns = 9'500'000'000;
  EXPECT_EQ(LookAfter(absl::Milliseconds(14'500)).status, HealthStatus::kHealthy);
  EXPECT_EQ(LookAfter(absl::Nanoseconds(1)).status, HealthStatus::kStale);
}

TEST_F(HealthSpeedStaleTest, OneStaleServerBlindsItsOwnInstancesOnly) {
  AllSampled();
  clock_.Advance(absl::Seconds(6));
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_EQ(Binding(), "own on s2");
  EXPECT_EQ(Look().pressure, 0);
  Put("load", 15);
  EXPECT_EQ(Look().pressure, 0.5F);
}

TEST_F(HealthSpeedStaleTest, TellsWhatCouldNotBeReadFromWhatWasNotSampled) {
  AllSampled();
  EXPECT_FALSE(Look().unread);
  Put("load", std::nullopt, "division by zero");
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_TRUE(Look().unread);
  EXPECT_EQ(Binding(), "load");
  Put("lag on s1", 7);  // a pressure that shuts the gate is to blame first
  EXPECT_FALSE(Look().unread);
  Put("lag on s1", 0);
  Put("load", 0);
  EXPECT_FALSE(Look().unread);
  clock_.Advance(absl::Seconds(6));
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_EQ(Binding(), "own on s2");
  EXPECT_FALSE(Look().unread);
}

TEST_F(HealthSpeedStaleTest, RecoversFromStaleByTheClimb) {
  AllSampled();
  Look();
  LookAfter(absl::Seconds(6));
  AllSampled();
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_FALSE(Look().gate_shut);
  EXPECT_DOUBLE_EQ(Look().speed, 0.05);
  EXPECT_DOUBLE_EQ(LookAfter(absl::Seconds(2)).speed, 0.25);
}

TEST_F(HealthSpeedStaleTest, StaleProfileThatAllowsRunsAtFullSpeed) {
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_EQ(Look().speed, 1);
  AllSampled();
  EXPECT_EQ(LookAfter(absl::Seconds(6)).status, HealthStatus::kStale);
  EXPECT_EQ(Look().speed, 1);
  EXPECT_FALSE(Look().gate_shut);
  EXPECT_EQ(Binding(), "");
}

TEST_F(HealthSpeedStaleTest, StaleProfileWithASpeedRunsAtIt) {
  profile_.spec.on_stale = {.shut = false, .speed = 0.1};
  AllSampled();
  Look();
  EXPECT_DOUBLE_EQ(LookAfter(absl::Seconds(6)).speed, 0.1);
  EXPECT_FALSE(Look().gate_shut);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthSpeedStaleTest, WhatIsReadStillShutsTheGateOfAStaleProfileThatAllows) {
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  AllSampled();
  clock_.Advance(absl::Seconds(6));
  Sampled(0);
  Put("load", 30);
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthSpeedStaleTest, SignalThatCannotBeReadIsStale) {
  AllSampled();
  Put("load", std::nullopt, "function headgate_load() does not exist");
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthSpeedStaleTest, AbsentStandbyIsUnhealthyAndNeverLagZero) {
  AllSampled();
  Put("lag on s1", std::nullopt, "not streaming");
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Look().speed, 0);
  EXPECT_EQ(Look().signal, 1);
  EXPECT_EQ(Binding(), "lag on s1");
}

TEST_F(HealthSpeedStaleTest, AbsentStandbyShutsTheGateEvenWhereStaleAllows) {
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  AllSampled();
  Put("lag on s1", std::nullopt, "not streaming");
  Put("load", 1000);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Binding(), "lag on s1");
}

TEST_F(HealthSpeedStaleTest, StandbySetAsideDoesNotCountUntilItsExpiry) {
  standbys_[0].set_aside_until = clock_.Read().wall() + absl::Seconds(3);
  AllSampled();
  Put("lag on s1", std::nullopt, "not streaming");
  EXPECT_EQ(Look().speed, 1);
  EXPECT_EQ(speed_->verdict().valid_until_ns, NowNs() + 3'000'000'000);
  EXPECT_FALSE(LookAfter(absl::Milliseconds(2'999)).gate_shut);
  EXPECT_TRUE(LookAfter(absl::Milliseconds(1)).gate_shut);
  EXPECT_EQ(Binding(), "lag on s1");
}

TEST_F(HealthSpeedStaleTest, ExpiryFollowsTheWallClock) {
  standbys_[0].set_aside_until = clock_.Read().wall() + absl::Hours(24);
  AllSampled();
  Put("lag on s1", std::nullopt, "not streaming");
  EXPECT_FALSE(Look().gate_shut);
  clock_.AdvanceWall(absl::Hours(24));
  EXPECT_TRUE(Look().gate_shut);
}

TEST_F(HealthSpeedStaleTest, StandbySetAsideForeverNeverCounts) {
  standbys_[1].set_aside_until = absl::InfiniteFuture();
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_EQ(Look().speed, 1);
}

TEST_F(HealthSpeedStaleTest, ServerOfAStandbySetAsideIsNotNeeded) {
  standbys_[1].set_aside_until = clock_.Read().wall() + absl::Hours(1);
  AllSampled();
  clock_.Advance(absl::Minutes(1));
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_EQ(Look().sampled_at_ns, NowNs());
}

TEST_F(HealthSpeedStaleTest, ProfileForWhichNothingCountsIsUnmonitored) {
  profile_.spec.signals = {Signal("lag", Scope::kStandbyOnPrimary, 1, 5)};
  standbys_.clear();
  sample_.servers.resize(1);
  EXPECT_EQ(Look().status, HealthStatus::kUnmonitored);
  EXPECT_EQ(Look().speed, 1);
  EXPECT_FALSE(Look().gate_shut);
}

TEST_F(HealthSpeedStaleTest, GateThatStaleServersShutMayOpenWithTheirLastSample) {
  AllSampled();
  clock_.Advance(absl::Seconds(6));
  sample_.servers[0].next_sample_at_ns = NowNs() + 100;
  sample_.servers[1].next_sample_at_ns = NowNs() + 700;
  EXPECT_EQ(Look().next_sample_at_ns, NowNs() + 700);
}

TEST_F(HealthSpeedStaleTest, EndlessStaleAfterNeverGoesStale) {
  profile_.spec.stale_after = absl::InfiniteDuration();
  AllSampled();
  EXPECT_EQ(LookAfter(absl::Hours(10'000)).status, HealthStatus::kHealthy);
}

}  // namespace
}  // namespace headgate::health
