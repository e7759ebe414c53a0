// Replacing the policy: nothing is forgotten, and a bad policy changes nothing.

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

BudgetSpec SplitBudget(double rate, double burst, SplitSpec split) {
  BudgetSpec budget = RateBudget("b", rate, burst);
  budget.split = std::move(split);
  return budget;
}

TEST(EngineReload, KeepsDebt) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  engine.Install(OneBudget(RateBudget("b", 1, 100)), At(absl::Seconds(10)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(10))), 50);
}

TEST(EngineReload, KeepsDebtOfEveryBucketOfASplitBudget) {
  TestEngine engine(OneBudget(SplitBudget(1, 100, SplitByDepth{2})));
  for (int i = 1; i <= 50; ++i) EXPECT_TRUE(engine.Admits("j" + std::to_string(i) + ":etl", i));
  engine.Install(OneBudget(SplitBudget(4, 100, SplitByDepth{2})));
  for (int i = 1; i <= 50; ++i) {
    EXPECT_NEAR(engine.Debt("j" + std::to_string(i) + ":etl", "b"), i, 1e-6);
  }
}

TEST(EngineReload, InvalidPolicyIsRefusedAndTheOldStays) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  const uint64_t version = engine->policy()->version;
  PolicySpec bad = OneBudget(RateBudget("b", -1, 100));
  EXPECT_EQ(engine->Install(bad, At()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine->policy()->version, version);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 60);
}

TEST(EngineReload, TooManyBucketsAreRefusedAndTheOldPolicyStays) {
  EngineOptions options = TestEngine::Options();
  options.bucket_bytes = 2 << 20;
  TestEngine engine(OneBudget(SplitBudget(1, 100, SplitByDepth{2})), options);
  EXPECT_TRUE(engine.Admits("job:etl", 60));
  PolicySpec large = OneBudget(SplitBudget(1, 100, SplitByDepth{2}));
  large.budgets[0].max_buckets = (size_t{1} << 16) + 1;
  const absl::Status status = engine->Install(large, At());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(Message(status).find("3 MiB"), std::string::npos) << status;
  EXPECT_DOUBLE_EQ(engine.Debt("job:etl", "b"), 60);
  EXPECT_TRUE(engine.Admits("job:etl", 40));
}

TEST(EngineReload, RateChangeKeepsDebtInCostUnits) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  engine.Install(OneBudget(RateBudget("b", 10, 100)), At(absl::Seconds(20)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(20))), 40);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(22))), 20);
}

TEST(EngineReload, SmallerBurstRefusesUntilTheDebtFits) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  engine.Install(OneBudget(RateBudget("b", 1, 50)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 60);
  EXPECT_EQ(engine.Check("etl", 5).retry_after, absl::Seconds(15));
}

TEST(EngineReload, RateZeroFreezesDebtUntilThereIsARateAgain) {
  TestEngine engine(OneBudget(RateBudget("b", 2, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  engine.Install(OneBudget(RateBudget("b", 0, 100)), At(absl::Seconds(10)));
  EXPECT_EQ(engine.Check("etl", 0, At(absl::Hours(1))).violations[0].limit, Limit::kRate);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Hours(1))), 40);
  engine.Install(OneBudget(RateBudget("b", 4, 100)), At(absl::Hours(1)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Hours(1))), 40);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Hours(1) + absl::Seconds(5))), 20);
}

TEST(EngineReload, BudgetRemovedAndPutBackStillOwes) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  engine.Install(PolicySpec{}, At(absl::Seconds(10)));
  EXPECT_TRUE(engine.Admits("etl", 1000, At(absl::Seconds(10))));
  engine.Install(OneBudget(RateBudget("b", 1, 100)), At(absl::Seconds(20)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(20))), 40);
}

TEST(EngineReload, BudgetDisabledAndEnforcedAgainStillOwes) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 60));
  PolicySpec off = OneBudget(RateBudget("b", 1, 100));
  off.budgets[0].mode = Mode::kDisabled;
  engine.Install(off);
  EXPECT_TRUE(engine.Admits("etl", 1000));
  engine.Install(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 60);
}

TEST(EngineReload, OrderOfBudgetsAndRulesDoesNotMatter) {
  TestEngine engine(Budgets({RateBudget("a", 1, 100), RateBudget("b", 1, 100)}));
  EXPECT_TRUE(engine.Admits("etl", 60));
  engine.Install(Budgets({RateBudget("new", 1, 100), RateBudget("b", 1, 100)}));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 60);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "new"), 0);
}

TEST(EngineReload, ChangedSplitStartsFromTheLargestDebt) {
  TestEngine engine(OneBudget(SplitBudget(1, 100, SplitByDepth{2})));
  EXPECT_TRUE(engine.Admits("j1:etl", 30));
  EXPECT_TRUE(engine.Admits("j2:etl", 70));
  engine.Install(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 70);
  engine.Install(OneBudget(SplitBudget(1, 100, SplitByTag{"table"})), At(absl::Seconds(20)));
  EXPECT_DOUBLE_EQ(engine.Debt("j1:etl", "b", At(absl::Seconds(20))), 50);
}

TEST(EngineReload, ChangedProfileKeepsDebtAndDrainsOnItsClock) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 100));
  spec.profiles = {{.name = "fast", .signals = {}}, {.name = "slow", .signals = {}}};
  spec.budgets[0].health = "fast";
  TestEngine engine(spec);
  engine.SetHealth("fast", {.speed = 1});
  engine.SetHealth("slow", {.speed = 0.1});
  EXPECT_TRUE(engine.Admits("etl", 60));
  spec.budgets[0].health = "slow";
  engine.Install(spec, At(absl::Seconds(10)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(10))), 50);
  EXPECT_NEAR(engine.Debt("etl", "b", At(absl::Seconds(20))), 49, 1e-6);
}

TEST(EngineReload, AutoRateSurvives) {
  BudgetSpec budget = RateBudget("b", 0, 100);
  budget.rate = AutoRate{};
  budget.default_cost = 60;
  TestEngine engine(OneBudget(budget));
  EXPECT_TRUE(engine.Admits("etl", 60));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 3}, At()).ok());
  budget.burst = 200.0;
  engine.Install(OneBudget(budget));
  EXPECT_NEAR(engine.Debt("etl", "b", At(absl::Seconds(10))), 30, 1e-6);
}

TEST(EngineReload, FromAutoToFixedKeepsDebt) {
  BudgetSpec budget = RateBudget("b", 0, 100);
  budget.rate = AutoRate{};
  budget.default_cost = 60;
  TestEngine engine(OneBudget(budget));
  EXPECT_TRUE(engine.Admits("etl", 60));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 3}, At()).ok());
  BudgetSpec fixed = RateBudget("b", 6, 100);
  fixed.unit = BudgetUnit::kBusyTime;
  engine.Install(OneBudget(fixed), At(absl::Seconds(10)));
  EXPECT_NEAR(engine.Debt("etl", "b", At(absl::Seconds(10))), 30, 1e-6);
  EXPECT_NEAR(engine.Debt("etl", "b", At(absl::Seconds(12))), 18, 1e-6);
}

TEST(EngineReload, MoreBucketsKeepDebt) {
  BudgetSpec budget = SplitBudget(1, 100, SplitByDepth{2});
  budget.max_buckets = 64;
  TestEngine engine(OneBudget(budget));
  for (int i = 1; i <= 20; ++i) EXPECT_TRUE(engine.Admits("j" + std::to_string(i) + ":etl", i));
  budget.max_buckets = 4096;
  engine.Install(OneBudget(budget));
  for (int i = 1; i <= 20; ++i) {
    EXPECT_DOUBLE_EQ(engine.Debt("j" + std::to_string(i) + ":etl", "b"), i);
  }
}

TEST(EngineReload, FewerBucketsOweAtLeastAsMuch) {
  BudgetSpec budget = SplitBudget(1, 100, SplitByDepth{2});
  TestEngine engine(OneBudget(budget));
  for (int i = 1; i <= 50; ++i) EXPECT_TRUE(engine.Admits("j" + std::to_string(i) + ":etl", 40));
  budget.max_buckets = 8;
  engine.Install(OneBudget(budget));
  for (int i = 1; i <= 50; ++i) {
    EXPECT_GE(engine.Debt("j" + std::to_string(i) + ":etl", "b"), 40);
  }
}

// What evicted buckets owe is inherited by whoever took their cells. A larger table has free cells.
TEST(EngineReload, MoreBucketsForgetNoInheritedDebt) {
  BudgetSpec budget = SplitBudget(1, 100, SplitByDepth{2});
  budget.max_buckets = 8;
  TestEngine engine(OneBudget(budget));
  for (int i = 1; i <= 50; ++i) engine.Admits("j" + std::to_string(i) + ":etl", 20);
  budget.max_buckets = 4096;
  engine.Install(OneBudget(budget));
  int forgotten = 0;
  for (int i = 1; i <= 50; ++i) {
    forgotten += engine.Debt("j" + std::to_string(i) + ":etl", "b") < 20 - 1e-6;
  }
  EXPECT_EQ(forgotten, 0);
}

TEST(EngineReload, MoreBucketsAfterAChangedSplitForgetNoDebt) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 70));
  BudgetSpec split = SplitBudget(1, 100, SplitByDepth{2});
  split.max_buckets = 64;
  engine.Install(OneBudget(split));
  EXPECT_DOUBLE_EQ(engine.Debt("j1:etl", "b"), 70);
  split.max_buckets = 4096;
  engine.Install(OneBudget(split));
  EXPECT_DOUBLE_EQ(engine.Debt("j1:etl", "b"), 70);
}

TEST(EngineReload, KeepsPermitsAndConcurrency) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 1)));
  const PermitId permit = engine.Check("etl", 1).permit;
  engine.Install(OneBudget(ConcurrencyBudget("b", 1)));
  EXPECT_FALSE(engine.Admits("etl", 1));
  EXPECT_EQ(engine.Report(permit, 1), ReportOutcome::kSettled);
  EXPECT_TRUE(engine.Admits("etl", 1));
}

TEST(EngineReload, LowerConcurrencyCountsPermitsThatAreOut) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 3)));
  const PermitId first = engine.Check("etl", 1).permit;
  const PermitId second = engine.Check("etl", 1).permit;
  EXPECT_TRUE(engine.Admits("etl", 1));
  engine.Install(OneBudget(ConcurrencyBudget("b", 2)));
  engine.Report(first, 1);
  EXPECT_FALSE(engine.Admits("etl", 1));
  engine.Report(second, 1);
  EXPECT_TRUE(engine.Admits("etl", 1));
}

TEST(EngineReload, ReportAcrossARateChangeSettlesInCostUnits) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId less = engine.Check("etl", 40).permit;
  const PermitId more = engine.Check("etl", 40).permit;
  engine.Install(OneBudget(RateBudget("b", 8, 100)));
  engine.Report(less, 30);
  EXPECT_NEAR(engine.Debt("etl", "b"), 70, 1e-6);
  engine.Report(more, 55);
  EXPECT_NEAR(engine.Debt("etl", "b"), 85, 1e-6);
}

TEST(EngineReload, ReportAcrossARateChangeRefundsOnlyWhatHasNotDrained) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId first = engine.Check("etl", 40).permit;
  engine.Install(OneBudget(RateBudget("b", 8, 100)), At(absl::Seconds(10)));
  // 30 are left at 10 s, none at 13.75 s; another 50 come at 20 s.
  EXPECT_TRUE(engine.Admits("etl", 50, At(absl::Seconds(20))));
  engine.Report(first, 0, At(absl::Seconds(20)));
  EXPECT_NEAR(engine.Debt("etl", "b", At(absl::Seconds(20))), 50, 1e-6);
}

// A rate that is edited again and again while work is under way, as when somebody looks for the
// right one.
TEST(EngineReload, ReportAcrossManyRateChangesSettlesInCostUnits) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId less = engine.Check("etl", 40).permit;
  const PermitId more = engine.Check("etl", 40).permit;
  for (const double rate : {8.0, 0.5, 3.0, 100.0, 0.25, 1.0}) {
    engine.Install(OneBudget(RateBudget("b", rate, 100)));
  }
  engine.Report(less, 30);
  EXPECT_NEAR(engine.Debt("etl", "b"), 70, 1e-5);
  engine.Report(more, 55);
  EXPECT_NEAR(engine.Debt("etl", "b"), 85, 1e-5);
}

TEST(EngineReload, ReportAcrossTwoRateChangesRefundsOnlyWhatHasNotDrained) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId first = engine.Check("etl", 40).permit;
  engine.Install(OneBudget(RateBudget("b", 8, 100)), At(absl::Seconds(10)));  // 30 are left
  engine.Install(OneBudget(RateBudget("b", 2, 100)), At(absl::Seconds(12)));  // 14 are left
  const absl::StatusOr<Settlement> settled =
      engine->Report(first, {.cost = 0}, At(absl::Seconds(15)));
  ASSERT_TRUE(settled.ok());
  EXPECT_TRUE(settled->unsettled.empty());
  EXPECT_NEAR(engine.Debt("etl", "b", At(absl::Seconds(15))), 0, 1e-6);  // 8 were left
}

TEST(EngineReload, ReportAcrossRateChangesOutlivesARestart) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId permit = engine.Check("etl", 40).permit;
  for (const double rate : {8.0, 0.5, 3.0}) {
    engine.Install(OneBudget(RateBudget("b", rate, 100)));
  }
  SavedState saved;
  engine->Save(At(), saved);
  Engine next(TestEngine::Options());
  ASSERT_TRUE(next.Restore(saved, At(), 0).ok());
  ASSERT_TRUE(next.Install(OneBudget(RateBudget("b", 5, 100)), At()).ok());
  ASSERT_TRUE(next.Report(permit, {.cost = 10}, At()).ok());
  const absl::StatusOr<Explanation> explained = next.Explain(Request("etl", 1), At());
  ASSERT_TRUE(explained.ok());
  EXPECT_NEAR(explained->buckets[0].debt, 10, 1e-5);
}

// Where nothing can be given back, the Report is told of which budget.
class UnsettledReport : public testing::Test {
 protected:
  std::vector<uint32_t> ReportAfter(PolicySpec changed, const ActualCost& actual) {
    const PermitId permit = engine_.Check("job:etl", 40).permit;
    engine_.Install(std::move(changed));
    const absl::StatusOr<Settlement> settled = engine_->Report(permit, actual, At());
    EXPECT_TRUE(settled.ok()) << settled.status();
    EXPECT_EQ(settled->policy != nullptr, !settled->unsettled.empty());
    EXPECT_EQ(settled->outcome, ReportOutcome::kSettled);
    return settled->unsettled;
  }

  TestEngine engine_{OneBudget(RateBudget("b", 1, 100))};
};

TEST_F(UnsettledReport, NamesABudgetThatIsSplitSince) {
  EXPECT_THAT(
      ReportAfter(Budgets({RateBudget("other", 1, 100), SplitBudget(1, 100, SplitByDepth{2})}),
                  {.cost = 10}),
      testing::ElementsAre(1));
}

TEST_F(UnsettledReport, NamesABudgetThatIsMeasuredInAnotherUnitSince) {
  BudgetSpec busy = RateBudget("b", 0.5, 100);
  busy.unit = BudgetUnit::kBusyTime;
  EXPECT_THAT(ReportAfter(OneBudget(busy), {.cost = 10}), testing::ElementsAre(0));
}

TEST_F(UnsettledReport, NamesABudgetWhoseRateChangedMoreOftenThanIsRemembered) {
  const PermitId permit = engine_.Check("job:etl", 10).permit;
  for (size_t i = 0; i <= Ledger::kMostMoves; ++i) {
    engine_.Install(OneBudget(RateBudget("b", i % 2 == 0 ? 3 : 4, 100)));
  }
  const auto settled = engine_->Report(permit, {.cost = 1}, At());
  ASSERT_TRUE(settled.ok());
  EXPECT_THAT(settled->unsettled, testing::ElementsAre(0));
}

TEST_F(UnsettledReport, NamesNoneWhereTheReportSaysWhatWasCharged) {
  EXPECT_THAT(ReportAfter(OneBudget(SplitBudget(1, 100, SplitByDepth{2})), {.cost = 40}),
              testing::IsEmpty());
}

TEST_F(UnsettledReport, NamesNoneThatIsGone) {
  EXPECT_THAT(ReportAfter(PolicySpec{}, {.cost = 10}), testing::IsEmpty());
}

TEST(EngineReload, ReportOfABudgetThatWentAwayIsSettled) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId permit = engine.Check("etl", 40).permit;
  engine.Install(PolicySpec{});
  EXPECT_EQ(engine.Report(permit, 10), ReportOutcome::kSettled);
}

TEST(EngineReload, ReportNeverTouchesAnotherBudgetInItsPlace) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId permit = engine.Check("etl", 40).permit;
  engine.Install(PolicySpec{}, At(absl::Seconds(50)));
  engine.Install(OneBudget(RateBudget("other", 1, 100)), At(absl::Seconds(50)));
  EXPECT_TRUE(engine.Admits("etl", 40, At(absl::Seconds(50))));
  engine.Report(permit, 1, At(absl::Seconds(50)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "other", At(absl::Seconds(50))), 40);
}

// A `now` that was read before the reload must not be credited with time at the new, higher rate.
TEST(EngineReload, StaleTimeIsNotDrainedAtTheNewRate) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  engine.Install(OneBudget(RateBudget("b", 1000, 100)), At(absl::Seconds(1)));
  double admitted = 0;
  for (const Now now : {At(), At(absl::Seconds(1))}) {
    while (engine.Admits("etl", 1, now)) admitted += 1;
  }
  EXPECT_LE(admitted, 100 + 1);
}

}  // namespace
}  // namespace headgate::engine
