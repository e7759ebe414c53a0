#include "server/serve/web/readiness.h"

#include <vector>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::web {
namespace {

using testing::HasSubstr;
using State = Readiness::State;

health::TargetSnapshot Target(const std::string& name, bool measured, bool sampled) {
  health::TargetSnapshot target;
  target.name = name;
  if (!measured) return target;
  health::ServerSnapshot primary;
  primary.name = "primary";
  primary.sampled_at_ns = sampled ? 1 : 0;
  target.servers.push_back(primary);
  return target;
}

class ReadinessTest : public testing::Test {
 protected:
  void Serve() {
    readiness_.Serve([this] { return targets_; });
  }

  FakeClock clock_;
  Readiness readiness_{clock_, absl::Seconds(30)};
  std::vector<health::TargetSnapshot> targets_;
};

TEST_F(ReadinessTest, IsStartingUntilTheServerServes) {
  EXPECT_EQ(readiness_.Read().state, State::kStarting);
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE(readiness_.Read().ready());
}

TEST_F(ReadinessTest, IsReadyAtOnceWhereNothingIsMeasured) {
  targets_ = {Target("unmeasured", false, false)};
  Serve();
  EXPECT_EQ(readiness_.Read().state, State::kReady);
}

TEST_F(ReadinessTest, WaitsForTheFirstSampleOfEachTargetAndNamesThoseWithoutOne) {
  targets_ = {Target("a", true, true), Target("b", true, false)};
  Serve();
  const Readiness::View waiting = readiness_.Read();
  EXPECT_EQ(waiting.state, State::kStarting);
  EXPECT_EQ(waiting.why, "waiting for the first sample of target 'b'");
  targets_[1] = Target("b", true, true);
  EXPECT_EQ(readiness_.Read().state, State::kReady);
}

TEST_F(ReadinessTest, IsDegradedWhenTheTimeIsUpAndReadyOnceTheSampleComes) {
  targets_ = {Target("a", true, false)};
  Serve();
  clock_.Advance(absl::Milliseconds(29'999));
  EXPECT_EQ(readiness_.Read().state, State::kStarting);
  clock_.Advance(absl::Milliseconds(1));
  const Readiness::View degraded = readiness_.Read();
  EXPECT_EQ(degraded.state, State::kDegraded);
  EXPECT_TRUE(degraded.ready());
  EXPECT_THAT(degraded.why, HasSubstr("no sample of target 'a' within 30s"));
  targets_ = {Target("a", true, true)};
  EXPECT_EQ(readiness_.Read().state, State::kReady);
}

TEST_F(ReadinessTest, StaysReadyWhateverComesLater) {
  Serve();
  EXPECT_EQ(readiness_.Read().state, State::kReady);
  targets_ = {Target("new", true, false)};
  EXPECT_EQ(readiness_.Read().state, State::kReady);
}

TEST_F(ReadinessTest, StaysReadyThoughNobodyAskedWhenItBecameSo) {
  targets_ = {Target("a", true, true)};
  Serve();
  readiness_.BeforeChange();
  targets_ = {Target("new", true, false)};
  EXPECT_EQ(readiness_.Read().state, State::kReady);
}

TEST_F(ReadinessTest, WaitsForNoStandby) {
  targets_ = {Target("a", true, true)};
  health::ServerSnapshot standby;
  standby.name = "standby";
  targets_[0].servers.push_back(standby);
  Serve();
  EXPECT_EQ(readiness_.Read().state, State::kReady);
}

TEST_F(ReadinessTest, EndsAtOnceWhenTheServerDrains) {
  Serve();
  EXPECT_TRUE(readiness_.Read().ready());
  readiness_.Drain();
  const Readiness::View draining = readiness_.Read();
  EXPECT_EQ(draining.state, State::kDraining);
  EXPECT_FALSE(draining.ready());
  EXPECT_EQ(draining.why, "the server is stopping");
}

TEST_F(ReadinessTest, NamesAFewTargetsOnly) {
  for (int i = 0; i < 8; ++i) targets_.push_back(Target(std::to_string(i), true, false));
  Serve();
  EXPECT_THAT(readiness_.Read().why, HasSubstr("'0', '1', '2', '3', '4' and 3 more"));
}

}  // namespace
}  // namespace headgate::web
