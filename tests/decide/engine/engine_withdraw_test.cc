// Answers that could not be delivered.

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

const CheckRequest kNamed{.identity = "etl", .estimated_cost = 40, .request_id = "r1"};

TEST(EngineWithdraw, GivesBackDebtConcurrencyAndPermit) {
  BudgetSpec budget = RateBudget("b", 1, 100);
  budget.max_concurrency = 1;
  TestEngine engine(OneBudget(budget));
  engine->Withdraw(Request("etl", 40), engine.Check("etl", 40), At());
  EXPECT_EQ(engine.Debt("etl", "b"), 0);
  EXPECT_EQ(engine.Bucket(Request("etl", 0), "b").outstanding, 0);
  EXPECT_EQ(engine->ReadStats(At()).permits_live, 0U);
  EXPECT_TRUE(engine.Admits("etl", 100));
}

TEST(EngineWithdraw, LeavesWhatOthersOwe) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  engine.Check("etl", 10);
  const CheckAnswer lost = engine.Check("etl", 40);
  engine.Check("etl", 20);
  engine->Withdraw(Request("etl", 40), lost, At(absl::Seconds(5)));
  EXPECT_EQ(engine.Debt("etl", "b", At(absl::Seconds(5))), 25);
}

TEST(EngineWithdraw, WhatHasDrainedIsNotGivenBack) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer lost = engine.Check("etl", 40);
  const Now later = At(absl::Seconds(30));
  engine.Check("etl", 50, later);
  engine->Withdraw(Request("etl", 40), lost, later);
  EXPECT_EQ(engine.Debt("etl", "b", later), 50);
}

TEST(EngineWithdraw, FreesTheRequestId) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer lost = engine.Check(kNamed);
  engine->Withdraw(kNamed, lost, At());
  const CheckAnswer again = engine.Check(kNamed);
  EXPECT_FALSE(again.repeated);
  EXPECT_NE(again.permit, lost.permit);
  EXPECT_EQ(engine.Debt("etl", "b"), 40);
}

// Its caller gave up on the first call, asked again and has got the same answer.
TEST(EngineWithdraw, LeavesAnAnswerThatWasRepeated) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer lost = engine.Check(kNamed);
  const CheckAnswer repeated = engine.Check(kNamed);
  engine->Withdraw(kNamed, lost, At());
  engine->Withdraw(kNamed, repeated, At());
  EXPECT_EQ(engine.Debt("etl", "b"), 40);
  EXPECT_EQ(engine.Report(repeated.permit, 30), ReportOutcome::kSettled);
}

TEST(EngineWithdraw, TeachesNothing) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1000)));
  engine.Report(engine.Check("etl", 10).permit, 30);
  engine->Withdraw(Request("etl", 10), engine.Check("etl", 10), At());
  EXPECT_EQ(engine.Check("etl", 10).predicted_cost, 30);
}

TEST(EngineWithdraw, IsHarmlessIfRepeatedAndAfterAReport) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer lost = engine.Check("etl", 40);
  engine.Check("etl", 30);
  engine->Withdraw(Request("etl", 40), lost, At());
  engine->Withdraw(Request("etl", 40), lost, At());
  EXPECT_EQ(engine.Debt("etl", "b"), 30);
  EXPECT_EQ(engine.Report(lost.permit, 40), ReportOutcome::kAlreadySettled);
  const CheckAnswer settled = engine.Check("etl", 20);
  engine.Report(settled.permit, 25);
  engine->Withdraw(Request("etl", 20), settled, At());
  EXPECT_EQ(engine.Debt("etl", "b"), 55);
}

TEST(EngineWithdraw, ADenialAndAnExemptionAreLeftAlone) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.rules.push_back(RuleOn("free", "vip:etl", ExemptAction{}));
  TestEngine engine(spec);
  engine.Check("etl", 10);
  engine->Withdraw(Request("etl", 5), engine.Check("etl", 5), At());
  engine->Withdraw(Request("vip:etl", 5), engine.Check("vip:etl", 5), At());
  EXPECT_EQ(engine.Debt("etl", "b"), 10);
}

TEST(EngineWithdraw, SurvivesAReload) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer lost = engine.Check("etl", 40);
  engine.Install(OneBudget(RateBudget("b", 2, 100)));
  engine->Withdraw(Request("etl", 40), lost, At());
  EXPECT_EQ(engine.Debt("etl", "b"), 0);
}

}  // namespace
}  // namespace headgate::engine
