#include "server/decide/engine/to_be_allowed.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Advice(TestEngine& engine, double cost, Now now = At()) {
  return WhatWouldHelp(engine.Explain(Request("job:etl", cost), now));
}

std::vector<std::string> Advice(PolicySpec spec, double cost) {
  TestEngine engine(std::move(spec));
  return Advice(engine, cost);
}

PolicySpec OnHealth() {
  PolicySpec spec = OneBudget(RateBudget("rows", 10, 100));
  spec.profiles = {{.name = "careful",
                    .signals = {"replication_lag_seconds on standby-2"},
                    .thresholds = {{1, 5}}}};
  spec.budgets[0].health = "careful";
  return spec;
}

TEST(Advice, IsNotNeededWhereTheCheckIsAllowed) {
  BudgetSpec warns = RateBudget("rows", 10, 100);
  warns.mode = Mode::kWarn;
  EXPECT_THAT(Advice(OneBudget(warns), 101), IsEmpty());
}

TEST(Advice, SaysHowFarABucketHasToDrainAndWhatFitsNow) {
  TestEngine engine(OneBudget(RateBudget("rows", 10, 100)));
  ASSERT_TRUE(engine.Admits("job:etl", 90));
  EXPECT_THAT(Advice(engine, 40),
              ElementsAre("budget 'rows' owes 90 and has to drain to 60, which it does in 3s; or "
                          "ask for at most 10 now"));
}

TEST(Advice, PromisesNoTimeWhereTheDebtStandsStill) {
  TestEngine engine(OnHealth());
  ASSERT_TRUE(engine.Admits("job:etl", 100));
  engine.SetHealth("careful", {.speed = 0});
  EXPECT_THAT(Advice(engine, 40),
              ElementsAre("budget 'rows' owes 100 and has to drain to 60; it stands still until "
                          "health is better: ask again in 1s"));
}

TEST(Advice, AlsoNamesBudgetsThatADenyingRuleKeptFromBeingAsked) {
  PolicySpec spec = OneBudget(RateBudget("rows", 10, 100));
  spec.rules.push_back(RuleOn("pause", "etl", DenyAction{}));
  TestEngine engine(spec);
  EXPECT_THAT(Advice(engine, 40), ElementsAre(HasSubstr("rule 'pause' has to be removed")));
  EXPECT_THAT(Advice(engine, 400),
              ElementsAre(HasSubstr("rule 'pause'"),
                          "budget 'rows' would then never have room for a cost of 400"));
  spec.rules.pop_back();
  engine.Install(spec);
  ASSERT_TRUE(engine.Admits("job:etl", 90));
  spec.rules.push_back(RuleOn("pause", "etl", DenyAction{}));
  engine.Install(spec);
  EXPECT_THAT(Advice(engine, 40), ElementsAre(HasSubstr("rule 'pause'"),
                                              "budget 'rows' has no room either, for another 3s"));
}

TEST(Advice, SaysWhenACostNeverFits) {
  EXPECT_THAT(Advice(OneBudget(RateBudget("rows", 10, 100)), 400),
              ElementsAre(HasSubstr("at most its burst of 100")));
}

TEST(Advice, OfALimitOfZeroIsToRaiseIt) {
  EXPECT_THAT(Advice(OneBudget(RateBudget("rows", 0, 100)), 5),
              ElementsAre("budget 'rows' blocks everything: its rate has to be above 0"));
  EXPECT_THAT(Advice(OneBudget(RateBudget("rows", 10, 0)), 0),
              ElementsAre("budget 'rows' blocks everything: its burst has to be above 0"));
  EXPECT_THAT(Advice(OneBudget(RateBudget("rows", 10, 0)), 5),
              ElementsAre("budget 'rows' blocks everything: its burst has to be above 0"));
  EXPECT_THAT(
      Advice(OneBudget(RateBudget("rows", 0, 0)), 5),
      ElementsAre("budget 'rows' blocks everything: its rate and its burst have to be above 0"));
  EXPECT_THAT(
      Advice(OneBudget(MaxCostBudget("rows", 0)), 0),
      ElementsAre("budget 'rows' blocks everything: its max_cost has to be above 0, or unset"));
  EXPECT_THAT(Advice(OneBudget(ConcurrencyBudget("rows", 0)), 0),
              ElementsAre("budget 'rows' blocks everything: its max_concurrency has to be above 0, "
                          "or unset"));
}

TEST(Advice, NamesTheSignalThatShutTheGate) {
  TestEngine engine(OnHealth());
  engine.SetHealth("careful", {.speed = 0,
                               .status = HealthStatus::kHealthy,
                               .gate_shut = true,
                               .pressure = 1.5,
                               .signal = 0});
  EXPECT_THAT(Advice(engine, 1),
              ElementsAre("replication_lag_seconds on standby-2 has to fall below its hard "
                          "threshold (7 now, below 5 needed)"));
}

TEST(Advice, AsksForASampleWhereThereIsNoRecentOne) {
  TestEngine engine(OnHealth());
  engine.SetHealth("careful", {.speed = 0, .status = HealthStatus::kStale, .gate_shut = true});
  EXPECT_THAT(Advice(engine, 1), ElementsAre(HasSubstr("'careful' needs a recent sample")));
  engine.SetHealth("careful", {.speed = 0, .status = HealthStatus::kWarming, .gate_shut = true});
  EXPECT_THAT(Advice(engine, 1), ElementsAre(HasSubstr("'careful' needs its first sample")));
}

TEST(Advice, SendsToStatusForTheErrorOfASignalThatCanNotBeRead) {
  TestEngine engine(OnHealth());
  engine.SetHealth(
      "careful",
      {.speed = 0, .status = HealthStatus::kStale, .gate_shut = true, .unread = true, .signal = 0});
  EXPECT_THAT(Advice(engine, 1),
              ElementsAre("replication_lag_seconds on standby-2 has to be readable again: headgate "
                          "status shows its error"));
}

TEST(Advice, NamesEveryRuleThatWouldDenyInItsPlace) {
  PolicySpec spec = OneBudget(RateBudget("rows", 10, 100));
  spec.rules.push_back(RuleOn("no-etl", "etl", DenyAction{}));
  spec.rules.back().expires_at = At(absl::Seconds(90)).wall();
  spec.rules.push_back(RuleOn("freeze", "etl", DenyAction{}));
  spec.rules.back().expires_at = At(absl::Seconds(30)).wall();
  EXPECT_THAT(Advice(std::move(spec), 1),
              ElementsAre("rule 'no-etl' has to end, which it does in 1m30s, or no longer match "
                          "this identity; so does 'freeze'; headgate resume lets it through "
                          "meanwhile"));
}

TEST(Advice, OfARuleThatSomebodyEndsSaysWhenToAskAgain) {
  PolicySpec spec = OneBudget(RateBudget("rows", 10, 100));
  spec.rules.push_back(RuleOn("override 7", "etl", DenyAction{}));
  spec.rules.back().ends_by_hand = true;
  EXPECT_THAT(Advice(std::move(spec), 1),
              ElementsAre("rule 'override 7' has to be ended by somebody, or no longer match this "
                          "identity; headgate resume lets it through meanwhile; ask again in 5s"));
}

TEST(Advice, OfARuleThatRejectsAllIsToRemoveIt) {
  PolicySpec spec = OneBudget(RateBudget("rows", 10, 100));
  spec.rules.push_back(RuleOn("all", "etl", RejectAction{1}));
  spec.rules.push_back(RuleOn("half", "etl", RejectAction{0.5}));
  EXPECT_THAT(Advice(std::move(spec), 1),
              ElementsAre("rule 'all' has to be removed, or no longer match this identity; "
                          "headgate resume lets it through meanwhile"));
}

TEST(Advice, SaysHowManyPermitsHaveToComeBack) {
  TestEngine engine(OneBudget(ConcurrencyBudget("jobs", 3)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine.Admits("job:etl", 1));
  EXPECT_THAT(Advice(engine, 1),
              ElementsAre("one of the 3 permits of budget 'jobs' has to be reported or to expire, "
                          "or max_concurrency be raised above 3"));
  engine.Install(OneBudget(ConcurrencyBudget("jobs", 1)));
  EXPECT_THAT(Advice(engine, 1), ElementsAre(HasSubstr("3 of the 3 permits of budget 'jobs' have "
                                                       "to be reported or to expire")));
}

TEST(Advice, HasOneSentenceForEachLimitThatDenies) {
  BudgetSpec sizes = MaxCostBudget("sizes", 50);
  BudgetSpec warns = RateBudget("warns", 1, 10);
  warns.mode = Mode::kWarn;
  EXPECT_THAT(
      Advice(Budgets({sizes, RateBudget("stop", 0, 10), warns}), 60),
      ElementsAre(HasSubstr("ask for at most 50"), HasSubstr("its rate has to be above 0")));
}

}  // namespace
}  // namespace headgate::engine
