// How much one Report may charge, what is said of the rest, and how a debt is forgiven.

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// What it may owe is no matter here.
BudgetSpec Rows() {
  BudgetSpec budget = RateBudget("rows", 500, 20'000);
  budget.max_debt = absl::Hours(1);
  return budget;
}

TEST(Overrun, AReportChargesTenTimesThePredictionAtMost) {
  TestEngine engine(OneBudget(Rows()));
  const Settlement settled = engine.Settle(engine.Check("etl", 5'000).permit, {.cost = 1e12});
  ASSERT_EQ(settled.overruns.size(), 1U);
  EXPECT_EQ(settled.policy->budget_specs[settled.overruns[0].budget].name, "rows");
  EXPECT_EQ(settled.overruns[0].reported, 1e12);
  EXPECT_EQ(settled.overruns[0].charged, 50'000);
  EXPECT_EQ(engine.Debt("etl", "rows"), 50'000);
  // Minutes, and not 63 years.
  EXPECT_EQ(engine.Check("etl", 0).retry_after, absl::Seconds(60));
  const std::vector<BudgetView> views = engine->ReadBudgets(At());
  EXPECT_EQ(views[0].overruns, 1U);
  EXPECT_EQ(views[0].overrun_sum, 1e12 - 50'000);
}

TEST(Overrun, ABurstsWorthMayBeChargedInAnyCase) {
  TestEngine engine(OneBudget(Rows()));
  const Settlement settled = engine.Settle(engine.Check("etl", 1).permit, {.cost = 15'000});
  EXPECT_TRUE(settled.overruns.empty());
  EXPECT_EQ(settled.policy, nullptr);
  EXPECT_EQ(engine.Debt("etl", "rows"), 15'000);
}

TEST(Overrun, TheMultipleIsConfigurable) {
  BudgetSpec budget = Rows();
  budget.max_overrun = 40;
  TestEngine engine(OneBudget(budget));
  engine.Settle(engine.Check("etl", 1'000).permit, {.cost = 1e12});
  EXPECT_EQ(engine.Debt("etl", "rows"), 40'000);
}

TEST(Overrun, IsRememberedThroughRestartAndReload) {
  TestEngine engine(OneBudget(Rows()));
  engine.Settle(engine.Check("etl", 5'000).permit, {.cost = 1e6});
  SavedState state;
  engine->Save(At(), state);
  Engine restored(TestEngine::Options());
  ASSERT_TRUE(restored.Restore(state, At(), 0).ok());
  BudgetSpec faster = Rows();
  faster.rate = UnitsPerSecond{700};
  ASSERT_TRUE(restored.Install(OneBudget(faster), At()).ok());
  EXPECT_EQ(restored.ReadBudgets(At())[0].overruns, 1U);
  EXPECT_EQ(restored.ReadBudgets(At())[0].overrun_sum, 950'000);
}

TEST(ReportedDebts, ADenialSaysToWhichReportItIsDue) {
  BudgetSpec busy = RateBudget("busy", 1, 10);
  busy.unit = BudgetUnit::kBusyTime;
  busy.default_cost = 1;
  busy.max_overrun = 1000;
  busy.max_debt = absl::Hours(1);
  TestEngine engine(OneBudget(busy));
  engine.Settle(engine.Check("etl", 1).permit, {.busy_time = absl::Seconds(1000)});
  const Now later = At(absl::Seconds(91));
  const CheckAnswer denied = engine.Check("etl", 1, later);
  ASSERT_EQ(denied.violations.size(), 1U);
  const auto& debt = denied.violations[0].reported_debt;
  ASSERT_TRUE(debt.has_value());
  EXPECT_EQ(debt->reported_at, At().wall());
  EXPECT_EQ(debt->reported, 1000);
  EXPECT_EQ(debt->owed_for, absl::Seconds(899));
  EXPECT_NE(denied.Sentence().find("owes 909 s since a Report of 1,000 s at 00:00:00 UTC"),
            std::string::npos)
      << denied.Sentence();
  EXPECT_EQ(engine.Bucket(Request("etl", 1), "busy", later).reported_debt->reported, 1000);

  SavedState state;
  engine->Save(later, state);
  Engine restored(TestEngine::Options());
  ASSERT_TRUE(restored.Restore(state, later, 0).ok());
  ASSERT_TRUE(restored.Install(OneBudget(busy), later).ok());
  CheckAnswer again;
  ASSERT_TRUE(restored.Check(Request("etl", 1), later, again).ok());
  EXPECT_EQ(again.Sentence(), denied.Sentence());
}

TEST(ReportedDebts, ADenialThatNoReportCausedNamesNone) {
  TestEngine engine(OneBudget(Rows()));
  engine.Settle(engine.Check("etl", 10'000).permit, {.cost = 100'000});
  const Now drained = At(absl::Seconds(190));
  const CheckAnswer denied = engine.Check("etl", 2'000, drained);  // 16,000 are predicted by now
  ASSERT_EQ(denied.violations.size(), 1U);
  EXPECT_EQ(denied.violations[0].observed, 21'000);
  EXPECT_EQ(denied.violations[0].reported_debt, std::nullopt);
}

TEST(ForgiveDebt, EmptiesTheBucketOfTheIdentity) {
  BudgetSpec split = Rows();
  split.split = SplitByDepth{2};
  TestEngine engine(OneBudget(split));
  EXPECT_TRUE(engine.Admits("job-8:etl", 500));
  engine.Settle(engine.Check("job-7:etl", 10'000).permit, {.cost = 83'000});
  const auto forgiven =
      engine->ForgiveDebt({.identity = "x:job-7:etl", .budget = "rows"}, At(absl::Seconds(40)));
  ASSERT_TRUE(forgiven.ok()) << forgiven.status();
  EXPECT_EQ(forgiven->bucket, "job-7:etl");
  EXPECT_EQ(forgiven->units, 63'000);
  EXPECT_EQ(forgiven->unit, BudgetUnit::kCost);
  EXPECT_EQ(engine.Debt("job-7:etl", "rows", At(absl::Seconds(40))), 0);
  EXPECT_EQ(engine.Debt("job-8:etl", "rows", At()), 500);
}

TEST(ForgiveDebt, ForgivesWhatWasReadWhateverIsChargedInBetween) {
  TestEngine engine(OneBudget(Rows()));
  EXPECT_TRUE(engine.Admits("etl", 8'000));
  const Now then = At(absl::Seconds(1));
  const auto read = engine->ReadDebt({.identity = "etl", .budget = "rows"}, then);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(engine.Admits("etl", 1'000, At(absl::Seconds(2))));
  const auto forgiven =
      engine->ForgiveDebt({.identity = "etl", .budget = "rows"}, then, read->units);
  ASSERT_TRUE(forgiven.ok()) << forgiven.status();
  EXPECT_EQ(forgiven->units, read->units);
  EXPECT_EQ(engine.Debt("etl", "rows", then), 1'000);
}

TEST(ForgiveDebt, LaterReportsOfEarlierPermitsGiveNothingBack) {
  TestEngine engine(OneBudget(Rows()));
  const CheckAnswer early = engine.Check("etl", 10'000);
  ASSERT_TRUE(engine->ForgiveDebt({.identity = "etl", .budget = "rows"}, At()).ok());
  EXPECT_TRUE(engine.Admits("etl", 8'000));
  engine.Report(early.permit, 0);
  EXPECT_EQ(engine.Debt("etl", "rows"), 8'000);
}

TEST(ForgiveDebt, ByATagsValue) {
  BudgetSpec split = Rows();
  split.split = SplitByTag{"tenant"};
  TestEngine engine(OneBudget(split));
  const Tag tags[] = {{"tenant", "acme"}};
  ASSERT_EQ(engine.Check({.identity = "etl", .estimated_cost = 700, .tags = tags}).verdict,
            Verdict::kAllowed);
  EXPECT_EQ(
      engine->ForgiveDebt({.identity = "etl", .budget = "rows", .tag_value = "other"}, At())->units,
      0);
  const auto forgiven =
      engine->ForgiveDebt({.identity = "etl", .budget = "rows", .tag_value = "acme"}, At());
  EXPECT_EQ(forgiven->units, 700);
  EXPECT_EQ(forgiven->bucket, "acme");
}

TEST(ForgiveDebt, ReachesWhatRulesChargeOnACondition) {
  PolicySpec spec = OneBudget(Rows());
  spec.rules[0].match.tags = {{"class", "batch"}};
  TestEngine engine(std::move(spec));
  const Tag tags[] = {{"class", "batch"}};
  engine.Check({.identity = "job:etl", .estimated_cost = 700, .tags = tags});
  EXPECT_EQ(engine->ForgiveDebt({.identity = "job:ads", .budget = "rows"}, At()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(engine->ForgiveDebt({.identity = "job:etl", .budget = "rows"}, At())->units, 700);
}

// Who lets a job pass while its debt is put right can put it right.
TEST(ForgiveDebt, ReachesWhatIsExemptMeanwhile) {
  PolicySpec spec = OneBudget(Rows());
  TestEngine engine(spec);
  EXPECT_TRUE(engine.Admits("job:etl", 700));
  spec.rules.push_back(RuleOn("let pass", "etl", ExemptAction{}));
  engine.Install(spec);
  const auto forgiven = engine->ForgiveDebt({.identity = "job:etl", .budget = "rows"}, At());
  ASSERT_TRUE(forgiven.ok()) << forgiven.status();
  EXPECT_EQ(forgiven->units, 700);
  EXPECT_EQ(engine->ForgiveDebt({.identity = "job:ads", .budget = "rows"}, At()).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ForgiveDebt, SaysWhatIsUnknown) {
  TestEngine engine(Budgets({Rows(), MaxCostBudget("small", 5)}));
  const auto code = [&](auto target, auto identity, auto budget) {
    return engine->ForgiveDebt({.target = target, .identity = identity, .budget = budget}, At())
        .status()
        .code();
  };
  EXPECT_EQ(code("", "etl", "none"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code("nowhere", "etl", "rows"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code("", "ads", "rows"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code("", "a b", "rows"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("", "etl", "small"), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace headgate::engine
