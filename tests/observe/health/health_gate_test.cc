// HealthGate: pressure, speed, gate, and what is said without readings. Literal numbers
// throughout.

#include "server/observe/health/health_gate.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tests/observe/health/health_gate_fixture.h"

namespace headgate::health {
namespace {

using engine::HealthStatus;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One signal on the primary.
class HealthGateTest : public HealthGateFixture {
 protected:
  HealthGateTest() : HealthGateFixture({Load()}) {}

  static SignalSpec Load() { return Signal("load", Scope::kPrimary, 10, 20); }

  void Watch(std::vector<SignalSpec> signals) { profile_.spec.signals = std::move(signals); }

  // The next sample of the primary, half a second later, says so.
  const engine::Health& Read(double load) {
    clock_.Advance(absl::Milliseconds(500));
    Sampled(0);
    Put("load", load);
    return Look();
  }
};

TEST_F(HealthGateTest, PressureIsLinearFromSoftToHard) {
  EXPECT_EQ(Read(10).pressure, 0);
  EXPECT_FLOAT_EQ(Read(12.5).pressure, 0.25F);
  EXPECT_EQ(Read(20).pressure, 1);
}

TEST_F(HealthGateTest, PressureIsNotCappedAboveAndNotNegative) {
  EXPECT_EQ(Read(45).pressure, 3.5F);
  EXPECT_EQ(Read(-100).pressure, 0);
}

TEST_F(HealthGateTest, SpeedIsOneMinusPressure) {
  EXPECT_DOUBLE_EQ(Read(10).speed, 1);
  EXPECT_DOUBLE_EQ(Read(14).speed, 0.6);
}

TEST_F(HealthGateTest, SpeedStaysAtLeastMinSpeedBelowHard) {
  EXPECT_DOUBLE_EQ(Read(19.9).speed, 0.05);
  EXPECT_FALSE(Look().gate_shut);
}

TEST_F(HealthGateTest, GateShutsAtHard) {
  const engine::Health& health = Read(20);
  EXPECT_TRUE(health.gate_shut);
  EXPECT_EQ(health.speed, 0);
  EXPECT_EQ(health.status, HealthStatus::kHealthy);
}

TEST_F(HealthGateTest, SpeedFallsAtOnce) {
  Read(0);
  EXPECT_DOUBLE_EQ(Read(19).speed, 0.1);
}

TEST_F(HealthGateTest, GateReopensAtMinSpeedAndClimbsByOneInRecovery) {
  Read(30);
  EXPECT_DOUBLE_EQ(Read(0).speed, 0.05);
  EXPECT_FALSE(Look().gate_shut);
  EXPECT_DOUBLE_EQ(Read(0).speed, 0.10);
  EXPECT_DOUBLE_EQ(Read(0).speed, 0.15);
  for (int i = 0; i < 16; ++i) Read(0);
  EXPECT_NEAR(Look().speed, 0.95, 1e-9);
  EXPECT_NEAR(Read(0).speed, 1, 1e-9);
  EXPECT_EQ(Read(0).speed, 1);
}

TEST_F(HealthGateTest, ClimbStopsAtWhatPressureLeaves) {
  Read(18);
  Read(16);
  EXPECT_DOUBLE_EQ(Read(16).speed, 0.25);
  for (int i = 0; i < 10; ++i) Read(16);
  EXPECT_DOUBLE_EQ(Look().speed, 0.4);
}

TEST_F(HealthGateTest, IntervalThatBeganUnderPressureDoesNotCountForTheClimb) {
  Read(18);
  clock_.Advance(absl::Seconds(9));
  EXPECT_DOUBLE_EQ(Read(0).speed, 0.2);
}

TEST_F(HealthGateTest, SignalThatHoversAroundHardNeverGetsBeyondMinSpeed) {
  Read(0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Read(20).gate_shut);
    EXPECT_DOUBLE_EQ(Read(0).speed, 0.05);
  }
}

TEST_F(HealthGateTest, WithoutRecoveryTheSpeedRisesAtOnce) {
  profile_.spec.recovery = absl::ZeroDuration();
  Read(30);
  EXPECT_EQ(Read(0).speed, 1);
}

TEST_F(HealthGateTest, LooksBetweenSamplesAddNothingToTheClimb) {
  Read(30);
  Read(0);
  for (int i = 0; i < 5; ++i) Look();
  EXPECT_DOUBLE_EQ(Look().speed, 0.05);
}

TEST_F(HealthGateTest, WorstSignalBinds) {
  Watch({Load(), Signal("locks", Scope::kPrimary, 0, 10)});
  Put("locks", 6);
  EXPECT_FLOAT_EQ(Read(12).pressure, 0.6F);
  EXPECT_EQ(Look().signal, 1);
  EXPECT_EQ(Binding(), "locks");
  Read(18);
  EXPECT_EQ(Look().signal, 0);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthGateTest, NothingBindsWithoutPressure) {
  EXPECT_EQ(Read(5).signal, -1);
  EXPECT_EQ(Binding(), "");
}

TEST_F(HealthGateTest, SignalThatSlowedItIsNamedUntilTheClimbIsOver) {
  Read(15);
  Read(0);
  EXPECT_EQ(Read(0).pressure, 0);
  EXPECT_EQ(Binding(), "load");
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(Read(0).speed, 1);
  EXPECT_EQ(Binding(), "");
}

TEST_F(HealthGateTest, BindingSignalIsTheEnginesIndex) {
  profile_.signals = {"x on other", "y", "load"};
  EXPECT_EQ(Read(15).signal, 2);
}

TEST_F(HealthGateTest, SignalThatTheEngineDoesNotKnowHasNoIndex) {
  profile_.signals = {"x"};
  EXPECT_EQ(Read(15).signal, -1);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthGateTest, ThresholdsWithoutDistanceAreAStep) {
  Watch({Signal("load", Scope::kPrimary, 10, 10)});
  EXPECT_EQ(Read(9.9).speed, 1);
  EXPECT_TRUE(Read(10).gate_shut);
}

TEST_F(HealthGateTest, InfiniteReadingShutsTheGate) {
  EXPECT_TRUE(Read(kInfinity).gate_shut);
  EXPECT_EQ(Look().pressure, std::numeric_limits<float>::infinity());
}

TEST_F(HealthGateTest, NegativeInfinityIsNoPressure) { EXPECT_EQ(Read(-kInfinity).pressure, 0); }

TEST_F(HealthGateTest, ReadingThatIsNoNumberIsNotKnown) {
  const engine::Health& health = Read(std::nan(""));
  EXPECT_EQ(health.status, HealthStatus::kStale);
  EXPECT_TRUE(health.gate_shut);
  EXPECT_EQ(health.pressure, 0);
  EXPECT_EQ(Binding(), "load");
}

TEST_F(HealthGateTest, SaysWhenTheGateMayOpenNext) {
  const int64_t next_ns = Read(20).next_sample_at_ns;
  EXPECT_EQ(next_ns, NowNs() + 500'000'000);
}

TEST_F(HealthGateTest, SignalThatIsAskedSeldomKeepsTheGateShutUntilItIsAsked) {
  Sampled(0);
  Put("load", 20);
  sample_.instances["load"].next_sample_at_ns = NowNs() + 30'000'000'000;
  EXPECT_EQ(Look().next_sample_at_ns, NowNs() + 30'000'000'000);
}

TEST_F(HealthGateTest, ResumedGuardGoesOnAtItsSpeed) {
  Read(30);
  Read(0);
  HealthGate other(profile_, standbys_);
  other.Resume(*gate_);
  gate_ = other;
  EXPECT_DOUBLE_EQ(Read(0).speed, 0.10);
}

TEST_F(HealthGateTest, NewSignalDoesNotCountBeforeItWasAsked) {
  Read(12);
  Watch({Load(), Signal("new", Scope::kPrimary, 0, 1)});
  Build();
  EXPECT_EQ(Look().status, HealthStatus::kHealthy);
  EXPECT_DOUBLE_EQ(Look().speed, 0.8);
}

TEST_F(HealthGateTest, ProfileOfNewSignalsAloneIsWarming) {
  Sampled(0);
  EXPECT_EQ(Look().status, HealthStatus::kWarming);
  EXPECT_TRUE(Look().gate_shut);
}

TEST_F(HealthGateTest, RateWithoutItsSecondSampleDoesNotCount) {
  Watch({Load(), Signal("rate", Scope::kPrimary, 0, 1)});
  Put("rate", std::nullopt);
  EXPECT_EQ(Read(0).status, HealthStatus::kHealthy);
  EXPECT_EQ(Look().speed, 1);
}

}  // namespace
}  // namespace headgate::health
