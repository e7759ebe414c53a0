// A loop that is told which sessions yield, beside a foreground.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/observe/control/control_loop.h"
#include "server/observe/control/learnt_control.h"

namespace headgate::control {
namespace {

class ControlLoopYielding : public testing::Test {
 protected:
  ControlLoopYielding() {
    engine::PolicySpec policy;
    for (const std::string name : {"a", "b"}) {
      engine::BudgetSpec& budget = policy.budgets.emplace_back();
      budget.name = name;
      budget.rate = engine::AutoRate{};
      budget.burst = 0.1;
      budget.default_cost = 0.01;
      budget.max_concurrency = 100;
      engine::RuleSpec& rule = policy.rules.emplace_back();
      rule.name = name;
      rule.match.identity = name;
      rule.action = engine::ChargeAction{{name}};
    }
    EXPECT_TRUE(engine_.Install(std::move(policy), Moment()).ok());
  }

  Now Moment() const {
    const auto ns = static_cast<int64_t>((now_ + 1000) * 1e9);
    return {.monotonic_ns = ns, .wall_ns = ns};
  }
  void Sample() {
    health::WorkCounters work;
    work.sampled_at_ns = Moment().monotonic_ns;
    work.next_xid = static_cast<int64_t>(1000 * (1000 + now_)) + reported_;
    work.foreground_active = 4;
    work.batch_active = 1;
    wait_ = absl::ToDoubleSeconds(loop_.OnWork(work, Moment()).after);
  }
  bool Work(const std::string& identity) {
    engine::CheckAnswer answer;
    EXPECT_TRUE(engine_.Check({.identity = identity}, Moment(), answer).ok());
    if (answer.verdict != engine::Verdict::kAllowed) return false;
    EXPECT_TRUE(
        engine_.Report(answer.permit, {.busy_time = absl::Milliseconds(10)}, Moment()).ok());
    ++reported_;
    return true;
  }
  // Until then batch work is there all the time, and an agent tells as often as it does.
  void Pass(double seconds, bool is_told, const std::vector<std::string>& asking = {"a"}) {
    double told_at = 0;
    for (const double end = now_ + seconds; now_ < end;) {
      if (is_told && now_ - told_at >= 0.5) Tell(true), told_at = now_;
      Sample();
      for (const double next = now_ + wait_; now_ < next; now_ += 0.01) {
        for (const std::string& identity : asking) (void)Work(identity);
      }
    }
  }
  void Tell(bool works) { loop_.OnYielding({.works = works, .sessions = 2}, Moment()); }
  double RateOf(size_t place) const { return loop_.Snapshot()[place].rate; }
  // Permits that are given out at once.
  int Permits(const std::string& identity, int most) {
    int permits = 0;
    engine::CheckAnswer answer;
    for (int i = 0; i < most; ++i) {
      EXPECT_TRUE(engine_.Check({.identity = identity}, Moment(), answer).ok());
      permits += answer.verdict == engine::Verdict::kAllowed ? 1 : 0;
    }
    return permits;
  }
  void WaitUntilOpen() {
    for (int i = 0; i < 1000 && loop_.Snapshot()[0].phase != "work"; ++i) Pass(0.01, true);
  }

  double now_ = 1, wait_ = 0;
  int64_t reported_ = 0;
  engine::Engine engine_{{.seed = 1, .max_permits = 4096}};
  ControlLoop loop_{
      {.target = "", .budgets = {{"a", ""}, {"b", ""}}, .options = {.cores = 2, .max_rate = 4}},
      engine_};
};

TEST_F(ControlLoopYielding, BeginsWithOneSession) {
  Tell(true);
  Sample();
  EXPECT_NEAR(RateOf(0), 1, 0.05);
}

TEST_F(ControlLoopYielding, NoMorePermitsAreOutThanSessionsMayRun) {
  loop_.Reconfigure({.target = "", .budgets = {{"a", ""}}, .options = {.cores = 2, .max_rate = 1}});
  Pass(20, true);
  WaitUntilOpen();
  ASSERT_EQ(loop_.Snapshot()[0].phase, "work");
  now_ += 0.2;  // what is owed has drained
  EXPECT_EQ(Permits("a", 5), 1);
}

TEST_F(ControlLoopYielding, SeveralBudgetsDivideTheSessions) {
  Pass(40, true, {"a", "b"});
  EXPECT_GT(RateOf(0) + RateOf(1), 0.9);
  EXPECT_NEAR(RateOf(0) / RateOf(1), 1, 0.1);
}

TEST_F(ControlLoopYielding, FallsAtOnceWhereItIsSaidToHaveStopped) {
  Pass(20, true);
  ASSERT_GT(RateOf(0), 0.9);
  Tell(false);
  EXPECT_LE(RateOf(0), 0.08);
  EXPECT_EQ(Permits("a", 5), 0);
}

TEST_F(ControlLoopYielding, FallsWithinTwoSecondsWhereNothingIsSaidAnyMore) {
  Pass(20, true);
  ASSERT_GT(RateOf(0), 0.9);
  Pass(2.5, false);
  EXPECT_LE(RateOf(0), 0.2);
}

TEST_F(ControlLoopYielding, WhatIsSaidBeforeTheFirstSampleCounts) {
  Tell(true);
  Tell(false);
  Sample();
  EXPECT_LE(RateOf(0), 0.08);
}

TEST_F(ControlLoopYielding, GoesWhereNobodySeesItsSessions) {
  engine::CheckAnswer answer;
  Tell(true);
  Sample();
  for (; now_ < 12 && RateOf(0) > 0.5; now_ += 0.2) {
    loop_.OnYielding({.works = true}, Moment());
    Sample();
    EXPECT_TRUE(engine_.Check({.identity = "a"}, Moment(), answer).ok());
  }
  EXPECT_LE(RateOf(0), 0.2);
}

TEST_F(ControlLoopYielding, WhatWasLearntIsKept) {
  Pass(30, true);
  const absl::StatusOr<LearntControl> learnt =
      ParseLearntControl(engine_.ReadLearntControl("").bytes);
  ASSERT_TRUE(learnt.ok()) << learnt.status();
  EXPECT_TRUE(learnt->yielding.has_value());
}

TEST_F(ControlLoopYielding, ANewOptionChangesNothingOfIt) {
  Pass(10, true);
  loop_.Reconfigure({.target = "",
                     .budgets = {{"a", ""}, {"b", ""}},
                     .options = {.tolerance = 0.04, .cores = 2, .max_rate = 4}});
  Pass(0.2, false);
  EXPECT_NEAR(RateOf(0), 1, 0.1);
}

TEST_F(ControlLoopYielding, WithoutBudgetsItIsHeard) {
  loop_.Reconfigure({.target = "", .budgets = {}, .options = {}});
  Tell(true);
  Tell(false);
  EXPECT_TRUE(loop_.Snapshot().empty());
}

}  // namespace
}  // namespace headgate::control
