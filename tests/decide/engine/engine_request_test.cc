// Request ids and batches.

#include <array>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

CheckRequest WithId(std::string_view identity, double cost, std::string_view id) {
  return {.identity = identity, .estimated_cost = cost, .request_id = id};
}

TEST(EngineRequestId, RetryGetsTheSameAnswerAndIsChargedOnce) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer first = engine.Check(WithId("etl", 40, "r1"));
  const CheckAnswer retry = engine.Check(WithId("etl", 40, "r1"), At(absl::Seconds(1)));
  EXPECT_EQ(retry.verdict, Verdict::kAllowed);
  EXPECT_EQ(retry.permit, first.permit);
  EXPECT_EQ(retry.predicted_cost, first.predicted_cost);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 40);
}

TEST(EngineRequestId, RetryOfAWarnedCheckHasItsWarnings) {
  BudgetSpec budget = RateBudget("b", 1, 10);
  budget.mode = Mode::kWarn;
  TestEngine engine(OneBudget(budget));
  engine.Check(WithId("etl", 40, "r1"));
  const CheckAnswer retry = engine.Check(WithId("etl", 40, "r1"));
  ASSERT_EQ(retry.violations.size(), 1U);
  EXPECT_TRUE(retry.violations[0].warn);
  EXPECT_EQ(BudgetOf(retry, 0), "b");
}

TEST(EngineRequestId, RetryIsMarkedAsRepeated) {
  BudgetSpec budget = RateBudget("b", 1, 100);
  for (const Mode mode : {Mode::kEnforce, Mode::kWarn}) {
    budget.mode = mode;
    TestEngine engine(OneBudget(budget));
    const CheckAnswer first = engine.Check(WithId("etl", 140 * (mode == Mode::kWarn), "r1"));
    EXPECT_FALSE(first.repeated);
    CheckAnswer retry = engine.Check(WithId("etl", 140 * (mode == Mode::kWarn), "r1"));
    EXPECT_TRUE(retry.repeated);
    EXPECT_EQ(retry.subject_key, first.subject_key);
    ASSERT_TRUE(engine->Check(Request("etl", 1), At(), retry).ok());
    EXPECT_FALSE(retry.repeated);
  }
}

TEST(EngineSubjectKey, IsOfTheTargetAndTheWholeIdentity) {
  PolicySpec spec;
  spec.targets = {{.name = "a", .capacity = {}, .default_health = ""},
                  {.name = "b", .capacity = {}, .default_health = ""}};
  spec.rules = {RuleOn("stop", "bad:etl", DenyAction{})};
  TestEngine engine(std::move(spec));
  const auto key = [&](std::string_view target, std::string_view identity) {
    return engine.Check({.identity = identity, .target = target}).subject_key;
  };
  EXPECT_EQ(key("a", "job:etl"), key("a", "job:etl"));
  EXPECT_NE(key("a", "job:etl"), key("b", "job:etl"));
  EXPECT_NE(key("a", "job:etl"), key("a", "etl"));
  EXPECT_NE(key("a", "bad:etl"), key("b", "bad:etl"));
  EXPECT_EQ(key("a", "job:etl") % 2, 1);
}

TEST(EngineSubjectKey, IsInEveryAnswerOfABatch) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 25)));
  const uint64_t key = engine.Check(Request("etl", 0)).subject_key;
  std::vector<CheckRequest> requests(4, Request("etl", 10));
  std::vector<CheckAnswer> answers(4);
  std::vector<absl::Status> statuses(4);
  engine->CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  for (const CheckAnswer& answer : answers) EXPECT_EQ(answer.subject_key, key);
  EXPECT_EQ(answers[3].verdict, Verdict::kDenied);
}

TEST(EngineRequestId, LivesUntilThePermitExpires) {
  TestEngine engine(OneBudget(RateBudget("b", 1e-6, 100)));
  engine.Check(WithId("etl", 40, "r1"));
  engine.Check(WithId("etl", 40, "r1"), At(absl::Minutes(1)) - absl::Nanoseconds(1));
  EXPECT_NEAR(engine.Debt("etl", "b"), 40, 0.001);
  engine.Check(WithId("etl", 40, "r1"), At(absl::Minutes(1)));
  EXPECT_NEAR(engine.Debt("etl", "b"), 80, 0.001);
}

TEST(EngineRequestId, LivesUntilThePermitIsReported) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const CheckAnswer first = engine.Check(WithId("etl", 40, "r1"));
  engine.Report(first.permit, 40);
  EXPECT_NE(engine.Check(WithId("etl", 40, "r1")).permit, first.permit);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 80);
}

TEST(EngineRequestId, OfADenialIsDecidedAnew) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 100));
  EXPECT_EQ(engine.Check(WithId("etl", 40, "r1")).verdict, Verdict::kDenied);
  EXPECT_EQ(engine.Check(WithId("etl", 40, "r1"), At(absl::Seconds(40))).verdict,
            Verdict::kAllowed);
}

TEST(EngineRequestId, BelongsToOneIdentity) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  engine.Check(WithId("one:etl", 40, "r1"));
  engine.Check(WithId("two:etl", 40, "r1"));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 80);
}

TEST(EngineRequestId, BelongsToOneTarget) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 100));
  spec.targets.resize(2);
  spec.targets[0].name = "db1";
  spec.targets[1].name = "db2";
  TestEngine engine(std::move(spec));
  const PermitId one =
      engine.Check({.identity = "etl", .target = "db1", .request_id = "r1"}).permit;
  const PermitId two =
      engine.Check({.identity = "etl", .target = "db2", .request_id = "r1"}).permit;
  EXPECT_NE(one, two);
}

TEST(EngineRequestId, SurvivesAReload) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId first = engine.Check(WithId("etl", 40, "r1")).permit;
  engine.Install(OneBudget(RateBudget("b", 2, 100)));
  EXPECT_EQ(engine.Check(WithId("etl", 40, "r1")).permit, first);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 40);
}

TEST(EngineRequestId, OfEndedPermitsAreDropped) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1e6)));
  for (int i = 0; i < 100'000; ++i) {
    const std::string id = "r" + std::to_string(i);
    engine.Report(engine.Check(WithId("etl", 1, id)).permit, 1);
  }
  EXPECT_LE(engine->ReadStats(At()).request_ids, 64U * 64U);
}

// What two answers to the same request have in common; permits differ.
void ExpectAlike(const CheckAnswer& a, const CheckAnswer& b) {
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.priority, b.priority);
  EXPECT_EQ(a.permit != 0, b.permit != 0);
  EXPECT_EQ(a.predicted_cost, b.predicted_cost);
  EXPECT_EQ(a.retry_after, b.retry_after);
  EXPECT_EQ(a.Sentence(), b.Sentence());
}

PolicySpec Mixed() {
  BudgetSpec split = RateBudget("split", 1, 20);
  split.split = SplitByDepth{2};
  PolicySpec spec = Budgets({RateBudget("whole", 1, 50), split});
  spec.rules.push_back(RuleOn("deny", "bad:etl", DenyAction{}));
  spec.rules.push_back(RuleOn("reject", "dice:etl", RejectAction{0.5}));
  return spec;
}

TEST(EngineBatch, EqualsChecksOneByOne) {
  TestEngine alone(Mixed());
  TestEngine together(Mixed());
  const std::string_view names[] = {"a:etl", "b:etl", "bad:etl", "dice:etl", "other"};
  std::vector<CheckRequest> requests;
  for (size_t i = 0; i < 40; ++i) {
    requests.push_back(Request(names[(i / 3) % 5], static_cast<double>(i % 7)));
  }
  std::vector<CheckAnswer> answers(requests.size());
  std::vector<absl::Status> statuses(requests.size());
  together->CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(statuses[i].ok()) << statuses[i];
    ExpectAlike(answers[i], alone.Check(requests[i]));
  }
  EXPECT_DOUBLE_EQ(together.Debt("a:etl", "whole"), alone.Debt("a:etl", "whole"));
}

TEST(EngineBatch, OneBadRequestFailsAlone) {
  TestEngine engine(Mixed());
  const std::array<CheckRequest, 5> requests = {Request("a:etl", 5), Request("a:etl", -1),
                                                Request("a::etl", 5), Request("a::etl", 5),
                                                Request("a:etl", 5)};
  std::array<CheckAnswer, 5> answers;
  std::array<absl::Status, 5> statuses;
  engine->CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  EXPECT_TRUE(statuses[0].ok());
  EXPECT_EQ(statuses[1].code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(statuses[2].code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(statuses[3].code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(statuses[4].ok());
  EXPECT_DOUBLE_EQ(engine.Debt("a:etl", "whole"), 10);
}

TEST(EngineBatch, SharedViewsAreStillDecidedOneByOne) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 10)));
  const std::string identity = "etl";
  const std::array<CheckRequest, 3> requests = {Request(identity, 4), Request(identity, 4),
                                                Request(identity, 4)};
  std::array<CheckAnswer, 3> answers;
  std::array<absl::Status, 3> statuses;
  engine->CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  EXPECT_EQ(answers[1].verdict, Verdict::kAllowed);
  EXPECT_EQ(answers[2].verdict, Verdict::kDenied);
}

TEST(EngineBatch, WithoutAPolicyEveryRequestFails) {
  Engine engine(TestEngine::Options());
  const std::array<CheckRequest, 2> requests = {Request("a", 1), Request("b", 1)};
  std::array<CheckAnswer, 2> answers;
  std::array<absl::Status, 2> statuses;
  engine.CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(statuses[1].code(), absl::StatusCode::kFailedPrecondition);
}

TEST(EngineBatch, OfNothingDoesNothing) {
  TestEngine engine(Mixed());
  engine->CheckBatch({}, At(), {}, {});
  EXPECT_EQ(engine->ReadStats(At()).permits_live, 0U);
}

TEST(EngineAnswer, IsReusableFromOneCheckToTheNext) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 10)));
  CheckAnswer answer;
  ASSERT_TRUE(engine->Check(Request("etl", 11), At(), answer).ok());
  ASSERT_EQ(answer.verdict, Verdict::kDenied);
  ASSERT_TRUE(engine->Check(Request("etl", 4), At(), answer).ok());
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_TRUE(answer.violations.empty());
  EXPECT_EQ(answer.retry_after, absl::ZeroDuration());
  EXPECT_EQ(answer.reason, Reason::kNone);
}

}  // namespace
}  // namespace headgate::engine
