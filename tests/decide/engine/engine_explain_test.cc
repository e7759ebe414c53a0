// Explain says what Check would, and charges nothing; answers in one sentence.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using testing::ElementsAre;

TEST(EngineExplain, ChargesNothing) {
  TestEngine engine(Budgets({RateBudget("rate", 1, 100), ConcurrencyBudget("jobs", 1)}));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(engine.Explain(Request("etl", 60)).answer.verdict, Verdict::kAllowed);
  }
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "rate"), 0);
  EXPECT_EQ(engine->ReadStats(At()).permits_live, 0U);
  EXPECT_EQ(engine.Explain(Request("etl", 60)).answer.permit, 0U);
}

TEST(EngineExplain, SaysWhatCheckThenSays) {
  BudgetSpec split = RateBudget("split", 3, 40);
  split.split = SplitByDepth{2};
  PolicySpec spec = Budgets({RateBudget("whole", 7, 100), split, ConcurrencyBudget("jobs", 30)});
  spec.rules.push_back(RuleOn("deny", "bad:etl", DenyAction{}));
  spec.rules.push_back(RuleOn("exempt", "good:etl", ExemptAction{}));
  TestEngine engine(std::move(spec));
  const std::string_view names[] = {"a:etl", "b:etl", "bad:etl", "good:etl", "other"};
  for (size_t i = 0; i < 200; ++i) {
    const Now now = At(absl::Milliseconds(37) * static_cast<int64_t>(i));
    const CheckRequest request = Request(names[i % 5], static_cast<double>(i % 13));
    const CheckAnswer told = engine.Explain(request, now).answer;
    const CheckAnswer done = engine.Check(request, now);
    ASSERT_EQ(told.verdict, done.verdict);
    ASSERT_EQ(told.reason, done.reason);
    ASSERT_EQ(told.retry_after, done.retry_after);
    ASSERT_EQ(told.predicted_cost, done.predicted_cost);
    ASSERT_EQ(told.violations.size(), done.violations.size());
    ASSERT_EQ(told.Sentence(), done.Sentence());
  }
}

TEST(EngineExplain, ShowsEveryBucket) {
  BudgetSpec split = RateBudget("split", 3, 40);
  split.split = SplitByDepth{2};
  split.max_cost = 30;
  split.max_concurrency = 5;
  PolicySpec spec = Budgets({split, RateBudget("whole", 7, 100)});
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("x:job:etl", 9));
  const BucketView view = engine.Bucket(Request("x:job:etl", 4), "split", At(absl::Seconds(1)));
  EXPECT_EQ(view.level, 2);
  EXPECT_EQ(view.bucket, "job:etl");
  EXPECT_EQ(view.cost, 4);
  EXPECT_NEAR(view.debt, 6, 1e-6);
  EXPECT_NEAR(*view.burst, 40, 1e-6);
  EXPECT_EQ(view.rate, 3);
  EXPECT_EQ(view.outstanding, 1);
  EXPECT_EQ(view.max_concurrency, 5);
  EXPECT_EQ(view.max_cost, 30);
  EXPECT_EQ(view.speed, 1);
  EXPECT_EQ(view.room_in, absl::ZeroDuration());
  EXPECT_EQ(engine.Bucket(Request("x:job:etl", 4), "whole").bucket, "");
}

TEST(EngineExplain, NamesTheTagsValueAsTheBucket) {
  BudgetSpec split = RateBudget("b", 3, 40);
  split.split = SplitByTag{"table"};
  TestEngine engine(OneBudget(split));
  const Tag tags[] = {{"table", "orders"}};
  EXPECT_EQ(engine.Bucket({.identity = "etl", .tags = tags}, "b").bucket, "orders");
}

TEST(EngineExplain, SaysWhenEachBucketHasRoom) {
  TestEngine engine(Budgets({RateBudget("slow", 1, 10), RateBudget("fast", 10, 10)}));
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_EQ(engine.Bucket(Request("etl", 5), "slow").room_in, absl::Seconds(5));
  EXPECT_EQ(engine.Bucket(Request("etl", 5), "fast").room_in, absl::Milliseconds(500));
  EXPECT_EQ(engine.Bucket(Request("etl", 11), "fast").room_in, absl::InfiniteDuration());
}

TEST(EngineExplain, ShowsTrueDebtsWhereARuleDenies) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 100));
  TestEngine engine(spec);
  EXPECT_TRUE(engine.Admits("etl", 60));
  spec.rules.push_back(RuleOn("deny", "etl", DenyAction{}));
  engine.Install(spec);
  const Explanation explanation = engine.Explain(Request("etl", 5), At(absl::Seconds(10)));
  EXPECT_EQ(explanation.answer.reason, Reason::kDenyRule);
  ASSERT_EQ(explanation.buckets.size(), 1U);
  EXPECT_DOUBLE_EQ(explanation.buckets[0].debt, 50);
}

TEST(EngineExplain, ListsAllRulesThatMatch) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 100));
  spec.rules.push_back(RuleOn("other", "other", DenyAction{}));
  spec.rules.push_back(RuleOn("reject", "", RejectAction{0.25}));
  spec.rules.push_back(RuleOn("priority", "job:etl", PriorityAction{2}));
  TestEngine engine(std::move(spec));
  EXPECT_THAT(engine.Explain(Request("job:etl", 1)).rules, ElementsAre(0, 2, 3));
  EXPECT_THAT(engine.Explain(Request("etl", 1)).rules, ElementsAre(0, 2));
}

TEST(EngineExplain, TellsTheRatioInsteadOfRolling) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{0.999})};
  TestEngine engine(std::move(spec));
  const Explanation explanation = engine.Explain(Request("etl", 1));
  EXPECT_DOUBLE_EQ(explanation.reject_ratio, 0.999);
  EXPECT_EQ(explanation.answer.verdict, Verdict::kAllowed);
}

TEST(EngineExplain, TellsNoRatioWhereNoDiceAreRolled) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{1}), RuleOn("free", "etl", ExemptAction{})};
  TestEngine exempt(spec);
  const Explanation explanation = exempt.Explain(Request("etl", 1));
  EXPECT_EQ(explanation.answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(explanation.reject_ratio, 0);
  spec.rules[1] = RuleOn("freeze", "etl", DenyAction{});
  TestEngine denied(spec);
  EXPECT_EQ(denied.Explain(Request("etl", 1)).reject_ratio, 0);
}

TEST(EngineExplain, DoesNotMoveTheDice) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{0.5})};
  TestEngine plain(spec);
  TestEngine explained(spec);
  for (int i = 0; i < 100; ++i) {
    explained.Explain(Request("etl", 1));
    EXPECT_EQ(plain.Admits("etl", 1), explained.Admits("etl", 1));
  }
}

TEST(EngineSentence, OfAnAdmission) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  EXPECT_EQ(engine.Check("etl", 1).Sentence(), "Allowed.");
}

TEST(EngineSentence, OfACheckThatNoRuleMatches) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  EXPECT_EQ(engine.Check("elt", 1).Sentence(), "Allowed: no rule matches.");
}

TEST(EngineSentence, OfAnExemption) {
  PolicySpec spec;
  spec.rules = {RuleOn("exempt", "etl", ExemptAction{})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1).Sentence(), "Allowed: exempt by a rule.");
}

TEST(EngineSentence, OfAWarning) {
  BudgetSpec budget = RateBudget("nightly", 1, 10);
  budget.mode = Mode::kWarn;
  TestEngine engine(OneBudget(budget));
  EXPECT_EQ(engine.Check("etl", 12).Sentence(),
            "Allowed, but would have been denied by budget 'nightly': debt would be 12, over its "
            "burst of 10.");
}

TEST(EngineSentence, OfADenyRule) {
  PolicySpec spec;
  spec.rules = {RuleOn("freeze", "etl", DenyAction{})};
  TestEngine engine(spec);
  EXPECT_EQ(engine.Check("etl", 1).Sentence(), "Denied by rule 'freeze'. Waiting will not help.");
  spec.rules[0].expires_at = At(absl::Minutes(90)).wall();
  engine.Install(spec);
  EXPECT_EQ(engine.Check("etl", 1).Sentence(), "Denied by rule 'freeze'. Try again in 1h30m.");
}

TEST(EngineSentence, OfARejectRatio) {
  PolicySpec spec;
  spec.rules = {RuleOn("shed", "etl", RejectAction{1})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1).Sentence(),
            "Denied by rule 'shed', which rejects 100 %. Waiting will not help.");
}

TEST(EngineSentence, OfHealth) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.profiles = {{.name = "batch", .signals = {"replication_lag"}}};
  spec.budgets[0].health = "batch";
  TestEngine engine(std::move(spec));
  engine.SetHealth("batch", {.gate_shut = true, .pressure = 1.25, .signal = 0});
  EXPECT_EQ(engine.Check("etl", 1).Sentence(),
            "Denied by health profile 'batch': replication_lag at pressure 1.25. Try again in 1s.");
}

TEST(EngineSentence, OfHealthTellsTheSignalsValueWhereItIsKnown) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.profiles = {{.name = "batch", .signals = {"replication_lag"}, .thresholds = {{1, 5}}}};
  spec.budgets[0].health = "batch";
  TestEngine engine(std::move(spec));
  engine.SetHealth("batch", {.gate_shut = true, .pressure = 1.5, .signal = 0});
  EXPECT_EQ(engine.Check("etl", 1).Sentence(),
            "Denied by health profile 'batch': replication_lag is 7, with its hard threshold at 5. "
            "Try again in 1s.");
  engine.SetHealth("batch", {.gate_shut = true, .pressure = 0.5, .signal = 0});
  EXPECT_EQ(engine.Check("etl", 1).Sentence(),
            "Denied by health profile 'batch': replication_lag at pressure 0.5. Try again in 1s.");
}

class HealthSentence : public testing::Test {
 protected:
  std::string Under(const Health& health) {
    engine_.SetHealth("batch", health);
    return engine_.Check("etl", 1).Sentence();
  }

 private:
  static PolicySpec Spec() {
    PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
    spec.profiles = {{.name = "batch", .signals = {"replication_lag"}}};
    spec.budgets[0].health = "batch";
    return spec;
  }

  TestEngine engine_{Spec()};
};

TEST_F(HealthSentence, SaysThatThereIsNoSampleYet) {
  EXPECT_EQ(Under({.speed = 0, .status = HealthStatus::kWarming, .gate_shut = true, .signal = 0}),
            "Denied by health profile 'batch': replication_lag has no sample yet, and on_stale "
            "denies. Try again in 1s.");
  EXPECT_EQ(
      Under({.speed = 0, .status = HealthStatus::kWarming, .gate_shut = true}),
      "Denied by health profile 'batch': it has no sample yet, and on_stale denies. Try again "
      "in 1s.");
}

TEST_F(HealthSentence, SaysHowOldTheLastSampleIs) {
  EXPECT_EQ(Under({.speed = 0,
                   .status = HealthStatus::kStale,
                   .gate_shut = true,
                   .signal = 0,
                   .sampled_at_ns = At(-absl::Seconds(12)).monotonic_ns}),
            "Denied by health profile 'batch': replication_lag has no current value (the last "
            "sample is 12s old), and on_stale denies. Try again in 1s.");
}

TEST_F(HealthSentence, DoesNotBlameTheSampleWhereASignalCouldNotBeReadInIt) {
  EXPECT_EQ(Under({.speed = 0,
                   .status = HealthStatus::kStale,
                   .gate_shut = true,
                   .unread = true,
                   .signal = 0,
                   .sampled_at_ns = At(-absl::Milliseconds(41)).monotonic_ns}),
            "Denied by health profile 'batch': replication_lag has no value (it could not be read, "
            "and headgate status shows the error), and on_stale denies. Try again in 1s.");
}

TEST_F(HealthSentence, NamesThePressureThatDeniesThoughSomethingElseIsNotKnown) {
  EXPECT_EQ(Under({.speed = 0,
                   .status = HealthStatus::kStale,
                   .gate_shut = true,
                   .pressure = 1.5,
                   .signal = 0,
                   .sampled_at_ns = At(-absl::Seconds(12)).monotonic_ns}),
            "Denied by health profile 'batch': replication_lag at pressure 1.5. Try again in 1s.");
}

TEST(EngineSentence, OfSeveralLimits) {
  BudgetSpec jobs = ConcurrencyBudget("jobs", 1);
  jobs.max_cost = 5;
  TestEngine engine(Budgets({jobs, RateBudget("rate", 2, 10)}));
  EXPECT_TRUE(engine.Admits("etl", 4));
  EXPECT_EQ(engine.Check("etl", 7).Sentence(),
            "Denied by budget 'jobs': cost 7 is over its max_cost of 5; and by budget 'jobs': 1 "
            "permits are outstanding of 1, and room comes with the next Report; and by budget "
            "'rate': debt would be 11, over its burst "
            "of 10. Waiting will not help.");
}

TEST(EngineSentence, NamesTheSignalThatSlowsABudget) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.profiles = {{.name = "batch", .signals = {"load", "replication_lag"}}};
  spec.budgets[0].health = "batch";
  TestEngine engine(std::move(spec));
  engine.SetHealth("batch", {.speed = 0.5, .signal = 1});
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_EQ(engine.Check("etl", 1).Sentence(),
            "Denied by budget 'b': debt would be 11, over its burst of 10, slowed by "
            "replication_lag. Try again in 2s.");
}

TEST(EngineSentence, OfAnExplicitZero) {
  const auto sentence = [](const BudgetSpec& budget) {
    TestEngine engine(OneBudget(budget));
    return engine.Check("etl", 0).Sentence();
  };
  EXPECT_EQ(sentence(RateBudget("b", 0, 10)),
            "Denied by budget 'b', whose rate is 0. Waiting will not help.");
  EXPECT_EQ(sentence(RateBudget("b", 10, 0)),
            "Denied by budget 'b', whose burst is 0. Waiting will not help.");
  EXPECT_EQ(sentence(MaxCostBudget("b", 0)),
            "Denied by budget 'b', whose max_cost is 0. Waiting will not help.");
  EXPECT_EQ(sentence(ConcurrencyBudget("b", 0)),
            "Denied by budget 'b', whose max_concurrency is 0. Waiting will not help.");
}

}  // namespace
}  // namespace headgate::engine
