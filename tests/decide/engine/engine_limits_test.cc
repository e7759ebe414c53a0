// Exact retry_after, explicit zeros, splits, the kinds of rate.

#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

constexpr absl::Duration kForever = absl::InfiniteDuration();

// Denied, again denied a nanosecond before retry_after, admitted after it.
void ExpectExactRetry(TestEngine& engine, double cost, Now now) {
  const CheckAnswer answer = engine.Check("etl", cost, now);
  ASSERT_EQ(answer.verdict, Verdict::kDenied);
  ASSERT_GT(answer.retry_after, absl::ZeroDuration());
  ASSERT_LT(answer.retry_after, kForever);
  EXPECT_FALSE(engine.Admits("etl", cost, now + answer.retry_after - absl::Nanoseconds(1)));
  EXPECT_TRUE(engine.Admits("etl", cost, now + answer.retry_after));
}

TEST(EngineRetryAfter, IsExactAtSpeedOne) {
  TestEngine engine(OneBudget(RateBudget("b", 7, 10)));
  EXPECT_TRUE(engine.Admits("etl", 10));
  ExpectExactRetry(engine, 3, At(absl::Milliseconds(100)));
}

TEST(EngineRetryAfter, SaysSecondsOfDraining) {
  TestEngine engine(OneBudget(RateBudget("b", 2, 10)));
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_EQ(engine.Check("etl", 3).retry_after, absl::Milliseconds(1500));
}

class EngineRetryAtSpeed : public testing::TestWithParam<double> {};

TEST_P(EngineRetryAtSpeed, IsExact) {
  BudgetSpec budget = RateBudget("b", 7, 10);
  budget.health = "p";
  PolicySpec spec = OneBudget(budget);
  spec.profiles = {{.name = "p", .signals = {"lag"}}};
  TestEngine engine(std::move(spec));
  engine.SetHealth("p", {.speed = GetParam()});
  EXPECT_TRUE(engine.Admits("etl", 10, At(absl::Seconds(3))));
  ExpectExactRetry(engine, 3, At(absl::Milliseconds(3100)));
}

INSTANTIATE_TEST_SUITE_P(Speeds, EngineRetryAtSpeed, testing::Values(1.0, 0.25, 0.3, 0.001, 3.0));

TEST(EngineRetryAfter, IsThatOfTheSlowestBudget) {
  TestEngine engine(Budgets({RateBudget("slow", 1, 10), RateBudget("fast", 100, 10)}));
  EXPECT_TRUE(engine.Admits("etl", 10));
  const CheckAnswer answer = engine.Check("etl", 5);
  EXPECT_EQ(answer.retry_after, absl::Seconds(5));
  ASSERT_EQ(answer.violations.size(), 2U);
  EXPECT_EQ(answer.violations[1].retry_after, absl::Milliseconds(50));
}

TEST(EngineRetryAfter, OfAWarningDoesNotCount) {
  BudgetSpec warns = RateBudget("warns", 1, 10);
  warns.mode = Mode::kWarn;
  TestEngine engine(Budgets({warns, RateBudget("fast", 100, 10)}));
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_EQ(engine.Check("etl", 5).retry_after, absl::Milliseconds(50));
}

TEST(EngineRetryAfter, IsInfiniteForACostAboveTheBurst) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 10)));
  EXPECT_EQ(engine.Check("etl", 10.001).retry_after, kForever);
}

TEST(EngineRetryAfter, IsInfiniteForACostAboveMaxCost) {
  TestEngine engine(OneBudget(MaxCostBudget("b", 10)));
  EXPECT_EQ(engine.Check("etl", 10.001).retry_after, kForever);
  EXPECT_TRUE(engine.Admits("etl", 10));
}

TEST(EngineRetryAfter, OfAPermitIsShort) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 1)));
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::Milliseconds(100));
}

void ExpectBlocks(const BudgetSpec& budget, Limit limit, Reason reason) {
  TestEngine engine(OneBudget(budget));
  const CheckAnswer answer = engine.Check("etl", 0);
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  EXPECT_EQ(answer.reason, reason);
  EXPECT_EQ(answer.retry_after, kForever);
  ASSERT_EQ(answer.violations.size(), 1U);
  EXPECT_EQ(answer.violations[0].limit, limit);
  EXPECT_EQ(answer.violations[0].limit_value, 0);
}

TEST(EngineZero, RateBlocksAFreeCheckToo) {
  ExpectBlocks(RateBudget("b", 0, 10), Limit::kRate, Reason::kCapacity);
}
TEST(EngineZero, BurstBlocksAFreeCheckToo) {
  ExpectBlocks(RateBudget("b", 10, 0), Limit::kBurst, Reason::kCapacity);
}
TEST(EngineZero, MaxCostBlocksAFreeCheckToo) {
  ExpectBlocks(MaxCostBudget("b", 0), Limit::kMaxCost, Reason::kMaxCost);
}
TEST(EngineZero, MaxConcurrencyBlocksAFreeCheckToo) {
  ExpectBlocks(ConcurrencyBudget("b", 0), Limit::kMaxConcurrency, Reason::kMaxConcurrency);
}

TEST(EngineZero, MaxConcurrencyObservesPermitsNotCost) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 0)));
  EXPECT_EQ(engine.Check("etl", 25).violations[0].observed, 0);
}

TEST(EngineUnlimited, BudgetWithoutLimitsAdmitsEverything) {
  BudgetSpec budget;
  budget.name = "b";
  TestEngine engine(OneBudget(budget));
  EXPECT_TRUE(engine.Admits("etl", 1e15));
}

TEST(EngineSplit, ByDepthGivesEachIdentityAtThatDepthABucket) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.split = SplitByDepth{2};
  TestEngine engine(OneBudget(budget));
  EXPECT_TRUE(engine.Admits("one:job1:etl", 10));
  EXPECT_FALSE(engine.Admits("two:job1:etl", 1));
  EXPECT_TRUE(engine.Admits("one:job2:etl", 10));
}

TEST(EngineSplit, ShallowerIdentityUsesItsLeaf) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.split = SplitByDepth{3};
  TestEngine engine(OneBudget(budget));
  EXPECT_TRUE(engine.Admits("job:etl", 10));
  EXPECT_FALSE(engine.Admits("job:etl", 1));
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_TRUE(engine.Admits("x:job:etl", 10));
  EXPECT_EQ(engine.Bucket(Request("job:etl", 0), "b").level, 2);
}

TEST(EngineSplit, ByTagGivesEachValueABucket) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.split = SplitByTag{"table"};
  TestEngine engine(OneBudget(budget));
  const Tag orders[] = {{"table", "orders"}};
  const Tag users[] = {{"x", "orders"}, {"table", "users"}};
  EXPECT_EQ(engine.Check({.identity = "etl", .estimated_cost = 10, .tags = orders}).verdict,
            Verdict::kAllowed);
  EXPECT_EQ(engine.Check({.identity = "j:etl", .estimated_cost = 1, .tags = orders}).verdict,
            Verdict::kDenied);
  EXPECT_EQ(engine.Check({.identity = "etl", .estimated_cost = 10, .tags = users}).verdict,
            Verdict::kAllowed);
}

TEST(EngineSplit, ChecksWithoutTheTagShareABucket) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.split = SplitByTag{"table"};
  TestEngine engine(OneBudget(budget));
  const Tag other[] = {{"x", "y"}};
  const Tag empty[] = {{"table", ""}};
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_EQ(engine.Check({.identity = "etl", .estimated_cost = 1, .tags = other}).verdict,
            Verdict::kDenied);
  EXPECT_EQ(engine.Check({.identity = "etl", .estimated_cost = 1, .tags = empty}).verdict,
            Verdict::kAllowed);
}

TEST(EngineSplit, CountsPermitsOfEachBucket) {
  BudgetSpec budget = ConcurrencyBudget("b", 1);
  budget.split = SplitByDepth{2};
  TestEngine engine(OneBudget(budget));
  EXPECT_TRUE(engine.Admits("job1:etl", 1));
  EXPECT_FALSE(engine.Admits("x:job1:etl", 1));
  EXPECT_TRUE(engine.Admits("job2:etl", 1));
}

TEST(EngineSplit, BucketsOfTwoTargetsAreSeparate) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.targets.resize(2);
  spec.targets[0].name = "db1";
  spec.targets[1].name = "db2";
  TestEngine engine(std::move(spec));
  const auto ask = [&](std::string_view target) {
    return engine.Check({.identity = "etl", .target = target, .estimated_cost = 10}).verdict;
  };
  EXPECT_EQ(ask("db1"), Verdict::kAllowed);
  EXPECT_EQ(ask("db1"), Verdict::kDenied);
  EXPECT_EQ(ask("db2"), Verdict::kAllowed);
}

TEST(EngineRate, ServerShareIsAPercentageOfEachTargetsCapacity) {
  BudgetSpec budget = RateBudget("b", 0, 0);
  budget.rate = ServerShare{25};
  budget.burst = absl::Seconds(2);
  PolicySpec spec = OneBudget(budget);
  spec.targets.resize(2);
  spec.targets[0].name = "small";
  spec.targets[0].capacity = 40;
  spec.targets[1].name = "large";
  spec.targets[1].capacity = 400;
  TestEngine engine(std::move(spec));
  const auto view = [&](std::string_view target) {
    return engine.Bucket({.identity = "etl", .target = target, .estimated_cost = 0}, "b");
  };
  EXPECT_EQ(view("small").rate, 10);
  EXPECT_EQ(view("small").burst, 20);
  EXPECT_EQ(view("large").rate, 100);
  EXPECT_EQ(view("large").burst, 200);
}

TEST(EngineRate, BurstMayBeADurationOfTheRate) {
  BudgetSpec budget = RateBudget("b", 40, 0);
  budget.burst = absl::Milliseconds(500);
  TestEngine engine(OneBudget(budget));
  EXPECT_FALSE(engine.Admits("etl", 20.001));
  EXPECT_TRUE(engine.Admits("etl", 20));
}

// A learnt ratio is in single precision, so that 5 at a ratio of 0.8 is 4.00000006.
TEST(EngineLimits, ACostThatIsOverALimitByItsRoundingIsWithinIt) {
  const double rounded = 5 * static_cast<double>(0.8F);
  ASSERT_GT(rounded, 4);
  TestEngine by_cost(OneBudget(MaxCostBudget("b", 4)));
  EXPECT_TRUE(by_cost.Admits("job:etl", rounded));
  TestEngine by_burst(OneBudget(RateBudget("b", 1, 4)));
  EXPECT_TRUE(by_burst.Admits("job:etl", rounded));
  EXPECT_FALSE(by_burst.Admits("job:etl", 1));
}

TEST(EngineLimits, ASentenceNeverSaysThatANumberIsOverItself) {
  TestEngine engine(OneBudget(MaxCostBudget("b", 4)));
  EXPECT_EQ(engine.Check("job:etl", 4.00001).Sentence(),
            "Denied by budget 'b': cost 4.00001 is over its max_cost of 4. Waiting will not help.");
  EXPECT_EQ(engine.Check("job:etl", 4.0000091).Sentence(),
            "Denied by budget 'b': cost 4.00001 is over its max_cost of 4. Waiting will not help.");
  TestEngine large(OneBudget(MaxCostBudget("b", 1000000)));
  EXPECT_EQ(large.Check("job:etl", 1000002).Sentence(),
            "Denied by budget 'b': cost 1000002 is over its max_cost of 1000000. Waiting will not "
            "help.");
}

}  // namespace
}  // namespace headgate::engine
