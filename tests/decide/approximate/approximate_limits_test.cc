#include "server/decide/approximate/approximate_limits.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::approximate {
namespace {

using engine::At;
using engine::BudgetSpec;
using engine::CheckAnswer;
using engine::CheckRequest;
using engine::Limit;
using engine::PolicySpec;
using engine::RateBudget;
using engine::Reason;
using engine::TestEngine;
using engine::Verdict;
using testing::HasSubstr;
using testing::IsEmpty;

class ApproximateLimitsTest : public testing::Test {
 protected:
  explicit ApproximateLimitsTest(PolicySpec policy = OneBudget(RateBudget("b", 300, 1500)))
      : engine_(std::move(policy)) {
    limits_.SetServers(3);
  }

  CheckAnswer Check(const CheckRequest& request, Now now = At(), bool only_asks = false) {
    CheckAnswer answer;
    const absl::Status status = engine_->CheckApproximately(
        {.request = request, .buckets = limits_, .only_asks = only_asks}, now, answer);
    EXPECT_TRUE(status.ok()) << status;
    return answer;
  }
  CheckAnswer Check(std::string_view identity, double cost, Now now = At()) {
    return Check(engine::Request(identity, cost), now);
  }
  std::vector<UnchargedCost> TakeAll(Now now) { return limits_.TakeUncharged("", 1000, now); }

  TestEngine engine_;
  ApproximateLimits limits_{{}};
};

TEST_F(ApproximateLimitsTest, AdmitsASecondOfItsPartOfTheRateAtOnceAndSaysSo) {
  const CheckAnswer answer = Check("job:etl", 100);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.reason, Reason::kApproximate);
  EXPECT_EQ(answer.permit, 0u);
  EXPECT_THAT(answer.Sentence(), HasSubstr("Allowed approximately"));
  const CheckAnswer next = Check("job:etl", 100);
  EXPECT_EQ(next.verdict, Verdict::kDenied);
  EXPECT_EQ(next.reason, Reason::kApproximate);
  ASSERT_EQ(next.violations.size(), 1u);
  EXPECT_EQ(next.violations[0].limit, Limit::kApproximate);
  EXPECT_EQ(next.violations[0].limit_value, 100);
  EXPECT_EQ(next.retry_after, absl::Seconds(1));
  EXPECT_THAT(next.Sentence(), HasSubstr("approximately: this server may admit 100 a second"));
}

TEST_F(ApproximateLimitsTest, ChargesNoBucketOfTheEngine) {
  Check("job:etl", 100);
  EXPECT_EQ(engine_.Debt("job:etl", "b"), 0);
}

TEST_F(ApproximateLimitsTest, AServerAloneHasAllOfTheRate) {
  limits_.SetServers(1);
  EXPECT_EQ(Check("job:etl", 300).verdict, Verdict::kAllowed);
}

TEST_F(ApproximateLimitsTest, WhoOnlyAsksTakesNothing) {
  EXPECT_EQ(Check(engine::Request("job:etl", 100), At(), true).verdict, Verdict::kAllowed);
  EXPECT_EQ(Check("job:etl", 100).verdict, Verdict::kAllowed);
  EXPECT_EQ(limits_.stats().admitted, 1);
}

TEST_F(ApproximateLimitsTest, ARequestHasTheSameLuckAtEachServerWithinASecondAndNewLuckAfterwards) {
  int differences = 0;
  std::vector<int> lucky(10, 0);
  for (int i = 0; i < 100; ++i) {
    const std::string id = absl::StrCat("request-", i);
    CheckRequest request = engine::Request("job:etl", 1000);
    request.request_id = id;
    for (int second = 0; second < 10; ++second) {
      // Each is the first of its bucket: both have the same room.
      ApproximateLimits one({});
      ApproximateLimits two({});
      one.SetServers(3);
      two.SetServers(3);
      CheckAnswer first;
      CheckAnswer again;
      const Now now = At(absl::Seconds(second));
      ASSERT_TRUE(engine_->CheckApproximately({request, one}, now, first).ok());
      ASSERT_TRUE(engine_->CheckApproximately({request, two}, now, again).ok());
      differences += first.verdict != again.verdict ? 1 : 0;
      lucky[static_cast<size_t>(second)] += first.verdict == Verdict::kAllowed ? 1 : 0;
    }
  }
  EXPECT_EQ(differences, 0);
  // One in ten is admitted, since it takes ten times the room; and not the same ones.
  EXPECT_THAT(lucky, testing::Each(testing::AllOf(testing::Gt(0), testing::Lt(30))));
  EXPECT_THAT(lucky, testing::Not(testing::Each(lucky[0])));
}

TEST_F(ApproximateLimitsTest, SmallChecksNeedNoLuck) {
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) {
    admitted += Check("job:etl", 3).verdict == Verdict::kAllowed ? 1 : 0;
  }
  EXPECT_EQ(admitted, 33);
}

TEST_F(ApproximateLimitsTest, MoreThanTheBurstIsNeverAdmitted) {
  const CheckAnswer answer = Check("job:etl", 1501);
  EXPECT_EQ(answer.reason, Reason::kCapacity);
  EXPECT_EQ(answer.retry_after, absl::InfiniteDuration());
}

TEST_F(ApproximateLimitsTest, KeepsWhatWasAdmittedForTheOwner) {
  Check("job:etl", 60);
  Check("job:etl", 40);
  Check("job:etl", 100);  // refused
  const std::vector<UnchargedCost> costs = TakeAll(At(absl::Milliseconds(500)));
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].budget, "b");
  EXPECT_EQ(costs[0].cost, 100);
  EXPECT_NEAR(costs[0].undrained, 50, 0.01);
  // Until somebody has been charged for it, or never will be.
  EXPECT_EQ(limits_.stats().uncharged_buckets, 1);
  limits_.NoteLost(1);
  EXPECT_EQ(limits_.stats().uncharged_buckets, 0);
  EXPECT_EQ(limits_.stats().lost_buckets, 1);
}

TEST_F(ApproximateLimitsTest, TheOwnerIsChargedAsIfItHadDecided) {
  ASSERT_TRUE(engine_.Admits("job:etl", 1500));  // the bucket is full: 5 s
  const Now later = At(absl::Seconds(2));
  const auto unknown = engine_->ChargeApproximately(
      "",
      {{{.budget = "b", .bucket = 1, .cost = 600, .since = absl::Seconds(2)},
        {.budget = "gone", .bucket = 1, .cost = 1}}},
      later);
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(*unknown, 1);
  EXPECT_NEAR(engine_.Debt("job:etl", "b", later), 1500, 1e-3);
}

TEST_F(ApproximateLimitsTest, TheOwnerOfAnEmptyBucketIsOwedWhatHasNotDrained) {
  const auto unknown = engine_->ChargeApproximately(
      "", {{{.budget = "b", .bucket = 1, .cost = 600, .undrained = 90, .since = absl::Seconds(9)}}},
      At(absl::Seconds(20)));
  ASSERT_TRUE(unknown.ok());
  EXPECT_NEAR(engine_.Debt("job:etl", "b", At(absl::Seconds(20))), 90, 1e-3);
}

TEST_F(ApproximateLimitsTest, NoChargeMakesABucketMoreThanFull) {
  ASSERT_TRUE(
      engine_->ChargeApproximately("", {{{.budget = "b", .bucket = 1, .cost = 1e9}}}, At()).ok());
  EXPECT_NEAR(engine_.Debt("job:etl", "b"), 1500, 1e-3);
}

TEST_F(ApproximateLimitsTest, AnOwnerChargesEachMessageOnce) {
  int charged = 0;
  const auto charge = [&](uint64_t sender, uint64_t number, const absl::Status& outcome) {
    return limits_.ChargeOnce({"orders", sender, number}, [&] {
      ++charged;
      return outcome;
    });
  };
  EXPECT_FALSE(charge(1, 5, absl::UnavailableError("later")).ok());
  EXPECT_TRUE(charge(1, 5, absl::OkStatus()).ok());
  EXPECT_EQ(charged, 2);
  EXPECT_TRUE(charge(1, 5, absl::OkStatus()).ok());
  EXPECT_TRUE(charge(1, 4, absl::OkStatus()).ok());
  EXPECT_EQ(charged, 2);
  EXPECT_TRUE(charge(2, 4, absl::OkStatus()).ok());
  EXPECT_TRUE(charge(1, 6, absl::OkStatus()).ok());
  EXPECT_EQ(charged, 4);
}

TEST_F(ApproximateLimitsTest, RequestsThatAreInvalidAreErrors) {
  CheckAnswer answer;
  CheckRequest request = engine::Request("job:etl", -1);
  EXPECT_TRUE(
      absl::IsInvalidArgument(engine_->CheckApproximately({request, limits_}, At(), answer)));
  request = engine::Request("job::etl", 1);
  EXPECT_TRUE(
      absl::IsInvalidArgument(engine_->CheckApproximately({request, limits_}, At(), answer)));
}

TEST_F(ApproximateLimitsTest, BucketsWithoutACounterAreAdmittedAndCounted) {
  PolicySpec policy = OneBudget(RateBudget("b", 300, 1500));
  policy.budgets[0].split = engine::SplitByDepth{2};
  engine_.Install(policy);
  ApproximateLimits small({.counters = 8});
  CheckAnswer answer;
  int admitted = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string identity = absl::StrCat("j", i, ":etl");
    ASSERT_TRUE(
        engine_->CheckApproximately({engine::Request(identity, 300), small}, At(), answer).ok());
    admitted += answer.verdict == Verdict::kAllowed ? 1 : 0;
  }
  EXPECT_EQ(admitted, 100);
  EXPECT_EQ(small.stats().untracked, 92);
}

PolicySpec WithRules() {
  PolicySpec policy = OneBudget(RateBudget("b", 300, 1500));
  policy.budgets[0].max_cost = 50;
  policy.rules.push_back(RuleOn("vip", "vip:etl", engine::ExemptAction{}));
  policy.rules.push_back(RuleOn("no", "bad:etl", engine::DenyAction{}));
  policy.rules.push_back(RuleOn("none", "worse:etl", engine::RejectAction{.ratio = 1}));
  return policy;
}

TEST_F(ApproximateLimitsTest, RulesAndTheLargestCostHold) {
  engine_.Install(WithRules());
  EXPECT_EQ(Check("vip:etl", 1e6).reason, Reason::kExempt);
  EXPECT_EQ(Check("bad:etl", 1).reason, Reason::kDenyRule);
  EXPECT_EQ(Check("worse:etl", 1).reason, Reason::kRejectRatio);
  EXPECT_EQ(Check("job:etl", 51).reason, Reason::kMaxCost);
  EXPECT_EQ(Check("job:etl", 50).reason, Reason::kApproximate);
  EXPECT_EQ(Check("other", 1e6).reason, Reason::kNone);  // no rule matches
}

TEST_F(ApproximateLimitsTest, WhereItIsDeniedNothingIsTakenFromAnyBucket) {
  BudgetSpec wide = RateBudget("wide", 3000, 15000);
  engine_.Install(engine::Budgets({RateBudget("b", 300, 1500), wide}));
  Check("job:etl", 100);
  EXPECT_EQ(Check("job:etl", 100).verdict, Verdict::kDenied);
  EXPECT_EQ(TakeAll(At()).size(), 2u);
}

TEST_F(ApproximateLimitsTest, PermitsCannotBeCountedSoThatTheirBudgetDenies) {
  engine_.Install(OneBudget(engine::ConcurrencyBudget("c", 4)));
  const CheckAnswer answer = Check("job:etl", 1);
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  EXPECT_EQ(answer.reason, Reason::kApproximate);
  EXPECT_THAT(answer.Sentence(), HasSubstr("max_concurrency"));
}

TEST_F(ApproximateLimitsTest, AnAutoBudgetDeniesUntilItsRateIsKnownHere) {
  BudgetSpec budget;
  budget.name = "a";
  budget.rate = engine::AutoRate{};
  budget.burst = 1.0;
  engine_.Install(OneBudget(budget));
  EXPECT_EQ(Check("job:etl", 0.1).verdict, Verdict::kDenied);
  ASSERT_TRUE(engine_->SetAutoRate("", "a", {.rate = 3}, At()).ok());
  EXPECT_EQ(Check("job:etl", 0.1).verdict, Verdict::kAllowed);
}

TEST_F(ApproximateLimitsTest, ABudgetThatOnlyWarnsNeverDenies) {
  PolicySpec policy = OneBudget(RateBudget("b", 300, 1500));
  policy.budgets[0].mode = engine::Mode::kWarn;
  engine_.Install(policy);
  EXPECT_THAT(Check("job:etl", 100).violations, IsEmpty());
  const CheckAnswer answer = Check("job:etl", 100);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  ASSERT_EQ(answer.violations.size(), 1u);
  EXPECT_TRUE(answer.violations[0].warn);
}

PolicySpec WithHealth() {
  PolicySpec policy = OneBudget(RateBudget("b", 300, 1500));
  policy.profiles = {{.name = "std", .signals = {}}};
  policy.budgets[0].health = "std";
  return policy;
}

TEST_F(ApproximateLimitsTest, GoesByTheSpeedThatIsKnown) {
  engine_.Install(WithHealth());
  engine_.SetHealth("std", {.speed = 0.5, .status = engine::HealthStatus::kHealthy});
  EXPECT_EQ(Check("job:etl", 50).verdict, Verdict::kAllowed);
  EXPECT_EQ(Check("job:etl", 50).verdict, Verdict::kDenied);
}

TEST_F(ApproximateLimitsTest, AGateThatIsShutDenies) {
  engine_.Install(WithHealth());
  engine_.SetHealth("std", {.speed = 0.5, .gate_shut = true});
  EXPECT_EQ(Check("job:etl", 1).reason, Reason::kHealth);
}

}  // namespace
}  // namespace headgate::approximate
