#include "server/share/cluster/decision_scope.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "tests/testing/test_scale.h"

namespace headgate::cluster {
namespace {

TEST(Decisions, WithoutScopesAreDrainedAtOnce) {
  Decisions decisions;
  decisions.BeginDrain();
  EXPECT_TRUE(decisions.IsDrained());
}

TEST(Decisions, AreDrainedWhenScopesFromBeforeHaveEnded) {
  Decisions decisions;
  std::optional<DecisionScope> before(decisions);
  decisions.BeginDrain();
  const DecisionScope after(decisions);
  EXPECT_FALSE(decisions.IsDrained());
  before.reset();
  EXPECT_TRUE(decisions.IsDrained());
}

TEST(Decisions, CanBeDrainedAgain) {
  Decisions decisions;
  decisions.BeginDrain();
  std::optional<DecisionScope> first(decisions);
  ASSERT_TRUE(decisions.IsDrained());
  decisions.BeginDrain();
  EXPECT_FALSE(decisions.IsDrained());
  first.reset();
  EXPECT_TRUE(decisions.IsDrained());
}

// What a handover relies on: after a drain nobody charges who has not seen that it is held.
TEST(Decisions, NothingIsChargedAfterADrainByWhoSawTheTargetUnheld) {
  Decisions decisions;
  std::atomic<bool> held{false};
  std::atomic<bool> stopping{false};
  std::atomic<int64_t> charged{0};
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stopping.load()) {
        const DecisionScope scope(decisions);
        // relaxed: the scope alone has to make it visible.
        if (!held.load(std::memory_order_relaxed)) charged.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (int i = 0; i < Scaled(20'000); ++i) {
    held.store(true, std::memory_order_relaxed);
    decisions.BeginDrain();
    while (!decisions.IsDrained()) std::this_thread::yield();
    const int64_t then = charged.load(std::memory_order_relaxed);
    for (int look = 0; look < 20; ++look) {
      ASSERT_EQ(charged.load(std::memory_order_relaxed), then);
    }
    held.store(false, std::memory_order_relaxed);
  }
  stopping = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace headgate::cluster
