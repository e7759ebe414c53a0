// What scrapes and status ask: it must not wait for a change, whatever the disk does, nor be one.

#include <thread>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "tests/remember/overrides/overrides_fixture.h"

namespace headgate::overrides {
namespace {

using OverridesState = OverridesTest;

// An engine that only counts, and that takes its time when it is told to.
class SlowEngine {
 public:
  absl::Status Put() {
    ++puts;
    if (!waits) return absl::OkStatus();
    waiting.Notify();
    go_on.WaitForNotification();
    return absl::OkStatus();
  }

  int puts = 0;
  bool waits = false;
  absl::Notification waiting;
  absl::Notification go_on;
};

std::unique_ptr<Registry> Open(const std::string& path, SlowEngine& engine, FakeClock& clock) {
  auto opened = Registry::Open(
      {.path = path, .put = [&engine](const engine::PolicySpec&) { return engine.Put(); }}, clock);
  EXPECT_TRUE(opened.ok()) << opened.status();
  if (!opened.ok()) return nullptr;
  EXPECT_TRUE((*opened)->Install(SomePolicy()).ok());
  return *std::move(opened);
}

TEST_F(OverridesState, IsToldWhileAChangeWaits) {
  SlowEngine engine;
  const auto registry = Open(path(), engine, clock_);
  ASSERT_NE(registry, nullptr);
  ASSERT_TRUE(registry->Create(Pause("etl")).ok());
  engine.waits = true;
  std::thread change([&] { EXPECT_TRUE(registry->Create(Pause("other")).ok()); });
  engine.waiting.WaitForNotification();
  EXPECT_EQ(registry->GetState().in_force, 1U);
  EXPECT_EQ(registry->List({}).size(), 1U);
  EXPECT_EQ(registry->ListExemptions("", 10).count, 0U);
  EXPECT_TRUE(registry->GetState().status.ok());
  engine.go_on.Notify();
  change.join();
  EXPECT_EQ(registry->GetState().in_force, 2U);
}

TEST_F(OverridesState, CountsWhatStillAppliesAndEndsNothing) {
  SlowEngine engine;
  const auto registry = Open(path(), engine, clock_);
  ASSERT_NE(registry, nullptr);
  ASSERT_TRUE(registry->Create(Pause("a", absl::Minutes(1))).ok());
  ASSERT_TRUE(registry->Create(Pause("b", Never{})).ok());
  const int puts = engine.puts;
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(registry->GetState().in_force, 1U);
  EXPECT_EQ(engine.puts, puts);
  // It is among the events, which ends it no more than the list does.
  EXPECT_EQ(registry->Events({})->size(), 3U);
  EXPECT_EQ(registry->List({}).size(), 1U);
  EXPECT_EQ(engine.puts, puts);
  registry->EndExpired();
  EXPECT_EQ(engine.puts, puts + 1);
  EXPECT_EQ(registry->GetState().in_force, 1U);
}

TEST_F(OverridesState, IsKnownFromTheStart) {
  SlowEngine engine;
  ASSERT_TRUE(Open(path(), engine, clock_)->Create(Pause("etl")).ok());
  EXPECT_EQ(Open(path(), engine, clock_)->GetState().in_force, 1U);
}

}  // namespace
}  // namespace headgate::overrides
