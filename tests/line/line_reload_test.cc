// Who waits while the policy changes is priced by the one in force.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/engine/engine.h"
#include "server/engine/ledger.h"
#include "server/line/waiting_lines.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::line {
namespace {

using engine::At;
using ::testing::ElementsAre;

class Silent final : public Waiter {
 public:
  explicit Silent(std::vector<std::string>& admitted) : admitted_(admitted) {}
  void Answer(int, const absl::Status&, const engine::CheckRequest& request,
              engine::CheckAnswer& answer, Now) override {
    if (answer.verdict != engine::Verdict::kAllowed) return;
    admitted_.emplace_back(request.identity);
  }

 private:
  std::vector<std::string>& admitted_;
};

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
    ASSERT_EQ(lines_.Enter(request, answer, now,
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

}  // namespace
}  // namespace headgate::line
