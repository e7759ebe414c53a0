#include "server/remember/throttle_log/recorder.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/remember/throttle_log/recorder_fixture.h"

namespace headgate::throttle_log {
namespace {

using engine::At;
using engine::Limit;
using engine::OneBudget;
using engine::RateBudget;
using engine::Reason;
using engine::Request;
using engine::RuleOn;
using engine::Verdict;
using testing::ElementsAre;

TEST(Recorder, CountsChecksAndCostByIdentityAndOutcome) {
  Recording log(OneBudget(RateBudget("b", 10, 100)));
  log.Check("job:etl", 60);
  log.Check("job:etl", 30);
  log.Check("job:etl", 50);
  log.Check("other:etl", 5);
  const Sums sums = log.Collect();
  ASSERT_EQ(sums.size(), 3);
  const RowKey allowed{.identity = "job:etl"};
  EXPECT_EQ(sums.at(allowed).checks, 2);
  EXPECT_EQ(sums.at(allowed).cost, 90);
  const RowKey denied{
      .identity = "job:etl",
      .outcome = Outcome::kDenied,
      .cause = {
          .reason = Reason::kCapacity, .limit = Limit::kBurst, .budget = "b", .rule = "charge"}};
  EXPECT_EQ(sums.at(denied).checks, 1);
  EXPECT_EQ(sums.at(denied).cost, 50);
  EXPECT_EQ(sums.at(denied).peak, 140);
  EXPECT_EQ(sums.at(denied).limit, 100);
  EXPECT_EQ(sums.at({.identity = "other:etl"}).checks, 1);
}

TEST(Recorder, TellsWhatNoRuleMatchesFromWhatNothingRefuses) {
  Recording log(OneBudget(RateBudget("b", 10, 100)));
  log.Check("job:etl", 1);
  for (int i = 0; i < 3; ++i) log.Check("job:elt", 2);
  const Sums sums = log.Collect();
  ASSERT_EQ(sums.size(), 2);
  EXPECT_EQ(sums.at({.identity = "job:etl"}).checks, 1);
  const RowKey unmatched{.identity = "job:elt", .cause = {.reason = Reason::kUnmatched}};
  EXPECT_EQ(sums.at(unmatched).checks, 3);
  EXPECT_EQ(sums.at(unmatched).cost, 6);
}

TEST(Recorder, TellsWhoseChecksNoRuleMatched) {
  std::vector<std::string> told;
  RecorderOptions options = Recording::Options();
  options.on_unmatched = [&](std::string_view identity, int64_t checks) {
    told.push_back(absl::StrCat(checks, " of ", std::string(identity)));
  };
  Recording log(OneBudget(RateBudget("b", 10, 100)), options);
  log.Check("job:etl", 1);
  for (int i = 0; i < 3; ++i) log.Check("job:elt", 2);
  log.Collect();
  log.Collect();
  EXPECT_THAT(told, ElementsAre("3 of job:elt"));
}

TEST(Recorder, CountsAsMatchedWhatARuleOnlyLabels) {
  Recording log(NoLimits());
  log.Check("job:etl", 1);
  EXPECT_EQ(log.Collect().begin()->first.cause.reason, Reason::kNone);
}

TEST(Recorder, GivesWhatCameSinceTheCollectionBefore) {
  Recording log(OneBudget(RateBudget("b", 10, 100)));
  log.Check("etl", 1);
  EXPECT_EQ(ChecksOf(log.Collect()), 1);
  EXPECT_EQ(ChecksOf(log.Collect()), 0);
  log.Check("etl", 2);
  log.Check("etl", 3);
  const Sums sums = log.Collect();
  EXPECT_EQ(ChecksOf(sums), 2);
  EXPECT_EQ(CostIn(sums), 5);
}

TEST(Recorder, NamesTheTargetWhetherOrNotTheCheckDoes) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.targets = {{.name = "main", .capacity = {}, .default_health = ""}};
  Recording log(std::move(spec));
  log.Check("etl", 1);
  log.Check({.identity = "etl", .target = "main", .estimated_cost = 1});
  const Sums sums = log.Collect();
  ASSERT_EQ(sums.size(), 1);
  EXPECT_EQ(sums.begin()->first.target, "main");
  EXPECT_EQ(sums.begin()->second.checks, 2);
}

TEST(Recorder, TellsExemptDeniedByRuleAndRejectedApart) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.rules.push_back(RuleOn("let-pass", "vip:etl", engine::ExemptAction{}));
  spec.rules.push_back(RuleOn("keep-out", "bad:etl", engine::DenyAction{}));
  spec.rules.push_back(RuleOn("shed", "half:etl", engine::RejectAction{1}));
  Recording log(std::move(spec));
  log.Check("vip:etl", 1);
  log.Check("bad:etl", 1);
  log.Check("half:etl", 1);
  const Sums sums = log.Collect();
  EXPECT_EQ(sums.size(), 3);
  EXPECT_TRUE(sums.contains({.identity = "vip:etl", .cause = {.reason = Reason::kExempt}}));
  EXPECT_TRUE(sums.contains({.identity = "bad:etl",
                             .outcome = Outcome::kDenied,
                             .cause = {.reason = Reason::kDenyRule, .rule = "keep-out"}}));
  EXPECT_TRUE(sums.contains({.identity = "half:etl",
                             .outcome = Outcome::kDenied,
                             .cause = {.reason = Reason::kRejectRatio, .rule = "shed"}}));
}

TEST(Recorder, CountsWhatAWarnBudgetWouldHaveDenied) {
  engine::BudgetSpec budget = RateBudget("b", 10, 100);
  budget.mode = engine::Mode::kWarn;
  Recording log(OneBudget(budget));
  EXPECT_EQ(log.Check("etl", 150).verdict, Verdict::kAllowed);
  const Sums sums = log.Collect();
  ASSERT_EQ(sums.size(), 1);
  EXPECT_EQ(sums.begin()->first.outcome, Outcome::kWouldBeDenied);
  EXPECT_EQ(sums.begin()->first.cause.reason, Reason::kCapacity);
  EXPECT_EQ(sums.begin()->first.cause.budget, "b");
}

TEST(Recorder, CountsARetryOfOneRequestOnce) {
  Recording log(OneBudget(RateBudget("b", 10, 100)));
  const engine::CheckRequest request{.identity = "etl", .estimated_cost = 10, .request_id = "once"};
  EXPECT_FALSE(log.Check(request).repeated);
  EXPECT_TRUE(log.Check(request).repeated);
  EXPECT_EQ(ChecksOf(log.Collect()), 1);
}

engine::PolicySpec GatedByLag() {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.profiles = {
      {.name = "p", .signals = {"lag on a", "lag on b"}, .thresholds = {{1, 5}, {1, 5}}}};
  spec.budgets[0].health = "p";
  return spec;
}

TEST(Recorder, TellsTheSignalsValueInItsOwnUnit) {
  Recording log(GatedByLag());
  log.engine.SetHealth("p", {.speed = 0, .gate_shut = true, .pressure = 1.5F, .signal = 1});
  log.Check("etl", 1);
  log.engine.SetHealth("p", {.speed = 0, .gate_shut = true, .pressure = 1.25F, .signal = 1});
  log.Check("etl", 1);
  const Sums sums = log.Collect();
  ASSERT_EQ(sums.size(), 1);
  EXPECT_EQ(sums.begin()->first.cause.reason, Reason::kHealth);
  EXPECT_EQ(sums.begin()->first.cause.signal, "lag on b");
  EXPECT_EQ(sums.begin()->second.checks, 2);
  EXPECT_EQ(sums.begin()->second.peak, 7);
  EXPECT_EQ(sums.begin()->second.limit, 5);
}

TEST(Recorder, TellsTheSignalsValueWithoutWhatAFloatAddsToIt) {
  Recording log(GatedByLag());
  log.engine.SetHealth("p", {.gate_shut = true, .pressure = 1.525F, .signal = 0});
  log.Check("etl", 1);
  EXPECT_EQ(log.Collect().begin()->second.peak, 7.1);
}

TEST(Recorder, ForgetsAPeakOnceItWasCollected) {
  Recording log(GatedByLag());
  log.engine.SetHealth("p", {.gate_shut = true, .pressure = 2, .signal = 0});
  log.Check("etl", 1);
  EXPECT_EQ(log.Collect().begin()->second.peak, 9);
  log.engine.SetHealth("p", {.gate_shut = true, .pressure = 1.5F, .signal = 0});
  log.Check("etl", 1);
  EXPECT_EQ(log.Collect().begin()->second.peak, 7);
}

TEST(Recorder, TellsNoValueWhereTheGateIsShutForWantOfASample) {
  Recording log(GatedByLag());
  log.engine.SetHealth(
      "p",
      {.status = engine::HealthStatus::kStale, .gate_shut = true, .pressure = 0.5F, .signal = 0});
  log.Check("etl", 1);
  const Counts counts = log.Collect().begin()->second;
  EXPECT_EQ(counts.peak, 0);
  EXPECT_EQ(counts.limit, 0);
}

TEST(Recorder, BlamesTheLimitThatAsksForTheLongestWait) {
  engine::BudgetSpec slow = RateBudget("slow", 1, 100);
  Recording log(engine::Budgets({RateBudget("fast", 100, 100), slow}));
  log.Check("etl", 100);
  log.Check("etl", 10);
  const Sums sums = log.Collect();
  EXPECT_EQ(sums.rbegin()->first.outcome, Outcome::kDenied);
  EXPECT_EQ(sums.rbegin()->first.cause.budget, "slow");
}

TEST(Recorder, KeepsRowsApartWhosePlacesAReloadHasSwapped) {
  engine::PolicySpec spec = engine::Budgets({RateBudget("a", 1, 10)});
  Recording log(spec);
  log.Check("etl", 11);
  spec.budgets[0].name = "z";
  spec.rules[0].action = engine::ChargeAction{{"z"}};
  log.engine.Install(spec);
  log.Check("etl", 11);
  const Sums sums = log.Collect();
  ASSERT_EQ(sums.size(), 2);
  EXPECT_EQ(sums.begin()->first.cause.budget, "a");
  EXPECT_EQ(sums.rbegin()->first.cause.budget, "z");
}

TEST(Recorder, CountsOnInASlotThatChangedHands) {
  RecorderOptions options = Recording::Options();
  options.max_identities = 16;
  options.quiet_rounds = 2;
  Recording log(NoLimits(), options);
  Sums sums;
  // 16 slots: each identity needs one that somebody else had. Counts of two lives are equal.
  for (int i = 0; i < 160; ++i) {
    log.Check(absl::StrCat("job-", i, ":etl"), 0.1 + i % 2);
    log.Check(absl::StrCat("job-", i, ":etl"), 1e15);
    for (int round = 0; i % 8 == 7 && round < 3; ++round) AddTo(sums, log.recorder);
  }
  EXPECT_EQ(log.recorder.State().folded_checks, 0);
  EXPECT_EQ(sums.size(), 160);
  for (int i = 0; i < 160; ++i) {
    const Counts& counts = sums[{.identity = absl::StrCat("job-", i, ":etl")}];
    EXPECT_EQ(counts.checks, 2) << i;
    EXPECT_EQ(counts.cost, 0.1 + i % 2 + 1e15) << i;
  }
}

TEST(Recorder, LeavesASlotToItsIdentityUntilItHasBeenQuiet) {
  RecorderOptions options = Recording::Options();
  options.max_identities = 16;
  Recording log(NoLimits(), options);
  Sums sums;
  for (int round = 0; round < 20; ++round) {
    log.Check("regular:etl", 1);
    for (int i = 0; i < 100; ++i) log.Check(absl::StrCat("flood-", round, "-", i, ":etl"), 1);
    AddTo(sums, log.recorder);
  }
  EXPECT_EQ(sums[{.identity = "regular:etl"}].checks, 20);
}

TEST(Recorder, FoldsIntoTheNextLevelThatHasRoom) {
  Recording log(NoLimits());
  for (int i = 0; i < 200; ++i) log.Check(absl::StrCat("job-", i, ":copy:etl"), 1);
  Sums sums = log.Collect();
  EXPECT_EQ(ChecksOf(sums), 200);
  const RowKey one_up{.identity = "copy:etl", .folded = true};
  EXPECT_GT(sums[one_up].checks, 0);
  EXPECT_EQ(sums[one_up].checks, log.recorder.State().folded_checks);
  EXPECT_LE(log.recorder.State().slots_used, 64);
}

TEST(Recorder, CountsUnderAStarWhatNoLevelHasRoomFor) {
  RecorderOptions options = Recording::Options();
  options.max_identities = 16;
  Recording log(OneBudget(RateBudget("b", 1, 0)), options);
  for (int i = 0; i < 16; ++i) log.Check(absl::StrCat("job-", i), 1);
  log.Check("late:root", 2);
  log.Check("late:etl", 2);
  Sums sums = log.Collect();
  const RowKey star{
      .identity = "*", .folded = true, .cause = {.reason = Reason::kUnmatched}};  // late:root
  EXPECT_EQ(sums[star].checks, 1);
  EXPECT_EQ(ChecksOf(sums, "*"), 2);
  EXPECT_EQ(log.recorder.State().folded_checks, 2);
}

TEST(Recorder, KeepsReasonsWhereThereAreTooManyNames) {
  RecorderOptions options = Recording::Options();
  options.max_labels = 3;
  engine::PolicySpec spec;
  for (int i = 0; i < 10; ++i) {
    spec.rules.push_back(
        RuleOn(absl::StrCat("rule-", i), absl::StrCat("job-", i), engine::DenyAction{}));
  }
  Recording log(std::move(spec), options);
  for (int i = 0; i < 10; ++i) log.Check(absl::StrCat("job-", i), 1);
  const Sums sums = log.Collect();
  int named = 0;
  for (const auto& [key, counts] : sums) {
    EXPECT_EQ(key.cause.reason, Reason::kDenyRule);
    named += key.cause.rule.empty() ? 0 : 1;
  }
  EXPECT_EQ(sums.size(), 10);
  EXPECT_EQ(named, 3);
}

TEST(Recorder, StaysExactUnderAFloodOfIdentities) {
  RecorderOptions options = Recording::Options();
  options.max_identities = 1024;
  engine::PolicySpec spec;
  Recording log(std::move(spec), options);
  const int flood = Scaled(1'000'000);
  Sums sums;
  std::string identity;
  for (int i = 0; i < flood; ++i) {
    identity = absl::StrCat("job-", i, ":copy:etl");
    // Of the engine's answer only this much matters, and a million permits take long.
    engine::CheckAnswer answer;
    answer.verdict = Verdict::kAllowed;
    answer.subject_key = HashBytes(identity, 5) | 1;
    answer.predicted_cost = 1;
    answer.policy = log.engine->policy();
    log.counts.Record(Request(identity, 1), answer, At());
    if (i % 10'000 == 0) AddTo(sums, log.recorder);
  }
  AddTo(sums, log.recorder);
  EXPECT_EQ(ChecksOf(sums), flood);
  EXPECT_EQ(CostIn(sums), flood);
  const RecorderState state = log.recorder.State();
  EXPECT_LE(state.slots_used, 1024);
  EXPECT_EQ(state.slots, 1024);
  int64_t folded = 0;
  for (const auto& [key, counts] : sums) folded += key.folded ? counts.checks : 0;
  EXPECT_EQ(folded, state.folded_checks);
  EXPECT_GT(folded, flood / 2);
}

TEST(Denials, AreShownNewestFirstWithAllThatWasSaid) {
  Recording log(GatedByLag());
  log.engine.SetHealth("p", {.gate_shut = true, .pressure = 1.5F, .signal = 0});
  log.Check("a:etl", 1, At());
  log.Check("b:etl", 2, At(absl::Seconds(1)));
  const std::vector<Denial> denials = log.recorder.RecentDenials({}, 0, 10);
  ASSERT_EQ(denials.size(), 2);
  const Denial& newest = denials[0];
  EXPECT_EQ(newest.number, 2);
  EXPECT_EQ(newest.identity, "b:etl");
  EXPECT_EQ(newest.at, At(absl::Seconds(1)).wall());
  EXPECT_EQ(newest.outcome, Outcome::kDenied);
  EXPECT_EQ(newest.predicted_cost, 2);
  EXPECT_EQ(newest.cause.reason, Reason::kHealth);
  EXPECT_EQ(newest.cause.signal, "lag on a");
  EXPECT_EQ(newest.observed, 7);
  EXPECT_EQ(newest.limit, 5);
  EXPECT_EQ(newest.retry_after, absl::Seconds(1));
  EXPECT_EQ(denials[1].identity, "a:etl");
}

std::vector<std::string> IdentitiesOf(const std::vector<Denial>& denials) {
  std::vector<std::string> identities;
  for (const Denial& denial : denials) identities.push_back(denial.identity);
  return identities;
}

TEST(Denials, AreSelectedByWhoseTheyAreAndByNumber) {
  engine::PolicySpec spec;
  spec.rules = {RuleOn("stop", "", engine::DenyAction{})};
  Recording log(std::move(spec));
  for (const char* identity : {"a:etl", "b:etl", "c:metl", "etl"}) log.Check(identity, 1);
  const auto of = [&](const ScanFilter& whose, int64_t after, size_t most) {
    return IdentitiesOf(log.recorder.RecentDenials(whose, after, most));
  };
  ScanFilter level;
  level.identity = "etl";
  EXPECT_THAT(of(level, 0, 10), ElementsAre("etl", "b:etl", "a:etl"));
  ScanFilter segment;
  segment.segment = "c";
  EXPECT_THAT(of(segment, 0, 10), ElementsAre("c:metl"));
  ScanFilter target;
  target.target = "elsewhere";
  EXPECT_THAT(of(target, 0, 10), ElementsAre());
  EXPECT_THAT(of({}, 2, 10), ElementsAre("etl", "c:metl"));
  EXPECT_THAT(of({}, 0, 1), ElementsAre("etl"));
  EXPECT_THAT(of({}, 4, 10), ElementsAre());
}

TEST(Denials, OfAllLanesAreNumberedInTheOrderOfTime) {
  engine::PolicySpec spec;
  spec.rules = {RuleOn("stop", "", engine::DenyAction{})};
  Recording log(std::move(spec));
  ThreadCounts& other = log.recorder.AddThread();
  for (int i = 0; i < 4; ++i) {
    const Now now = At(absl::Seconds(i));
    const std::string identity = absl::StrCat("job-", i);
    const engine::CheckAnswer answer = log.engine.Check(identity, 1, now);
    (i % 2 == 0 ? log.counts : other).Record(Request(identity, 1), answer, now);
  }
  EXPECT_THAT(IdentitiesOf(log.recorder.RecentDenials({}, 0, 10)),
              ElementsAre("job-3", "job-2", "job-1", "job-0"));
}

TEST(Denials, ThatNobodyAskedForInTimeLeaveAGapInTheNumbers) {
  RecorderOptions options = Recording::Options();
  options.max_denials = 100;
  engine::PolicySpec spec;
  spec.rules = {RuleOn("stop", "", engine::DenyAction{})};
  Recording log(std::move(spec), options);
  for (int i = 0; i < 2000; ++i) log.Check("etl", 1);
  const std::vector<Denial> denials = log.recorder.RecentDenials({}, 0, 1000);
  ASSERT_EQ(denials.size(), 100);
  EXPECT_EQ(denials[0].number, 2000);
  EXPECT_EQ(denials[99].number, 1901);
}

TEST(Denials, KeepLongIdentitiesWhole) {
  engine::PolicySpec spec;
  spec.rules = {RuleOn("stop", "", engine::DenyAction{})};
  Recording log(std::move(spec));
  const std::string segment(127, 'x');
  const std::string identity = absl::StrCat(segment, ":", segment, ":", segment, ":", segment, "y");
  ASSERT_EQ(identity.size(), 512);
  log.Check(identity, 1);
  EXPECT_EQ(log.recorder.RecentDenials({}, 0, 1)[0].identity, identity);
  EXPECT_EQ(log.Collect().begin()->first.identity, identity);
}

TEST(RecorderMemory, GrowsByThreadsAndByIdentitiesThatAreCountedByName) {
  RecorderOptions options = Recording::Options();
  options.max_identities = 16384;
  Recording log(NoLimits(), options);
  const int64_t one_thread = log.recorder.held().bytes();
  // Slots of 64 bytes, and what the collector knows of each.
  EXPECT_GT(one_thread, 16384 * 64);
  EXPECT_LT(one_thread, 16384 * 256 + 4096 * 700);
  log.recorder.AddThread();
  EXPECT_EQ(log.recorder.held().bytes(), 2 * one_thread);
  for (int i = 0; i < 8000; ++i) log.Check(absl::StrCat("worker-", i), 1);
  // Texts take whole pages of eight; and of each identity the newest Check is remembered.
  const int64_t texts = log.recorder.held().bytes() - 2 * one_thread;
  EXPECT_GE(texts, 8000 * (512 + 200));
  EXPECT_LE(texts, 16384 * 512 + 8000 * 400);
  const int64_t before = log.recorder.held().bytes();
  for (int i = 0; i < 8000; ++i) log.Check(absl::StrCat("worker-", i), 1);
  EXPECT_EQ(log.recorder.held().bytes(), before);
}

TEST(RecorderMemory, OfDenialsIsBoundedByHowManyAreKept) {
  RecorderOptions options = Recording::Options();
  options.max_denials = 100;
  engine::PolicySpec spec;
  spec.rules = {RuleOn("stop", "", engine::DenyAction{})};
  Recording log(std::move(spec), options);
  for (int i = 0; i < 100; ++i) log.Check("etl", 1);
  log.Collect();
  const int64_t full = log.recorder.held().bytes();
  for (int i = 0; i < 100; ++i) log.Check("etl", 1);
  log.Collect();
  EXPECT_EQ(log.recorder.held().bytes(), full);
}

}  // namespace
}  // namespace headgate::throttle_log
