// Who waits while the policy changes is priced by the one in force.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/decide/engine/ledger.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::line {
namespace {

using engine::At;
using ::testing::ElementsAre;

class Silent final : public Waiter {
 public:
  explicit Silent(std::vector<std::string>& admitted) : admitted_(admitted) {}
  void Answer(int, const Decided& decided) override {
    if (decided.answer.verdict != engine::Verdict::kAllowed) return;
    admitted_.emplace_back(decided.request.identity);
  }

 private:
  std::vector<std::string>& admitted_;
};

// A budget of 5 rows a second, which the health of "lag" slows.
engine::PolicySpec PolicyOfABudgetWithHealth() {
  engine::PolicySpec spec;
  engine::BudgetSpec& budget = spec.budgets.emplace_back(engine::RateBudget("b", 5, 50));
  budget.health = "p";
  spec.profiles = {{.name = "p", .signals = {"lag"}, .thresholds = {{1, 3}}}};
  spec.rules.push_back(engine::ChargeRule("charge", "", {"b"}));
  return spec;
}

// A budget of 5 rows a second with a line, which then becomes one of busy seconds.
class LineReload : public ::testing::Test {
 protected:
  LineReload() {
    engine_.AttachLine(&lines_);
    Install(engine::RateBudget("b", 5, 50));
    Ask("first:etl", 50, now_);
  }
  void Install(const engine::BudgetSpec& budget) {
    engine::PolicySpec spec;
    spec.budgets.push_back(budget);
    spec.rules.push_back(engine::ChargeRule("charge", "", {"b"}));
    ASSERT_TRUE(engine_.Install(spec, now_).ok());
  }
  void InstallAuto() {
    engine::BudgetSpec budget = engine::RateBudget("b", 0, 0.1);
    budget.rate = engine::AutoRate{};
    budget.default_cost = 0.04;
    Install(budget);
    ASSERT_TRUE(engine_.SetAutoRate("", "b", {.rate = 0.1}, now_).ok());
  }
  void Ask(const std::string& identity, double cost, Now now) {
    const engine::CheckRequest request{.identity = identity, .estimated_cost = cost, .waits = true};
    engine::CheckAnswer answer;
    ASSERT_TRUE(engine_.Check(request, now, answer).ok());
    if (answer.verdict == engine::Verdict::kAllowed) return;
    uint64_t ticket = 0;
    const int64_t until_ns = now.monotonic_ns + absl::ToInt64Nanoseconds(absl::Hours(1));
    ASSERT_EQ(lines_.Enter({request, answer, now},
                           {.waiter = std::make_shared<Silent>(admitted_), .until_ns = until_ns},
                           &ticket),
              Entered::kWaits);
  }
  void RunFor(absl::Duration by) {
    using engine::operator+;
    const Now end = now_ + by;
    for (;;) {
      const int64_t next_ns = lines_.Advance(now_);
      if (next_ns > end.monotonic_ns) break;
      now_ = now_ + absl::Nanoseconds(std::max<int64_t>(next_ns - now_.monotonic_ns, 0));
    }
    now_ = end;
  }
  std::vector<double> BusySecondsOfThoseWhoWait() {
    std::vector<double> seconds;
    for (const LineView& line : lines_.ReadLines({.most_lines = 9, .most_waiting = 9}, now_).lines)
      for (const WaitingView& each : line.first)
        seconds.push_back(each.cost_ns / engine::Ledger::kAutoNsPerUnit);
    return seconds;
  }

  engine::Engine engine_{{.seed = 7, .max_permit_share = 1}};
  WaitingLines lines_{{}, [this](const auto& request, Now now, auto& answer) {
                        return engine_.Check(request, now, answer);
                      }};
  Now now_ = At();
  std::vector<std::string> admitted_;
};

TEST_F(LineReload, ThatChangesTheUnitPricesAllWhoWait) {
  for (const double rows : {20, 30, 40}) Ask(absl::StrCat("w", rows, ":etl"), rows, now_);
  RunFor(absl::Milliseconds(10));
  InstallAuto();
  RunFor(absl::Milliseconds(10));
  EXPECT_THAT(BusySecondsOfThoseWhoWait(),
              ElementsAre(testing::DoubleNear(0.04, 1e-6), testing::DoubleNear(0.04, 1e-6),
                          testing::DoubleNear(0.04, 1e-6)));
  // Of 0.1 busy seconds that are owed at most, each 0.04 drains in 0.4 s.
  RunFor(absl::Milliseconds(1250));
  EXPECT_EQ(admitted_.size(), 3u);
}

TEST_F(LineReload, ThatChangesTheUnitHoldsNothingAgainstWhoHasUsedMuchInTheOther) {
  Ask("used:a", 40, now_);
  RunFor(absl::Seconds(8));
  ASSERT_THAT(admitted_, ElementsAre("used:a"));
  for (int i = 0; i < 3; ++i) Ask("used:a", 40, now_);
  for (int i = 0; i < 30; ++i) Ask("other:b", 40, now_);
  InstallAuto();
  admitted_.clear();
  RunFor(absl::Seconds(3));
  EXPECT_GE(std::count(admitted_.begin(), admitted_.end(), "used:a"), 2);
}

// All in the line, though only its head is examined again.
TEST_F(LineReload, WhatSlowsTheBudgetFromNowOnIsWhatAllInItsLineWaitFor) {
  engine::PolicySpec spec;
  engine::BudgetSpec& budget = spec.budgets.emplace_back(engine::RateBudget("b", 5, 50));
  budget.health = "p";
  spec.profiles = {{.name = "p", .signals = {"lag", "locks"}, .thresholds = {{1, 3}, {10, 20}}}};
  spec.rules.push_back(engine::ChargeRule("charge", "", {"b"}));
  ASSERT_TRUE(engine_.Install(spec, now_).ok());
  const auto slow = [&](int16_t signal, double speed) {
    const engine::Health health = {.speed = speed,
                                   .status = engine::HealthStatus::kHealthy,
                                   .pressure = 0.5,
                                   .signal = signal};
    ASSERT_TRUE(engine_.SetHealth("", "p", health, now_).ok());
  };
  const auto seconds_by_signal = [&] {
    std::map<std::string, int64_t> by_signal;
    lines_.CollectWaits(now_, [&](const CountedWaits& counted) {
      EXPECT_EQ(counted.cause->budget, "b");
      by_signal[counted.cause->signal] += counted.waits.waited_ns / 1'000'000'000;
    });
    return by_signal;
  };
  for (int i = 0; i < 4; ++i) Ask(absl::StrCat("w", i, ":etl"), 40, now_);
  RunFor(absl::Seconds(1));
  slow(0, 0.5);
  RunFor(absl::Seconds(1));
  EXPECT_THAT(seconds_by_signal(), ElementsAre(testing::Pair("", 8)));
  RunFor(absl::Seconds(1));
  slow(1, 0.25);
  RunFor(absl::Seconds(1));
  EXPECT_THAT(seconds_by_signal(), ElementsAre(testing::Pair("lag", 8)));
  RunFor(absl::Seconds(1));
  EXPECT_THAT(seconds_by_signal(), ElementsAre(testing::Pair("locks", 4)));
}

// While it is shut nothing drains either, and the budget is what takes longest.
TEST_F(LineReload, WhoWaitsForABudgetBehindAShutGateWaitsForHealth) {
  ASSERT_TRUE(engine_.Install(PolicyOfABudgetWithHealth(), now_).ok());
  std::map<std::pair<engine::Reason, std::string>, int64_t> seconds;
  const auto collect = [&] {
    lines_.CollectWaits(now_, [&](const CountedWaits& counted) {
      seconds[{counted.cause->reason, counted.cause->signal}] +=
          counted.waits.waited_ns / 1'000'000'000;
    });
  };
  for (int i = 0; i < 4; ++i) Ask(absl::StrCat("w", i, ":etl"), 40, now_);
  RunFor(absl::Seconds(1));
  collect();
  const engine::Health shut = {.speed = 0,
                               .status = engine::HealthStatus::kHealthy,
                               .gate_shut = true,
                               .pressure = 2,
                               .signal = 0};
  ASSERT_TRUE(engine_.SetHealth("", "p", shut, now_).ok());
  RunFor(absl::Milliseconds(1));
  collect();
  RunFor(absl::Seconds(10));
  collect();
  EXPECT_EQ((seconds[{engine::Reason::kCapacity, ""}]), 4);
  EXPECT_EQ((seconds[{engine::Reason::kHealth, "lag"}]), 40);
}

// Though the head of the line is somebody who polls, whom nobody examines.
TEST_F(LineReload, WhoWaitsBehindSomebodyWhoPollsWaitsForHealthWhileTheGateIsShut) {
  ASSERT_TRUE(engine_.Install(PolicyOfABudgetWithHealth(), now_).ok());
  Ask("waits:etl", 40, now_);
  RunFor(absl::Milliseconds(1));
  engine::CheckAnswer polled;
  const engine::CheckRequest poll{.identity = "polls:b", .estimated_cost = 1.0};
  ASSERT_TRUE(engine_.Check(poll, now_, polled).ok());
  ASSERT_EQ(polled.verdict, engine::Verdict::kDenied);
  const auto set = [&](bool shut) {
    const engine::Health health = {.speed = shut ? 0.0 : 1.0,
                                   .status = engine::HealthStatus::kHealthy,
                                   .gate_shut = shut,
                                   .pressure = shut ? 2.0F : 0.0F,
                                   .signal = static_cast<int16_t>(shut ? 0 : -1)};
    ASSERT_TRUE(engine_.SetHealth("", "p", health, now_).ok());
    RunFor(absl::Milliseconds(1));
  };
  std::map<engine::Reason, int64_t> seconds;
  const auto collect = [&] {
    lines_.CollectWaits(now_, [&](const CountedWaits& counted) {
      seconds[counted.cause->reason] += counted.waits.waited_ns / 1'000'000'000;
    });
  };
  set(true);
  collect();
  RunFor(absl::Seconds(5));
  collect();
  EXPECT_EQ(seconds[engine::Reason::kHealth], 5);
  set(false);
  collect();
  RunFor(absl::Seconds(2));
  collect();
  EXPECT_EQ(seconds[engine::Reason::kHealth], 5);
  EXPECT_EQ(seconds[engine::Reason::kCapacity], 2);
}

// And not only once it is first in the line of the budget.
TEST_F(LineReload, WhoIsPausedFurtherBackInALineWaitsForThePauseFromThenOn) {
  Ask("first-in-line:etl", 40, now_);
  Ask("paused:etl", 40, now_);
  RunFor(absl::Seconds(1));
  engine::PolicySpec spec;
  spec.budgets.push_back(engine::RateBudget("b", 5, 50));
  spec.rules.push_back(engine::ChargeRule("charge", "", {"b"}));
  engine::RuleSpec pause = engine::RuleOn("pause", "paused:etl", engine::DenyAction{});
  pause.expires_at = now_.wall() + absl::Hours(1);
  spec.rules.push_back(pause);
  ASSERT_TRUE(engine_.Install(spec, now_).ok());
  RunFor(absl::Seconds(2));
  std::map<std::pair<std::string, engine::Reason>, int64_t> seconds;
  lines_.CollectWaits(now_, [&](const CountedWaits& counted) {
    seconds[{counted.subject->identity, counted.cause->reason}] +=
        counted.waits.waited_ns / 1'000'000'000;
  });
  EXPECT_EQ((seconds[{"paused:etl", engine::Reason::kDenyRule}]), 2);
  EXPECT_EQ((seconds[{"first-in-line:etl", engine::Reason::kCapacity}]), 3);
}

// Processor time that it takes to price all who wait after a change of the unit, where each of
// `lines` identities waits in a line of its own.
double SecondsToPrice(int lines) {
  engine::EngineOptions options;
  options.max_permit_share = 1;
  engine::Engine engine(options);
  WaitingLines waiting({.max_waiting = 100'000, .max_waiting_share = 1},
                       [&](const auto& request, Now now, auto& answer) {
                         return engine.Check(request, now, answer);
                       });
  engine.AttachLine(&waiting);
  const auto install = [&](engine::BudgetUnit unit) {
    engine::PolicySpec spec;
    engine::BudgetSpec& budget = spec.budgets.emplace_back(engine::RateBudget("b", 1e-3, 100));
    budget.split = engine::SplitByDepth{2};
    budget.max_buckets = 1 << 15;
    budget.unit = unit;
    spec.rules.push_back(engine::ChargeRule("charge", "", {"b"}));
    EXPECT_TRUE(engine.Install(std::move(spec), At()).ok());
  };
  install(engine::BudgetUnit::kCost);
  std::vector<std::string> admitted;
  for (int i = 0; i < 2 * lines; ++i) {
    const std::string identity = absl::StrCat("job-", i % lines, ":etl");
    const engine::CheckRequest request{
        .identity = identity, .estimated_cost = 100, .waits = i >= lines};
    engine::CheckAnswer answer;
    EXPECT_TRUE(engine.Check(request, At(), answer).ok());
    uint64_t ticket = 0;
    if (i < lines) continue;
    const int64_t until_ns = At().monotonic_ns + absl::ToInt64Nanoseconds(absl::Hours(1));
    EXPECT_EQ(waiting.Enter({request, answer, At()},
                            {.waiter = std::make_shared<Silent>(admitted), .until_ns = until_ns},
                            &ticket),
              Entered::kWaits);
  }
  const auto run = [&] {
    while (waiting.Advance(At()) <= At().monotonic_ns) {
    }
  };
  run();
  install(engine::BudgetUnit::kBusyTime);
  const std::clock_t from = std::clock();
  run();
  EXPECT_EQ(waiting.ReadStats(At()).waiting, static_cast<size_t>(lines));
  return static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
}

TEST(LineReloadCost, IsThatOfThoseWhoWaitAndNotOfLinesTimesThem) {
  (void)SecondsToPrice(100);  // memory is fresh
  const double few = SecondsToPrice(500), many = SecondsToPrice(8000);
  EXPECT_LT(many, 64 * few);  // 16 times as many; of each with all others, 256 times as much
}

}  // namespace
}  // namespace headgate::line
