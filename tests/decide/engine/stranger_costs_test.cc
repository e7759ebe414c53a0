// What one job reports, beside another that shares a target, a root or a caller with it.

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// Two teams, charged to budgets of their own, and identities that no rule matches.
PolicySpec TwoTeams() {
  PolicySpec spec;
  spec.budgets.push_back(RateBudget("etl", 500, 20'000));
  spec.budgets.push_back(RateBudget("ads", 1e12, 1e15));
  spec.rules.push_back(ChargeRule("etl", "etl", {"etl"}));
  spec.rules.push_back(ChargeRule("ads", "ads", {"ads"}));
  return spec;
}

CheckRequest Ask(std::string_view identity, std::string_view caller = "", double rows = 100,
                 std::string_view pattern = "copy") {
  return {.identity = identity, .estimated_cost = rows, .pattern = pattern, .caller = caller};
}

// Work that is checked and reported, each time an hour later, when nothing is owed any more.
class Hours {
 public:
  explicit Hours(TestEngine& engine) : engine_(engine) {}

  void Work(const CheckRequest& request, double actual) {
    const CheckAnswer answer = engine_.Check(request, Next());
    if (answer.permit != 0) engine_.Report(answer.permit, actual, now_);
  }
  double Predicted(const CheckRequest& request) {
    return engine_.Explain(request, Next()).answer.predicted_cost;
  }
  Now Next() { return now_ = now_ + absl::Hours(1); }

 private:
  TestEngine& engine_;
  Now now_ = At();
};

// Reports that would be believed of nobody.
constexpr double kHostile[] = {1e12, 1e15, 16'000, 0.01, 0};

TEST(StrangersCosts, AnotherRootMovesNothingAtAll) {
  TestEngine engine(TwoTeams());
  Hours hours(engine);
  for (int i = 0; i < 10; ++i) hours.Work(Ask("job:etl"), 170);
  const double before = hours.Predicted(Ask("job:etl"));
  EXPECT_NEAR(before, 170, 0.1);
  const double unpatterned = hours.Predicted(Ask("job:etl", "", 100, ""));
  for (int i = 0; i < 50; ++i) {
    for (const double actual : kHostile) hours.Work(Ask("mallory:ads"), actual);
  }
  EXPECT_NE(hours.Predicted(Ask("mallory:ads")), 100);
  EXPECT_EQ(hours.Predicted(Ask("job:etl")), before);
  EXPECT_EQ(hours.Predicted(Ask("job:etl", "", 100, "")), unpatterned);
}

TEST(StrangersCosts, WhomNoRuleMatchesTeachesNothing) {
  TestEngine engine(TwoTeams());
  for (const char* const identity : {"stranger", "stranger:etl:x"}) {
    const CheckAnswer answer = engine.Check(Ask(identity));
    EXPECT_EQ(answer.verdict, Verdict::kAllowed);
    EXPECT_EQ(answer.permit, 0U) << identity << " has something to report";
  }
  EXPECT_EQ(engine.Check(Ask("job:etl")).predicted_cost, 100);
  EXPECT_EQ(engine.Check(Ask("stranger")).predicted_cost, 100);
  EXPECT_TRUE(engine->ReadLearntCosts({}).empty());
}

TEST(StrangersCosts, WhoIsExemptTeachesNothing) {
  PolicySpec spec = TwoTeams();
  spec.rules.push_back(RuleOn("vip", "vip:etl", ExemptAction{}));
  TestEngine engine(std::move(spec));
  const CheckAnswer answer = engine.Check(Ask("vip:etl"));
  EXPECT_EQ(answer.reason, Reason::kExempt);
  EXPECT_EQ(answer.permit, 0U) << "there is something to report";
  EXPECT_EQ(engine.Check(Ask("job:etl")).predicted_cost, 100);
  EXPECT_EQ(engine.Check(Ask("vip:etl")).predicted_cost, 100);
}

TEST(StrangersCosts, AnotherCallerUnderTheSameRootMovesNothing) {
  TestEngine engine(TwoTeams());
  Hours hours(engine);
  for (int i = 0; i < 10; ++i) hours.Work(Ask("job:etl", "dbt"), 170);
  const double before = hours.Predicted(Ask("job:etl", "dbt"));
  for (int i = 0; i < 10; ++i) {
    for (const double actual : kHostile) hours.Work(Ask("job:etl", "mallory"), actual);
  }
  EXPECT_NE(hours.Predicted(Ask("job:etl", "mallory")), before);
  EXPECT_EQ(hours.Predicted(Ask("job:etl", "dbt")), before);
}

TEST(StrangersCosts, CallersShareWhereThePolicySaysSo) {
  PolicySpec spec = TwoTeams();
  spec.share_patterns = true;
  TestEngine engine(std::move(spec));
  engine.Report(engine.Check(Ask("job:etl", "dbt")).permit, 200);
  EXPECT_EQ(engine.Check(Ask("job:etl", "airflow")).predicted_cost, 200);
}

TEST(StrangersCosts, OneReportOfOnesOwnIsBounded) {
  TestEngine engine(TwoTeams());
  Hours hours(engine);
  for (int i = 0; i < 8; ++i) hours.Work(Ask("job:etl"), 100);
  hours.Work(Ask("job:etl"), 1e15);
  EXPECT_NEAR(hours.Predicted(Ask("job:etl")), 200, 0.01);
}

TEST(StrangersCosts, AreTheSameAfterARestart) {
  PolicySpec policy = TwoTeams();
  TestEngine engine(policy);
  for (int i = 0; i < 5; ++i) {
    engine.Report(engine.Check(Ask("job:etl", "dbt", 100, "copy 1")).permit, 170);
  }
  SavedState state;
  engine->Save(At(), state);
  Engine restored(TestEngine::Options());
  ASSERT_TRUE(restored.Restore(state, At(), 0).ok());
  ASSERT_TRUE(restored.Install(policy, At()).ok());
  const std::vector<LearntCost> before = engine->ReadLearntCosts({});
  const std::vector<LearntCost> after = restored.ReadLearntCosts({});
  ASSERT_EQ(after.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after[i].root, "etl");
    EXPECT_EQ(after[i].caller, "dbt");
    EXPECT_EQ(after[i].pattern, before[i].pattern);
    EXPECT_EQ(after[i].cost_ratio, before[i].cost_ratio);
    EXPECT_EQ(after[i].reports, 5);
    EXPECT_EQ(after[i].last_reported_at, At().wall());
  }
}

// One job with a pattern that was learnt 160 times too high under a burst of 20,000.
class LockedOut : public testing::Test {
 protected:
  LockedOut() : engine_(TwoTeams()) {
    Hours hours(engine_);
    for (int i = 0; i < 6; ++i) hours.Work(Ask("job:etl", "", 100), 16'000);
    now_ = hours.Next();
    EXPECT_GT(engine_.Explain(Ask("job:etl", "", 1000), now_).answer.predicted_cost, 100'000);
  }
  CheckAnswer CheckNow() { return engine_.Check(Ask("job:etl", "", 1000), now_); }

  TestEngine engine_;
  Now now_;
};

TEST_F(LockedOut, IsLetThroughOnceInTenSecondsAndToldWhen) {
  const CheckAnswer probe = CheckNow();
  ASSERT_EQ(probe.verdict, Verdict::kAllowed);
  EXPECT_TRUE(probe.probe);
  EXPECT_EQ(probe.probe.most, 20'000);
  EXPECT_EQ(probe.probe.learnt_from, 6);
  EXPECT_NEAR(engine_.Debt("job:etl", "etl", now_), 20'000, 1e-6);
  EXPECT_NE(probe.Sentence().find("Allowed as a probe"), std::string::npos) << probe.Sentence();
  now_ = now_ + absl::Seconds(3);
  engine_.Settle(probe.permit, {.cost = 1000}, now_);  // gives back what it was charged
  const CheckAnswer denied = CheckNow();
  ASSERT_EQ(denied.verdict, Verdict::kDenied);
  EXPECT_EQ(denied.retry_after, absl::Seconds(7));
  ASSERT_EQ(denied.violations.size(), 1U);
  EXPECT_EQ(denied.violations[0].learnt_from, 7);
  EXPECT_EQ(denied.Sentence().find("Waiting will not help"), std::string::npos);
  EXPECT_NE(denied.Sentence().find("predicted, from 7 Reports, over its burst of 20,000"),
            std::string::npos)
      << denied.Sentence();
  now_ = now_ + denied.retry_after;
  EXPECT_TRUE(CheckNow().probe);
}

TEST_F(LockedOut, HealsByItsProbes) {
  int probes = 0;
  CheckAnswer answer = CheckNow();
  for (; answer.probe; ++probes) {
    ASSERT_LT(probes, 20);
    engine_.Settle(answer.permit, {.cost = 1000}, now_);
    answer = CheckNow();
    if (answer.verdict == Verdict::kDenied) now_ = now_ + answer.retry_after;
    if (answer.verdict == Verdict::kDenied) answer = CheckNow();
  }
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_GT(probes, 0);
  EXPECT_LE(answer.predicted_cost, 20'000);
}

TEST_F(LockedOut, TakesNoTurnWhereItIsRefusedAfterAll) {
  EXPECT_TRUE(engine_.Admits("other:etl", 1, now_));
  const CheckAnswer denied = CheckNow();  // no room for a whole burst
  EXPECT_EQ(denied.verdict, Verdict::kDenied);
  EXPECT_GT(denied.retry_after, absl::ZeroDuration());
  now_ = now_ + denied.retry_after;
  EXPECT_TRUE(CheckNow().probe);
}

TEST_F(LockedOut, IsExplainedWithoutATurn) {
  const CheckRequest request = Ask("job:etl", "", 1000);
  EXPECT_TRUE(engine_.Explain(request, now_).answer.probe);
  EXPECT_TRUE(engine_.Explain(request, now_).answer.probe);
  EXPECT_EQ(engine_.Bucket(request, "etl", now_).cost, 20'000);
  EXPECT_TRUE(CheckNow().probe);
  EXPECT_FALSE(engine_.Explain(request, now_).answer.probe);
}

TEST_F(LockedOut, IsNoWorseInABatch) {
  const std::vector<CheckRequest> requests(3, Ask("job:etl", "", 1000));
  std::vector<CheckAnswer> answers(3);
  std::vector<absl::Status> statuses(3);
  engine_->CheckBatch(requests, now_, absl::MakeSpan(answers), absl::MakeSpan(statuses));
  EXPECT_TRUE(answers[0].probe);
  for (const int i : {1, 2}) EXPECT_EQ(answers[i].verdict, Verdict::kDenied);
}

TEST_F(LockedOut, IsForgottenOnDemand) {
  const auto forgotten = engine_->ForgetCosts({.identity = "anything:etl"});
  ASSERT_TRUE(forgotten.ok()) << forgotten.status();
  EXPECT_EQ(forgotten->count, 2U);
  EXPECT_EQ(forgotten->costs.size(), 2U);
  EXPECT_EQ(CheckNow().predicted_cost, 1000);
  EXPECT_EQ(engine_->ForgetCosts({.identity = "etl"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(engine_->ForgetCosts({.pattern = "copy"}).status().code(), absl::StatusCode::kNotFound);
}

TEST(Burst, AnEstimateAboveItIsRefusedForGoodWhateverWasLearnt) {
  TestEngine engine(OneBudget(RateBudget("b", 500, 500)));
  engine.Report(engine.Check(Ask("etl", "", 10)).permit, 10);
  for (const double estimate : {501.0, 5000.0, 1e9}) {
    const CheckAnswer asked = engine.Check(Ask("etl", "", estimate), At(absl::Hours(1)));
    EXPECT_EQ(asked.verdict, Verdict::kDenied) << estimate;
    EXPECT_EQ(asked.retry_after, absl::InfiniteDuration()) << estimate;
  }
  EXPECT_EQ(engine.Check(Ask("etl", "", 500), At(absl::Hours(1))).verdict, Verdict::kAllowed);
}

TEST(MaxCost, AnEstimateAboveItIsRefusedForGoodWhateverWasLearnt) {
  BudgetSpec budget = RateBudget("b", 1e9, 1e9);
  budget.max_cost = 1000;
  TestEngine engine(OneBudget(budget));
  engine.Report(engine.Check(Ask("etl", "", 100)).permit, 700);
  const CheckAnswer learnt = engine.Check(Ask("etl", "", 200), At(absl::Hours(1)));
  EXPECT_TRUE(learnt.probe);  // 1,400 is predicted
  const CheckAnswer asked = engine.Check(Ask("etl", "", 1001), At(absl::Hours(1)));
  EXPECT_EQ(asked.verdict, Verdict::kDenied);
  EXPECT_EQ(asked.retry_after, absl::InfiniteDuration());
  const CheckAnswer next = engine.Check(Ask("etl", "", 200), At(absl::Hours(1)));
  EXPECT_EQ(next.reason, Reason::kMaxCost);
  EXPECT_EQ(next.retry_after, absl::Seconds(10));
}

TEST(MaxCost, IsNotPassedByWhatWasAlwaysRight) {
  TestEngine engine(Budgets({RateBudget("b", 1e9, 1e9), MaxCostBudget("small", 4)}));
  for (const double cost : {0.3, 3.7, 1.1}) {
    engine.Report(engine.Check(Ask("etl", "", cost)).permit, cost);
  }
  EXPECT_EQ(engine.Check(Ask("etl", "", 4)).verdict, Verdict::kAllowed);
}

}  // namespace
}  // namespace headgate::engine
