#include "server/observe/control/control_loop.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"

namespace headgate::control {
namespace {

Now At(double seconds) {
  const auto ns = static_cast<int64_t>((seconds + 1000) * 1e9);
  return {.monotonic_ns = ns, .wall_ns = ns};
}

// A loop whose database has no foreground: it allows its most, which is 4.
class ControlLoopTest : public testing::Test {
 protected:
  ControlLoopTest() {
    engine::PolicySpec policy;
    policy.profiles = {{.name = "guard", .signals = {"lag"}}};
    for (const std::string name : {"a", "b"}) {
      engine::BudgetSpec budget;
      budget.name = name;
      budget.rate = engine::AutoRate{};
      budget.burst = 1.0;
      budget.max_concurrency = 100;
      policy.budgets.push_back(std::move(budget));
      engine::RuleSpec rule;
      rule.name = name;
      rule.match.identity = name;
      rule.action = engine::ChargeAction{{name}};
      policy.rules.push_back(std::move(rule));
    }
    EXPECT_TRUE(engine_.Install(std::move(policy), At(0)).ok());
  }

  void Ask(const std::string& identity) {
    engine::CheckAnswer answer;
    EXPECT_TRUE(
        engine_.Check({.identity = identity, .estimated_cost = 0.001}, At(now_), answer).ok());
  }

  // So many seconds pass, in which these are asked for.
  void Pass(double seconds, const std::vector<std::string>& asking) {
    for (const double end = now_ + seconds; now_ < end; now_ += 0.2) {
      for (const std::string& identity : asking) Ask(identity);
      health::WorkCounters work;
      work.sampled_at_ns = At(now_).monotonic_ns;
      work.next_xid = 1000;
      EXPECT_LT(loop_.OnWork(work, At(now_)).after, absl::Seconds(1));
    }
  }

  double RateOf(size_t place) { return loop_.Snapshot()[place].rate; }
  double DrainOf(size_t place) { return *engine_.ReadBudgets(At(now_))[place].rate; }

  double now_ = 1;
  engine::Engine engine_{{.seed = 1, .max_permits = 4096}};
  ControlLoop loop_{{.target = "",
                     .budgets = {{"a", "guard"}, {"b", ""}},
                     .options = {.cores = 2, .max_rate = 4}},
                    engine_};
};

TEST_F(ControlLoopTest, OneBudgetThatIsAskedForGetsAllOfTheRate) {
  Pass(5, {"a"});
  EXPECT_DOUBLE_EQ(RateOf(0), 4);
  EXPECT_NEAR(DrainOf(0), 4, 0.04);
  EXPECT_EQ(loop_.Snapshot()[0].budget, "a");
  EXPECT_EQ(loop_.Snapshot()[0].phase, "idle");
}

TEST_F(ControlLoopTest, SeveralShareItEqually) {
  Pass(5, {"a", "b"});
  EXPECT_NEAR(DrainOf(0), 2, 0.02);
  EXPECT_NEAR(DrainOf(1), 2, 0.02);
}

TEST_F(ControlLoopTest, OneThatIsNotAskedForFindsItsShareReady) {
  Pass(5, {"a"});
  EXPECT_NEAR(DrainOf(1), 2, 0.02);
}

TEST_F(ControlLoopTest, AShareReturnsWhenItIsNoLongerAskedFor) {
  Pass(5, {"a", "b"});
  Pass(6, {"a"});
  EXPECT_NEAR(DrainOf(0), 4, 0.04);
}

TEST_F(ControlLoopTest, AGuardSlowsItsBudgetAtOnceAndNoOther) {
  Pass(5, {"a", "b"});
  loop_.OnHealth("guard", {.speed = 0.25}, At(now_));
  EXPECT_NEAR(DrainOf(0), 0.5, 0.005);
  EXPECT_DOUBLE_EQ(RateOf(0), 0.5);
  EXPECT_NEAR(DrainOf(1), 2, 0.02);
}

TEST_F(ControlLoopTest, AGateThatIsShutFromTheBeginningLeavesTheOthersTheirShare) {
  loop_.OnHealth("guard", {.speed = 0}, At(now_));
  Pass(10, {"a", "b"});
  EXPECT_EQ(DrainOf(0), 0);
  EXPECT_GT(DrainOf(1), 0);  // the least, as nothing was reported
  EXPECT_LE(DrainOf(1), 4);
}

TEST_F(ControlLoopTest, ADatabaseThatCannotBeSeenIsSaidToBe) {
  Pass(5, {"a"});
  now_ += 3;
  EXPECT_LT(loop_.OnWork(absl::UnavailableError("gone"), At(now_)).after, absl::Seconds(1));
  EXPECT_EQ(loop_.Snapshot()[0].phase, "blind");
  EXPECT_NEAR(DrainOf(0), 0.02, 1e-6);
}

TEST_F(ControlLoopTest, WithoutBudgetsNothingIsSampled) {
  loop_.Reconfigure({.target = "", .budgets = {}, .options = {}});
  EXPECT_EQ(loop_.OnWork(health::WorkCounters{}, At(now_)).after, absl::InfiniteDuration());
  EXPECT_TRUE(loop_.Snapshot().empty());
}

TEST_F(ControlLoopTest, WhatWasFoundOutlivesAReloadOfOtherThings) {
  Pass(5, {"a"});
  loop_.Reconfigure({.target = "", .budgets = {{"a", ""}}, .options = {.cores = 2, .max_rate = 4}});
  Pass(0.2, {"a"});
  EXPECT_NEAR(DrainOf(0), 4, 0.04);
}

}  // namespace
}  // namespace headgate::control
