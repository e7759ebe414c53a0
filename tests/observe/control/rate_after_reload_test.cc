// Reloads that change which budgets are auto: the rate that was found is divided anew, no more of
// it is handed out than there is, and nobody has to be known again.

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/observe/control/control_loop.h"

namespace headgate::control {
namespace {

constexpr double kMostRate = 4;
constexpr ControlOptions kOptions = {.cores = 2, .max_rate = kMostRate};

Now SecondsIn(double seconds) {
  const auto ns = static_cast<int64_t>((seconds + 1000) * 1e9);
  return {.monotonic_ns = ns, .wall_ns = ns};
}

// One auto budget for each identity of its name.
engine::PolicySpec PolicyOf(const std::vector<std::string>& names) {
  engine::PolicySpec policy;
  policy.profiles = {{.name = "guard", .signals = {"lag"}}};
  for (const std::string& name : names) {
    engine::BudgetSpec& budget = policy.budgets.emplace_back();
    budget.name = name;
    budget.rate = engine::AutoRate{};
    budget.burst = 1.0;
    budget.max_concurrency = 100;
    engine::RuleSpec& rule = policy.rules.emplace_back();
    rule.name = name;
    rule.match.identity = name;
    rule.action = engine::ChargeAction{{name}};
  }
  return policy;
}

// Who asks, and what each of its chunks takes.
struct Job {
  std::string identity;
  double busy_seconds = 0.1;
};

// A database without a foreground, which bears kMostRate. The engine has a, b and c from the
// beginning, the loop those that it is given.
class ControlLoopReload : public testing::Test {
 protected:
  ControlLoopReload() { EXPECT_TRUE(engine_.Install(PolicyOf({"a", "b", "c"}), Time()).ok()); }

  Now Time() const { return SecondsIn(now_); }

  void Reload(std::vector<ControlledBudget> budgets, const ControlOptions& options = kOptions) {
    loop_.Reconfigure({.target = "", .budgets = std::move(budgets), .options = options});
  }
  void TellHealth(std::string_view profile, double speed) {
    loop_.OnHealth(profile, {.speed = speed}, Time());
  }
  // So many seconds pass, in which each asks every 0.2 s, and reports.
  void Pass(double seconds, const std::vector<Job>& jobs) {
    for (const double end = now_ + seconds; now_ < end; now_ += 0.2) {
      for (const Job& job : jobs) {
        engine::CheckAnswer answer;
        const engine::CheckRequest request{.identity = job.identity,
                                           .estimated_cost = job.busy_seconds};
        EXPECT_TRUE(engine_.Check(request, Time(), answer).ok());
        if (answer.permit == 0) continue;
        const absl::Duration busy_time = absl::Seconds(job.busy_seconds);
        EXPECT_TRUE(engine_.Report(answer.permit, {.busy_time = busy_time}, Time()).ok());
      }
      Sample();
    }
  }
  void Sample() {
    health::WorkCounters work;
    work.sampled_at_ns = Time().monotonic_ns;
    work.next_xid = 1000;
    (void)loop_.OnWork(work, Time());
  }

  double RateOf(size_t place) const { return loop_.Snapshot()[place].rate; }
  double DrainOf(size_t place) const { return *engine_.ReadBudgets(Time())[place].rate; }
  double AllDrain() const { return DrainOf(0) + DrainOf(1) + DrainOf(2); }

  double now_ = 1;
  engine::Engine engine_{{.seed = 1, .max_permits = 4096}};
  ControlLoop loop_{{.target = "", .budgets = {{"a", ""}, {"b", ""}}, .options = kOptions},
                    engine_};
};

TEST_F(ControlLoopReload, WhoAsksKeepsWhatItHasWhereOneIsAddedThatNobodyAsksFor) {
  Pass(60, {{"b"}});
  Pass(3600, {{"a"}});
  ASSERT_DOUBLE_EQ(RateOf(0), 4);
  Reload({{"a", ""}, {"b", ""}, {"c", ""}});
  EXPECT_DOUBLE_EQ(RateOf(0), 4);
  EXPECT_DOUBLE_EQ(RateOf(1), 2);  // which it would get
  EXPECT_DOUBLE_EQ(RateOf(2), 2);
  for (int i = 0; i < 30; ++i) {
    Pass(0.2, {{"a"}});
    ASSERT_DOUBLE_EQ(RateOf(0), 4) << i;
    ASSERT_NEAR(DrainOf(0), 4, 0.04) << i;
  }
}

TEST_F(ControlLoopReload, HealthBetweenAReloadAndTheNextSampleHandsOutNoMoreThanThereIs) {
  Reload({{"a", "guard"}, {"b", ""}});
  Pass(10, {{"a", 0.001}, {"b", 0.001}, {"c", 0.001}});
  ASSERT_NEAR(DrainOf(0) + DrainOf(1), kMostRate, 0.01);
  Reload({{"a", "guard"}, {"b", ""}, {"c", ""}});
  TellHealth("guard", 0.9);
  EXPECT_NEAR(DrainOf(0), 1.8, 0.01);
  EXPECT_NEAR(DrainOf(1), 2, 0.01);
  EXPECT_EQ(DrainOf(2), 0);  // until the next sample
  Pass(0.2, {{"a", 0.001}, {"b", 0.001}, {"c", 0.001}});
  EXPECT_GT(DrainOf(2), 1);
  EXPECT_LE(AllDrain(), kMostRate + 0.01);
}

TEST_F(ControlLoopReload, HealthThatStaysAsItWasTellsTheEngineOfTheNewShares) {
  Pass(10, {{"a"}, {"b"}});
  ASSERT_NEAR(DrainOf(0), 2, 0.01);
  Reload({{"a", ""}});
  TellHealth("guard", 1);
  EXPECT_NEAR(DrainOf(0), 4, 0.04);
}

TEST_F(ControlLoopReload, WhatEachUsesIsKnownAsBefore) {
  const std::vector<Job> jobs = {{"a", 0.1}, {"b", 0.7}};
  Pass(600, jobs);
  const double of_a = RateOf(0), of_b = RateOf(1);
  ASSERT_GT(of_b, 2 * of_a);
  Reload({{"c", ""}, {"b", ""}, {"a", ""}});
  EXPECT_NEAR(RateOf(2), of_a, 0.01);
  EXPECT_NEAR(RateOf(1), of_b, 0.01);
  for (int i = 0; i < 100; ++i) {
    Pass(0.2, jobs);
    ASSERT_NEAR(RateOf(2), of_a, 0.3) << i;
    ASSERT_NEAR(RateOf(1), of_b, 0.3) << i;
  }
}

TEST_F(ControlLoopReload, WhatOneDidBeforeItWasOfTheLoopIsNotCounted) {
  Pass(600, {{"a", 0.1}, {"c", 0.7}});
  ASSERT_DOUBLE_EQ(RateOf(0), 4);
  Reload({{"a", ""}, {"c", ""}});
  // Its history of minutes is neither work of the last moment nor a reason to think that it asks.
  for (int i = 0; i < 30; ++i) {
    Pass(0.2, {{"a", 0.1}});
    ASSERT_DOUBLE_EQ(RateOf(0), 4) << i;
    ASSERT_EQ(loop_.Snapshot()[0].phase, "idle") << i;
  }
}

TEST_F(ControlLoopReload, OneThatIsTakenAwayLeavesItsShareAndNoPauseBehind) {
  Pass(60, {{"a"}, {"b"}});
  ASSERT_DOUBLE_EQ(RateOf(0), 2);
  Reload({{"a", ""}});
  EXPECT_DOUBLE_EQ(RateOf(0), 4);
  Pass(0.2, {{"a"}});
  // What all had done so far is less by what the other one did, which is no other database.
  EXPECT_EQ(loop_.Snapshot()[0].phase, "idle");
  EXPECT_DOUBLE_EQ(RateOf(0), 4);
}

TEST_F(ControlLoopReload, OneThatIsPutBackIsAsNew) {
  Pass(60, {{"a"}, {"b"}});
  Reload({{"a", ""}});
  Pass(60, {{"a"}, {"b"}});
  Reload({{"a", ""}, {"b", ""}});
  TellHealth("guard", 1);
  EXPECT_NEAR(DrainOf(0), 4, 0.04);
  EXPECT_EQ(DrainOf(1), 0);
  Pass(0.2, {{"a"}, {"b"}});
  EXPECT_GE(RateOf(1), 2);  // what the first is known not to use is its as well
  EXPECT_NEAR(RateOf(0) + RateOf(1), kMostRate, 1e-9);
}

TEST_F(ControlLoopReload, WeightsAreInForceAtOnce) {
  Pass(60, {{"a", 0.7}, {"b", 0.7}});
  ASSERT_DOUBLE_EQ(RateOf(0), 2);
  Reload({{"a", "", 3}, {"b", "", 1}});
  EXPECT_DOUBLE_EQ(RateOf(0), 3);
  EXPECT_DOUBLE_EQ(RateOf(1), 1);
}

TEST_F(ControlLoopReload, ALowerMostIsNotExceededUntilTheNextSample) {
  Pass(60, {{"a"}});
  ASSERT_DOUBLE_EQ(RateOf(0), 4);
  Reload({{"a", ""}, {"b", ""}}, {.cores = 2, .max_rate = 1});
  EXPECT_LE(RateOf(0), 1);
  TellHealth("guard", 0.9);
  EXPECT_LE(DrainOf(0), 1.001);
}

TEST_F(ControlLoopReload, BeforeTheFirstSampleItIsAsThoughItHadBegunSo) {
  Reload({{"b", ""}, {"c", ""}});
  TellHealth("guard", 0.9);
  Pass(5, {{"b"}, {"c"}});
  EXPECT_DOUBLE_EQ(RateOf(0), 2);
  EXPECT_DOUBLE_EQ(RateOf(1), 2);
}

}  // namespace
}  // namespace headgate::control
