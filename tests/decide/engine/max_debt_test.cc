// How long Reports may keep a bucket from admitting.

#include <string>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

BudgetSpec Bounded() {
  BudgetSpec budget = RateBudget("rows", 100, 500);
  budget.max_overrun = 1e6;
  budget.max_debt = absl::Seconds(20);
  return budget;
}

TEST(MaxDebt, AReportLeavesNoMoreThanTheBurstAndSoMuchOfTheRate) {
  TestEngine engine(OneBudget(Bounded()));
  const Settlement settled = engine.Settle(engine.Check("etl", 100).permit, {.cost = 9'000});
  EXPECT_EQ(engine.Debt("etl", "rows"), 2'500);
  EXPECT_EQ(engine.Check("etl", 0).retry_after, absl::Seconds(20));
  ASSERT_EQ(settled.overruns.size(), 1U);
  EXPECT_EQ(settled.overruns[0].reported, 9'000);
  EXPECT_EQ(settled.overruns[0].charged, 2'500);
  EXPECT_EQ(engine->ReadBudgets(At())[0].overruns, 1U);
  EXPECT_EQ(engine->ReadBudgets(At())[0].overrun_sum, 6'500);
}

TEST(MaxDebt, AllReportsTogetherAreBounded) {
  TestEngine engine(OneBudget(Bounded()));
  const PermitId first = engine.Check("etl", 100).permit;
  const PermitId second = engine.Check("etl", 100).permit;
  const PermitId third = engine.Check("etl", 100).permit;
  EXPECT_TRUE(engine.Settle(first, {.cost = 1'300}).overruns.empty());
  const Settlement over = engine.Settle(second, {.cost = 5'000});
  ASSERT_EQ(over.overruns.size(), 1U);
  EXPECT_EQ(over.overruns[0].charged, 1'100);  // 1,500 were owed, of them 100 by itself
  const Settlement none = engine.Settle(third, {.cost = 5'000});
  ASSERT_EQ(none.overruns.size(), 1U);
  EXPECT_EQ(none.overruns[0].charged, 100);
  EXPECT_EQ(engine.Debt("etl", "rows"), 2'500);
}

TEST(MaxDebt, IsAMinuteUnlessItIsSet) {
  BudgetSpec budget = RateBudget("rows", 100, 500);
  budget.max_overrun = 1e6;
  TestEngine engine(OneBudget(budget));
  engine.Settle(engine.Check("etl", 100).permit, {.cost = 1e9});
  EXPECT_EQ(engine.Debt("etl", "rows"), 6'500);
}

TEST(MaxDebt, OfAnAutoBudgetIsOfOneBusySecondASecond) {
  BudgetSpec budget = RateBudget("loop", 1, 5);
  budget.rate = AutoRate{};
  budget.max_overrun = 1e6;
  budget.max_debt = absl::Seconds(20);
  TestEngine engine(OneBudget(budget));
  ASSERT_TRUE(engine->SetAutoRate("", "loop", {.rate = 0.5}, At()).ok());
  const Now then = At(absl::Seconds(1));
  engine.Settle(engine.Check("etl", 1).permit, {.busy_time = absl::Seconds(900)}, then);
  EXPECT_EQ(engine.Debt("etl", "loop", then), 25);
}

TEST(MaxDebt, ARefundIsGivenInFullFromABucketThatIsFullToTheBound) {
  TestEngine engine(OneBudget(Bounded()));
  const PermitId large = engine.Check("etl", 100).permit;
  const PermitId small = engine.Check("etl", 50).permit;
  engine.Settle(large, {.cost = 1e6});
  EXPECT_EQ(engine.Debt("etl", "rows"), 2'500);
  EXPECT_TRUE(engine.Settle(small, {.cost = 0}).overruns.empty());
  EXPECT_EQ(engine.Debt("etl", "rows"), 2'450);
}

TEST(MaxDebt, MustBeASecondToADay) {
  for (const absl::Duration wrong :
       {absl::ZeroDuration(), absl::Milliseconds(999), absl::Hours(25), absl::InfiniteDuration()}) {
    BudgetSpec budget = Bounded();
    budget.max_debt = wrong;
    EXPECT_NE(Message(Validate(OneBudget(budget))).find("max_debt must be 1s to 24h"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace headgate::engine
