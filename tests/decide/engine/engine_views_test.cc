// What status pages read: budgets, and the fullest buckets of split ones by name.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

PolicySpec SplitBudget(SplitSpec split) {
  BudgetSpec budget = RateBudget("b", 1, 100);
  budget.split = std::move(split);
  budget.max_buckets = 64;
  return OneBudget(budget);
}

TEST(EngineViews, ShowEveryBudgetOnEveryTarget) {
  BudgetSpec limited = RateBudget("b", 2, 100);
  limited.max_concurrency = 5;
  PolicySpec spec = Budgets({limited, MaxCostBudget("big", 7)});
  for (const char* name : {"one", "two"}) spec.targets.emplace_back().name = name;
  TestEngine engine(spec);
  CheckAnswer answer;
  ASSERT_TRUE(
      engine->Check({.identity = "job:etl", .target = "two", .estimated_cost = 6}, At(), answer)
          .ok());
  const std::vector<BudgetView> views = engine->ReadBudgets(At(absl::Seconds(1)));
  ASSERT_EQ(views.size(), 4u);
  EXPECT_EQ(views[0].target, "one");
  EXPECT_EQ(views[0].debt, 0);
  EXPECT_EQ(views[0].buckets_owing, 0u);
  EXPECT_EQ(views[2].target, "two");
  EXPECT_EQ(views[2].budget, "b");
  EXPECT_EQ(views[2].rate, 2);
  EXPECT_EQ(views[2].burst, 100);
  EXPECT_EQ(views[2].debt, 4);
  EXPECT_EQ(views[2].buckets_owing, 1u);
  EXPECT_EQ(views[2].outstanding, 1);
  EXPECT_EQ(views[2].max_concurrency, 5);
  EXPECT_EQ(views[3].budget, "big");
  EXPECT_EQ(views[3].rate, std::nullopt);
  EXPECT_EQ(views[3].outstanding, std::nullopt);
  EXPECT_EQ(views[3].max_cost, 7);
}

TEST(EngineViews, ShowAnAutoBudgetsRate) {
  BudgetSpec budget = RateBudget("b", 0, 10);
  budget.rate = AutoRate{};
  TestEngine engine(OneBudget(budget));
  ASSERT_TRUE(engine->SetAutoRate("", "b", {.rate = 0.25}, At()).ok());
  const BudgetView view = engine->ReadBudgets(At())[0];
  EXPECT_TRUE(view.is_auto);
  EXPECT_EQ(view.rate, 0.25);
  EXPECT_EQ(view.speed, 1);
}

TEST(EngineViews, FullestBucketsComeFirstAndThoseThatWereRefusedHaveNames) {
  TestEngine engine(SplitBudget(SplitByDepth{2}));
  EXPECT_TRUE(engine.Admits("x:full:etl", 100));
  EXPECT_FALSE(engine.Admits("y:full:etl", 1));
  EXPECT_TRUE(engine.Admits("half:etl", 50));
  EXPECT_TRUE(engine.Admits("little:etl", 10));
  const std::vector<FullBucket> buckets = engine->ReadFullestBuckets("", "", 2, At());
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].bucket, "full:etl");
  EXPECT_EQ(buckets[0].debt, 100);
  EXPECT_EQ(buckets[0].fill, 1);
  EXPECT_EQ(buckets[0].empty_in, absl::Seconds(100));
  EXPECT_EQ(buckets[1].bucket, "");  // was never refused
  EXPECT_EQ(buckets[1].debt, 50);
}

TEST(EngineViews, FullestBucketsOfTagsAreNamedByTheTagsValue) {
  TestEngine engine(SplitBudget(SplitByTag{"tenant"}));
  const std::vector<Tag> tags = {{.key = "tenant", .value = "acme"}};
  CheckAnswer answer;
  for (const double cost : {100.0, 1.0}) {
    ASSERT_TRUE(
        engine->Check({.identity = "etl", .estimated_cost = cost, .tags = tags}, At(), answer)
            .ok());
  }
  ASSERT_EQ(engine->ReadFullestBuckets("", "b", 10, At()).size(), 1u);
  EXPECT_EQ(engine->ReadFullestBuckets("", "b", 10, At())[0].bucket, "acme");
}

TEST(EngineViews, FullestBucketsOfAnotherBudgetAreNotShown) {
  TestEngine engine(SplitBudget(SplitByDepth{1}));
  EXPECT_TRUE(engine.Admits("etl", 100));
  EXPECT_TRUE(engine->ReadFullestBuckets("", "other", 10, At()).empty());
  EXPECT_TRUE(engine->ReadFullestBuckets("", "", 0, At()).empty());
  EXPECT_TRUE(engine->ReadFullestBuckets("", "", 10, At(absl::Seconds(100))).empty());
}

TEST(EngineViews, SayWhichBudgetsSomeRuleCharges) {
  PolicySpec spec;
  spec.targets.resize(2);
  spec.targets[0].name = "a";
  spec.targets[1].name = "b";
  spec.budgets = {MaxCostBudget("everywhere", 5), MaxCostBudget("on-b", 5),
                  MaxCostBudget("until", 5), MaxCostBudget("never", 5)};
  spec.rules = {ChargeRule("1", "", {"everywhere"}), ChargeRule("2", "", {"on-b"}),
                ChargeRule("3", "", {"until"})};
  spec.rules[1].match.target = "b";
  spec.rules[2].expires_at = At(absl::Hours(1)).wall();
  TestEngine engine(spec);
  const auto charged = [&](Now now) {
    std::vector<std::string> names;
    for (const BudgetView& view : engine->ReadBudgets(now)) {
      if (view.is_charged) names.push_back(view.target + "/" + view.budget);
    }
    return names;
  };
  EXPECT_EQ(charged(At()), (std::vector<std::string>{"a/everywhere", "a/until", "b/everywhere",
                                                     "b/on-b", "b/until"}));
  EXPECT_EQ(charged(At(absl::Hours(1))),
            (std::vector<std::string>{"a/everywhere", "b/everywhere", "b/on-b"}));
}

}  // namespace
}  // namespace headgate::engine
