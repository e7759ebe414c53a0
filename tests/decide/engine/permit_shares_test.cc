// What one holder of permits may do to others: nothing.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using testing::HasSubstr;

// Each identity may have 100 permits at a time; "rate" alone has no such limit.
PolicySpec Policy() {
  PolicySpec spec;
  BudgetSpec slots = ConcurrencyBudget("slots", 100);
  slots.split = SplitByDepth{8};
  slots.max_buckets = 4096;
  spec.budgets = {slots, RateBudget("rate", 1000, 1e9)};
  BudgetSpec warns = ConcurrencyBudget("warns", 60'000);
  warns.mode = Mode::kWarn;
  spec.budgets.push_back(warns);
  spec.rules = {ChargeRule("holds", "", {"slots"}), ChargeRule("owes", "", {"rate"}),
                ChargeRule("warns", "", {"warns"})};
  spec.rules[0].match.tags = {{"kind", "holds"}};
  spec.rules[1].match.tags = {{"kind", "owes"}};
  spec.rules[2].match.tags = {{"kind", "warns"}};
  return spec;
}

class PermitShares : public testing::Test {
 protected:
  static EngineOptions Options() {
    EngineOptions options;
    options.seed = 7;
    options.max_permits = 1024;
    return options;
  }
  CheckAnswer Check(const std::string& identity, const std::vector<Tag>& tags, Now now = At(),
                    std::string_view caller = {}) {
    return engine_.Check(
        {.identity = identity, .estimated_cost = 1, .tags = tags, .caller = caller}, now);
  }
  // Takes all the permits that it can get.
  int64_t Flood(const std::string& root, Now now = At(), std::string_view caller = {}) {
    for (int64_t taken = 0;; ++taken) {
      const CheckAnswer answer = Check(absl::StrCat("job-", taken, ":", root), holds_, now, caller);
      if (answer.verdict == Verdict::kDenied) return taken;
    }
  }

  const std::vector<Tag> holds_{{"kind", "holds"}};
  const std::vector<Tag> owes_{{"kind", "owes"}};
  const std::vector<Tag> warns_{{"kind", "warns"}};
  const std::vector<Tag> none_;
  TestEngine engine_{Policy(), Options()};
};

TEST_F(PermitShares, WhatNoRuleChargesHasNoPermit) {
  const CheckAnswer answer = Check("job:etl", none_);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.permit, 0U);
  EXPECT_EQ(engine_->ReadStats(At()).permits_live, 0U);
}

TEST_F(PermitShares, AHolderThatHasItsShareIsDeniedByIt) {
  EXPECT_EQ(Flood("etl"), 512);
  const CheckAnswer denied = Check("another:etl", holds_);
  EXPECT_EQ(denied.verdict, Verdict::kDenied);
  EXPECT_EQ(denied.reason, Reason::kPermits);
  EXPECT_EQ(denied.permit, 0U);
  EXPECT_EQ(denied.retry_after, absl::Milliseconds(100));
  ASSERT_EQ(denied.violations.size(), 1U);
  EXPECT_EQ(denied.violations[0].limit, Limit::kPermits);
  EXPECT_EQ(denied.violations[0].observed, 512);
  EXPECT_EQ(denied.violations[0].limit_value, 512);
  EXPECT_THAT(denied.Sentence(), HasSubstr("512 are outstanding of 512"));
  EXPECT_EQ(engine_->ReadPermitStats(At()).turned_away, 2);
}

TEST_F(PermitShares, OthersGetPermitsBesideIt) {
  Flood("etl");
  EXPECT_NE(Check("job:honest", holds_).permit, 0U);
  EXPECT_NE(Check("job:honest", owes_).permit, 0U);
}

TEST_F(PermitShares, ManyFloodsLeaveSomeForWhoComesNext) {
  for (int i = 0; i < 20; ++i) Flood(absl::StrCat("greedy-", i));
  const CheckAnswer honest = Check("job:honest", holds_);
  EXPECT_EQ(honest.verdict, Verdict::kAllowed);
  EXPECT_NE(honest.permit, 0U);
}

TEST_F(PermitShares, WhatOnlyOwesIsChargedWithoutAPermitAndNeverRefused) {
  Flood("etl");
  const double before = engine_.Debt({.identity = "a:etl", .tags = owes_}, "rate");
  const CheckAnswer answer = Check("a:etl", owes_);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.permit, 0U);
  EXPECT_EQ(engine_.Debt({.identity = "a:etl", .tags = owes_}, "rate"), before + 1);
  EXPECT_EQ(engine_->ReadPermitStats(At()).without, 1);
  EXPECT_EQ(engine_->ReadPermitStats(At()).turned_away, 1);
}

TEST_F(PermitShares, ABatchOfWhatOnlyOwesIsChargedWithoutPermitsToo) {
  Flood("etl");
  const std::string identity = "a:etl";
  const std::vector<CheckRequest> requests(
      8, {.identity = identity, .estimated_cost = 1, .tags = owes_});
  std::vector<CheckAnswer> answers(8);
  std::vector<absl::Status> statuses(8);
  engine_->CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(statuses[i].ok());
    EXPECT_EQ(answers[i].verdict, Verdict::kAllowed);
    EXPECT_EQ(answers[i].permit, 0U);
  }
  EXPECT_EQ(engine_.Debt({.identity = identity, .tags = owes_}, "rate"), 8);
}

TEST_F(PermitShares, ABudgetThatOnlyWarnsRefusesNobodyForWantOfAPermit) {
  Flood("etl");
  const CheckAnswer answer = Check("a:etl", warns_);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.permit, 0U);
}

TEST_F(PermitShares, AHolderThatReportsNothingLosesItsOwnPermitsAndNobodyElses) {
  std::vector<PermitId> honest;
  for (int i = 0; i < 100; ++i) honest.push_back(Check("job:honest", owes_).permit);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(Check("job:etl", owes_).verdict, Verdict::kAllowed);
  EXPECT_GT(engine_->ReadPermitStats(At()).recycled_early, 0U);
  for (const PermitId permit : honest) {
    EXPECT_EQ(engine_.Report(permit, 1), ReportOutcome::kSettled);
  }
}

TEST_F(PermitShares, WhatExpiredIsNoLongerCounted) {
  ASSERT_EQ(Flood("etl"), 512);
  const Now later = At(absl::Seconds(61));
  EXPECT_EQ(Check("another:etl", holds_, later).verdict, Verdict::kAllowed);
  EXPECT_EQ(Flood("etl", later), 511);
}

TEST_F(PermitShares, WhatIsReportedIsNoLongerCounted) {
  const CheckAnswer first = Check("job:etl", holds_);
  Flood("etl");
  EXPECT_EQ(Check("another:etl", holds_).verdict, Verdict::kDenied);
  engine_.Report(first.permit, 1);
  EXPECT_EQ(Check("another:etl", holds_).verdict, Verdict::kAllowed);
}

TEST_F(PermitShares, ACheckThatIsRefusedAfterAllCountsForNobody) {
  for (int i = 0; i < 100; ++i) Check("job:etl", holds_);
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(Check("job:etl", holds_).verdict, Verdict::kDenied);
  EXPECT_EQ(engine_->ReadPermitHolders(1)[0].permits, 100);
}

TEST_F(PermitShares, AreTheCallersWhereTheyAreNamed) {
  Flood("etl", At(), "backfill");
  EXPECT_EQ(Check("a:other", holds_, At(), "backfill").reason, Reason::kPermits);
  EXPECT_EQ(Check("a:etl", holds_, At(), "reports").verdict, Verdict::kAllowed);
  const std::vector<PermitHolderView> holders = engine_->ReadPermitHolders(5);
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(holders[0].name, "backfill");
  EXPECT_TRUE(holders[0].is_caller);
  EXPECT_EQ(holders[0].permits, 512);
  EXPECT_EQ(holders[0].turned_away, 2);
}

TEST_F(PermitShares, ABatchIsOfTheCallersThatItsChecksName) {
  Flood("etl", At(), "backfill");
  const std::string identity = "x:etl";
  const std::vector<CheckRequest> requests = {
      {.identity = identity, .estimated_cost = 1, .tags = holds_, .caller = "backfill"},
      {.identity = identity, .estimated_cost = 1, .tags = holds_, .caller = "reports"}};
  std::vector<CheckAnswer> answers(2);
  std::vector<absl::Status> statuses(2);
  engine_->CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  EXPECT_EQ(answers[0].reason, Reason::kPermits);
  EXPECT_EQ(answers[1].verdict, Verdict::kAllowed);
}

TEST_F(PermitShares, ExplainSaysSo) {
  Flood("etl");
  const Explanation explanation =
      engine_.Explain({.identity = "a:etl", .estimated_cost = 1, .tags = holds_});
  EXPECT_EQ(explanation.answer.reason, Reason::kPermits);
  EXPECT_EQ(
      engine_.Explain({.identity = "a:b", .estimated_cost = 1, .tags = holds_}).answer.verdict,
      Verdict::kAllowed);
  EXPECT_EQ(
      engine_.Explain({.identity = "a:etl", .estimated_cost = 1, .tags = owes_}).answer.verdict,
      Verdict::kAllowed);
}

TEST_F(PermitShares, AFullTableIsAnErrorAndItsAnswerSaysWhy) {
  EngineOptions options = Options();
  options.max_permit_share = 1;
  TestEngine engine(Policy(), options);
  for (int i = 0; i < 1024; ++i) {
    const std::string identity = absl::StrCat("job-", i, ":etl");
    EXPECT_EQ(engine.Check({.identity = identity, .estimated_cost = 1, .tags = holds_}).verdict,
              Verdict::kAllowed);
  }
  CheckAnswer answer;
  const absl::Status status =
      engine->Check({.identity = "a:b", .estimated_cost = 1, .tags = holds_}, At(), answer);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  EXPECT_EQ(answer.reason, Reason::kPermits);
  EXPECT_EQ(engine.Check({.identity = "a:b", .estimated_cost = 1}).verdict, Verdict::kAllowed);
  EXPECT_EQ(engine.Check({.identity = "a:b", .estimated_cost = 1, .tags = owes_}).verdict,
            Verdict::kAllowed);
}

TEST_F(PermitShares, ARestartForgetsNobodysPermits) {
  ASSERT_EQ(Flood("etl"), 512);
  Check("job:honest", holds_, At(), "reports");
  SavedState state;
  engine_->Save(At(), state);
  Engine after(Options());
  ASSERT_TRUE(after.Restore(state, At(), 0).ok());
  ASSERT_TRUE(after.Install(Policy(), At()).ok());
  const std::vector<PermitHolderView> holders = after.ReadPermitHolders(5);
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(holders[0].name, "etl");
  EXPECT_EQ(holders[0].permits, 512);
  EXPECT_EQ(holders[1].name, "reports");
  EXPECT_TRUE(holders[1].is_caller);
  CheckAnswer answer;
  ASSERT_TRUE(
      after.Check({.identity = "another:etl", .estimated_cost = 1, .tags = holds_}, At(), answer)
          .ok());
  EXPECT_EQ(answer.reason, Reason::kPermits);
  ASSERT_TRUE(
      after.Check({.identity = "job:new", .estimated_cost = 1, .tags = holds_}, At(), answer).ok());
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
}

TEST_F(PermitShares, PermitsBesideASmallerTableCountForTheirHolderAndTakeNoPlace) {
  ASSERT_EQ(Flood("etl"), 512);
  SavedState state;
  engine_->Save(At(), state);
  EngineOptions smaller = Options();
  smaller.max_permits = 64;
  Engine after(smaller);
  ASSERT_TRUE(after.Restore(state, At(), 0).ok());
  ASSERT_TRUE(after.Install(Policy(), At()).ok());
  EXPECT_EQ(after.ReadPermitHolders(1)[0].permits, 512);
  // Past their time they are gone, and the smaller table is as if it had always been.
  const Now later = At(absl::Seconds(61));
  CheckAnswer answer;
  int64_t taken = 0;
  while (
      taken < 100 &&
      after
          .Check(
              {.identity = absl::StrCat("j", taken, ":etl"), .estimated_cost = 1, .tags = holds_},
              later, answer)
          .ok() &&
      answer.verdict == Verdict::kAllowed) {
    ++taken;
  }
  EXPECT_EQ(taken, 32);
}

}  // namespace
}  // namespace headgate::engine
