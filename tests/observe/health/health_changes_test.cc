// Which lines an operator finds in the log when a database goes away.

#include "server/observe/health/health_changes.h"

#include <vector>

#include "common/fake_clock.h"
#include "gtest/gtest.h"

namespace headgate::health {
namespace {

using engine::HealthStatus;

class HealthChangesTest : public testing::Test {
 protected:
  std::optional<HealthStatus> Profile(HealthStatus status) {
    return changes_.OfProfile("lag", status, clock_.Read());
  }
  bool Server(bool answers) { return changes_.OfServer("primary", answers, clock_.Read()); }

  FakeClock clock_;
  HealthChanges changes_;
};

TEST_F(HealthChangesTest, AProfileIsToldWhenItsStateIsAnother) {
  EXPECT_EQ(Profile(HealthStatus::kWarming), std::nullopt);
  EXPECT_EQ(Profile(HealthStatus::kHealthy), HealthStatus::kWarming);
  EXPECT_EQ(Profile(HealthStatus::kHealthy), std::nullopt);
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(Profile(HealthStatus::kStale), HealthStatus::kHealthy);
  EXPECT_EQ(changes_.OfProfile("other", HealthStatus::kStale, clock_.Read()), std::nullopt);
}

TEST_F(HealthChangesTest, AGateIsToldWhenItShutsByWhatElseItIsShutAndWhenItOpens) {
  using Gate = HealthChanges::Gate;
  const auto tell = [&](const Gate& gate) {
    clock_.Advance(absl::Minutes(1));
    return changes_.OfGate("lag", gate, clock_.Read());
  };
  EXPECT_EQ(tell({}), std::nullopt);
  EXPECT_EQ(tell({true, "lag"}), Gate{});
  EXPECT_EQ(tell({true, "lag"}), std::nullopt);
  EXPECT_EQ(tell({true, "locks"}), (Gate{true, "lag"}));
  EXPECT_EQ(tell({}), (Gate{true, "locks"}));
  // One that is shut from the start.
  EXPECT_EQ(changes_.OfGate("other", {true, "lag"}, clock_.Read()), Gate{});
}

TEST_F(HealthChangesTest, AServerIsToldWhenItIsDownAtTheStartAndNotWhenItIsUp) {
  EXPECT_FALSE(changes_.OfServer("standby", true, clock_.Read()));
  EXPECT_TRUE(Server(false));
  EXPECT_FALSE(Server(false));
  clock_.Advance(absl::Minutes(1));
  EXPECT_TRUE(Server(true));
  EXPECT_FALSE(Server(true));
}

TEST_F(HealthChangesTest, OneThatFlapsIsToldEveryTenSecondsAndItsLastStateAlways) {
  std::vector<int> told_after;  // seconds
  for (int second = 0; second < 60; ++second) {
    if (Server(second % 2 == 1)) told_after.push_back(second);
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(told_after, (std::vector<int>{0, 11, 22, 33, 44, 55}));
  // The last was that it answers. Now it stays down.
  told_after.clear();
  for (int second = 60; second < 120; ++second) {
    if (Server(false)) told_after.push_back(second);
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(told_after, (std::vector<int>{65}));
}

TEST_F(HealthChangesTest, ANoteIsToldWhenItIsNewAndWhenItComesBack) {
  const auto told = [&](const std::vector<std::string>& notes) {
    return changes_.OfNotes(notes, clock_.Read());
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(told({"a", "b"}), (Notes{"a", "b"}));
  EXPECT_EQ(told({"b", "c"}), (Notes{"c"}));
  EXPECT_EQ(told({"a", "b", "c"}), Notes());  // it was away for too short a time
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(told({"a", "b", "c"}), Notes());
  EXPECT_EQ(told({}), Notes());
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(told({"a"}), (Notes{"a"}));
}

}  // namespace
}  // namespace headgate::health
