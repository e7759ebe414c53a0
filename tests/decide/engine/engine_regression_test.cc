// Corners that a review of the engine found, each of which once went wrong.

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

void CheckBatchOf(Engine& engine, const CheckRequest& request, size_t count,
                  std::vector<CheckAnswer>& answers, std::vector<absl::Status>& statuses) {
  const std::vector<CheckRequest> requests(count, request);
  answers.resize(count);
  statuses.resize(count);
  engine.CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
}

TEST(EngineRegression, BatchPassesABudgetWithoutLimits) {
  BudgetSpec free;
  free.name = "free";
  TestEngine engine(OneBudget(free));
  std::vector<CheckAnswer> answers;
  std::vector<absl::Status> statuses;
  CheckBatchOf(*engine, Request("etl", 5), 8, answers, statuses);
  for (const CheckAnswer& answer : answers) EXPECT_EQ(answer.verdict, Verdict::kAllowed);
}

TEST(EngineRegression, BatchChargesTheSumAndStopsAtTheBurst) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 10)));
  EXPECT_TRUE(engine.Admits("etl", 1));
  std::vector<CheckAnswer> answers;
  std::vector<absl::Status> statuses;
  CheckBatchOf(*engine, Request("etl", 2), 6, answers, statuses);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(statuses[i].ok());
    EXPECT_EQ(answers[i].verdict, i < 4 ? Verdict::kAllowed : Verdict::kDenied);
  }
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 9);
  engine.Report(answers[3].permit, 0);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 7);
}

// The re-resolution fails where the target is gone, and the policy that was resolved under is
// freed.
TEST(EngineRegression, BatchSurvivesAPolicyThatTakesItsTargetAway) {
  PolicySpec one = OneBudget(RateBudget("b", 1, 1e9));
  one.targets = {{.name = "db1", .capacity = {}, .default_health = ""}};
  PolicySpec two = OneBudget(RateBudget("b", 2, 1e9));
  two.targets = {{.name = "db2", .capacity = {}, .default_health = ""},
                 {.name = "db1", .capacity = {}, .default_health = ""}};
  TestEngine engine(one);
  std::atomic<bool> done{false};
  std::thread installer([&] {
    for (int i = 0; i < Scaled(300); ++i) {
      ASSERT_TRUE(engine->Install(i % 2 == 0 ? two : one, At()).ok());
    }
    done.store(true);
  });
  std::vector<CheckAnswer> answers;
  std::vector<absl::Status> statuses;
  while (!done.load()) CheckBatchOf(*engine, Request("etl", 1), 32, answers, statuses);
  installer.join();
}

TEST(EngineRegression, CostBeyondTheLongestBurstIsNeverAdmitted) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1e10)));
  EXPECT_FALSE(engine.Admits("etl", 1e12));
  EXPECT_EQ(engine.Check("etl", 1e12).retry_after, absl::InfiniteDuration());
}

TEST(EngineRegression, ErrorLeavesNoEarlierAnswer) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 10)));
  CheckAnswer answer;
  ASSERT_TRUE(engine->Check(Request("etl", 1), At(), answer).ok());
  ASSERT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_FALSE(engine->Check(Request("et l", 1), At(), answer).ok());
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  EXPECT_EQ(answer.permit, 0U);
  EXPECT_EQ(answer.Sentence().substr(0, 6), "Denied");
}

TEST(EngineRegression, RejectingAllSaysWhenItsRuleExpires) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{1})};
  spec.rules[0].expires_at = At(absl::Seconds(10)).wall();
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::Seconds(10));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Seconds(10))));
}

TEST(EngineRegression, HeldPermitsInARowLeaveRoomBehindThem) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 10'000)), {.seed = 7});
  for (int i = 0; i < 1100; ++i) EXPECT_TRUE(engine.Admits("etl", 1));
  CheckAnswer answer;
  for (int i = 0; i < 40'000; ++i) {
    ASSERT_TRUE(engine->Check(Request("etl", 1), At(), answer).ok());
    engine.Report(answer.permit, 1);
  }
}

TEST(EngineRegression, PermitsInARowAreNotRecycledWhileThereIsRoomBehindThem) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1e9)), {.seed = 7});
  for (int i = 0; i < 1100; ++i) EXPECT_TRUE(engine.Admits("etl", 1));
  for (int i = 0; i < 40'000; ++i) engine.Report(engine.Check("etl", 1).permit, 1);
  EXPECT_EQ(engine->ReadPermitStats(At()).recycled_early, 0U);
}

TEST(EngineRegression, ExemptPassesAFullTable) {
  PolicySpec spec = OneBudget(ConcurrencyBudget("b", 1000));
  spec.rules.push_back(RuleOn("exempt", "vip", ExemptAction{}));
  TestEngine engine(std::move(spec), {.seed = 7, .max_permits = 64, .max_permit_share = 1});
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_EQ(engine.CheckError(Request("etl", 1)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(engine.Admits("vip", 1));
}

TEST(EngineRegression, EveryExplicitZeroIsListed) {
  BudgetSpec budget = RateBudget("b", 0, 10);
  budget.max_cost = 0;
  budget.max_concurrency = 0;
  TestEngine engine(OneBudget(budget));
  const CheckAnswer answer = engine.Check("etl", 1);
  EXPECT_EQ(answer.violations.size(), 3U);
  EXPECT_EQ(answer.reason, Reason::kMaxCost);
}

TEST(EngineRegression, BudgetsThatAreGoneButOweCountAsMemory) {
  BudgetSpec budget = RateBudget("b0", 1e-3, 100);
  budget.split = SplitByDepth{1};
  budget.max_buckets = 1 << 14;
  TestEngine engine(OneBudget(budget), {.seed = 7, .bucket_bytes = size_t{1} << 20});
  EXPECT_TRUE(engine.Admits("etl", 50));
  budget.name = "b1";
  engine.Install(OneBudget(budget));
  EXPECT_TRUE(engine.Admits("etl", 50));
  budget.name = "b2";
  EXPECT_EQ(engine->Install(OneBudget(budget), At()).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace headgate::engine
