// HealthGate without recent readings: warming, stale, unreadable, absent and set aside.

#include <optional>

#include "tests/observe/health/health_gate_fixture.h"

namespace headgate::health {
namespace {

using engine::HealthStatus;

// Signals on the primary ("load"), on the standbys as the primary sees them ("lag"), and on the
// standby "s2" itself ("own"). Everything is well at first.
class HealthGateStaleTest : public HealthGateFixture {
 protected:
  HealthGateStaleTest()
      : HealthGateFixture({Signal("load", Scope::kPrimary, 10, 20),
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

TEST_F(HealthGateStaleTest, IsWarmingUntilEveryNeededServerWasSampled) {
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Look().sampled_at_ns, 0);
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_EQ(Binding(), "own on s2");
  Sampled(1);
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
}

TEST_F(HealthGateStaleTest, FirstCompleteSampleSetsTheSpeedWithoutAClimb) {
  Look();
  Sampled(0);
  Look();
  Sampled(1);
  EXPECT_EQ(Look().speed, 1);
  EXPECT_FALSE(Look().gate_shut);
}

TEST_F(HealthGateStaleTest, SpeedClimbsThoughOneServerNeverAnswersAndStaleAllows) {
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  Sampled(0);
  Put("load", 30);
  Look();
  Put("load", 0);
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_DOUBLE_EQ(Look().speed, 0.05);
}

TEST_F(HealthGateStaleTest, SampleIsAsOldAsThatOfTheOldestServer) {
  Sampled(0);
  const int64_t before_ns = NowNs();
  clock_.Advance(absl::Seconds(1));
  Sampled(1);
  EXPECT_EQ(Look().sampled_at_ns, before_ns);
}

TEST_F(HealthGateStaleTest, SampleOlderThanStaleAfterIsStale) {
  AllSampled();
  EXPECT_EQ(LookAfter(absl::Seconds(5)).status, HealthStatus::kHealthy);
  EXPECT_EQ(LookAfter(absl::Nanoseconds(1)).status, HealthStatus::kStale);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Look().speed, 0);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthGateStaleTest, SaysWhenTheSampleGoesStale) {
  AllSampled();
  Look();
  EXPECT_EQ(gate_->verdict().valid_until_ns, NowNs() + 5'000'000'001);
}

TEST_F(HealthGateStaleTest, PollThatWasPlannedLateIsGivenItsTime) {
  AllSampled();
  sample_.servers[0].grace_ns = 9'500'000'000;
  sample_.servers[1].grace_ns = 9'500'000'000;
  EXPECT_EQ(LookAfter(absl::Milliseconds(14'500)).status, HealthStatus::kHealthy);
  EXPECT_EQ(LookAfter(absl::Nanoseconds(1)).status, HealthStatus::kStale);
}

TEST_F(HealthGateStaleTest, OneStaleServerBlindsItsOwnInstancesOnly) {
  AllSampled();
  clock_.Advance(absl::Seconds(6));
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_EQ(Binding(), "own on s2");
  EXPECT_EQ(Look().pressure, 0);
  Put("load", 15);
  EXPECT_EQ(Look().pressure, 0.5F);
}

TEST_F(HealthGateStaleTest, TellsWhatCouldNotBeReadFromWhatWasNotSampled) {
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

TEST_F(HealthGateStaleTest, RecoversFromStaleByTheClimb) {
  AllSampled();
  Look();
  LookAfter(absl::Seconds(6));
  AllSampled();
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_FALSE(Look().gate_shut);
  EXPECT_DOUBLE_EQ(Look().speed, 0.05);
  EXPECT_DOUBLE_EQ(LookAfter(absl::Seconds(2)).speed, 0.25);
}

TEST_F(HealthGateStaleTest, StaleProfileThatAllowsRunsAtFullSpeed) {
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_EQ(Look().speed, 1);
  AllSampled();
  EXPECT_EQ(LookAfter(absl::Seconds(6)).status, HealthStatus::kStale);
  EXPECT_EQ(Look().speed, 1);
  EXPECT_FALSE(Look().gate_shut);
  EXPECT_EQ(Binding(), "");
}

TEST_F(HealthGateStaleTest, StaleProfileWithASpeedRunsAtIt) {
  profile_.spec.on_stale = {.shut = false, .speed = 0.1};
  AllSampled();
  Look();
  EXPECT_DOUBLE_EQ(LookAfter(absl::Seconds(6)).speed, 0.1);
  EXPECT_FALSE(Look().gate_shut);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthGateStaleTest, WhatIsReadStillShutsTheGateOfAStaleProfileThatAllows) {
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  AllSampled();
  clock_.Advance(absl::Seconds(6));
  Sampled(0);
  Put("load", 30);
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthGateStaleTest, SignalThatCannotBeReadIsStale) {
  AllSampled();
  Put("load", std::nullopt, "function headgate_load() does not exist");
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthGateStaleTest, AbsentStandbyIsUnhealthyAndNeverLagZero) {
  AllSampled();
  PutAbsent("lag on s1");
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Look().speed, 0);
  EXPECT_EQ(Look().signal, 1);
  EXPECT_EQ(Binding(), "lag on s1");
}

TEST_F(HealthGateStaleTest, AbsentStandbyShutsTheGateEvenWhereStaleAllows) {
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  AllSampled();
  PutAbsent("lag on s1");
  Put("load", 1000);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_EQ(Binding(), "lag on s1");
}

// Such as where the replication query fails: nothing is known of the standby.
TEST_F(HealthGateStaleTest, StandbyWhoseLagCannotBeReadIsStaleAndFollowsOnStale) {
  AllSampled();
  Put("lag on s1", std::nullopt, "permission denied for function pg_current_wal_lsn");
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_TRUE(Look().gate_shut);
  EXPECT_TRUE(Look().unread);
  EXPECT_EQ(Binding(), "lag on s1");
  profile_.spec.on_stale = {.shut = false, .speed = 1};
  Build();
  EXPECT_EQ(Look().status, HealthStatus::kStale);
  EXPECT_FALSE(Look().gate_shut);
  EXPECT_EQ(Look().speed, 1);
}

TEST_F(HealthGateStaleTest, StandbySetAsideDoesNotCountUntilItsExpiry) {
  standbys_[0].set_aside_until = clock_.Read().wall() + absl::Seconds(3);
  AllSampled();
  PutAbsent("lag on s1");
  EXPECT_EQ(Look().speed, 1);
  EXPECT_EQ(gate_->verdict().valid_until_ns, NowNs() + 3'000'000'000);
  EXPECT_FALSE(LookAfter(absl::Milliseconds(2'999)).gate_shut);
  EXPECT_TRUE(LookAfter(absl::Milliseconds(1)).gate_shut);
  EXPECT_EQ(Binding(), "lag on s1");
}

TEST_F(HealthGateStaleTest, ExpiryFollowsTheWallClock) {
  standbys_[0].set_aside_until = clock_.Read().wall() + absl::Hours(24);
  AllSampled();
  PutAbsent("lag on s1");
  EXPECT_FALSE(Look().gate_shut);
  clock_.AdvanceWall(absl::Hours(24));
  EXPECT_TRUE(Look().gate_shut);
}

TEST_F(HealthGateStaleTest, StandbySetAsideForeverNeverCounts) {
  standbys_[1].set_aside_until = absl::InfiniteFuture();
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_EQ(Look().speed, 1);
}

TEST_F(HealthGateStaleTest, ServerOfAStandbySetAsideIsNotNeeded) {
  standbys_[1].set_aside_until = clock_.Read().wall() + absl::Hours(1);
  AllSampled();
  clock_.Advance(absl::Minutes(1));
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_EQ(Look().sampled_at_ns, NowNs());
}

TEST_F(HealthGateStaleTest, ProfileForWhichNothingCountsIsUnmonitored) {
  profile_.spec.signals = {Signal("lag", Scope::kStandbyOnPrimary, 1, 5)};
  standbys_.clear();
  sample_.servers.resize(1);
  EXPECT_EQ(Look().status, HealthStatus::kUnmonitored);
  EXPECT_EQ(Look().speed, 1);
  EXPECT_FALSE(Look().gate_shut);
}

TEST_F(HealthGateStaleTest, GateThatStaleServersShutMayOpenWithTheirLastSample) {
  AllSampled();
  clock_.Advance(absl::Seconds(6));
  sample_.servers[0].next_sample_at_ns = NowNs() + 100;
  sample_.servers[1].next_sample_at_ns = NowNs() + 700;
  EXPECT_EQ(Look().next_sample_at_ns, NowNs() + 700);
}

TEST_F(HealthGateStaleTest, EndlessStaleAfterNeverGoesStale) {
  profile_.spec.stale_after = absl::InfiniteDuration();
  AllSampled();
  EXPECT_EQ(LookAfter(absl::Hours(10'000)).status, HealthStatus::kHealthy);
}

}  // namespace
}  // namespace headgate::health
