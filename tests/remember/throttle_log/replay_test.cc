// What-if: what other rules would have done with the demand of the log.

#include "server/remember/throttle_log/replay.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/remember/throttle_log/fake_store.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::throttle_log {
namespace {

using engine::Budgets;
using engine::OneBudget;
using engine::RateBudget;
using engine::RuleOn;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// One target "main", as the rows here have it.
engine::PolicySpec OnMain(engine::PolicySpec policy) {
  policy.targets.resize(1);
  policy.targets[0].name = "main";
  return policy;
}

ReplayOptions Under(engine::PolicySpec policy) {
  ReplayOptions options;
  options.policy = OnMain(std::move(policy));
  options.filter.from_s = TimeOfDay(7, 0);
  options.filter.to_s = TimeOfDay(8, 0);
  options.seed = 7;
  return options;
}

ReplayResult Replayed(const Store& store, const ReplayOptions& options) {
  absl::StatusOr<ReplayResult> result = Replay(store, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : ReplayResult{};
}

// The one identity's outcomes.
ReplayedIdentity One(const Store& store, const ReplayOptions& options) {
  ReplayResult result = Replayed(store, options);
  EXPECT_EQ(result.identities.size(), 1);
  return result.identities.empty() ? ReplayedIdentity{} : result.identities[0];
}

// Twenty units a second for a minute: half was denied.
FakeStore& AddActivity(FakeStore& store) {
  for (int second = 0; second < 60; second += 10) {
    store.Add(Allowed(TimeOfDay(7, 0, second), "a:etl", 10, 100));
    store.Add(Denied(TimeOfDay(7, 0, second), "a:etl", 10, ByBurst("rows"), 100));
  }
  return store;
}

TEST(Replay, UnderLimitsThatAreWideAllowsAll) {
  FakeStore store;
  const ReplayedIdentity etl =
      One(AddActivity(store), Under(OneBudget(RateBudget("rows", 1000, 1000))));
  EXPECT_EQ(etl.identity, "a:etl");
  EXPECT_EQ(etl.target, "main");
  EXPECT_EQ(etl.before.allowed, 60);
  EXPECT_EQ(etl.before.denied, 60);
  EXPECT_EQ(etl.before.allowed_cost, 600);
  EXPECT_EQ(etl.after.allowed, 120);
  EXPECT_EQ(etl.after.denied, 0);
  EXPECT_EQ(etl.after.allowed_cost, 1200);
}

TEST(Replay, UnderATightRateAdmitsRateTimesTimeAndABurst) {
  FakeStore store;
  // 60 s at 5 units a second, and 50 at the beginning: 350 of 1,200 units, 35 Checks of 10.
  const ReplayedIdentity etl = One(AddActivity(store), Under(OneBudget(RateBudget("rows", 5, 50))));
  EXPECT_GE(etl.after.allowed, 33);
  EXPECT_LE(etl.after.allowed, 35);
  EXPECT_EQ(etl.after.allowed + etl.after.denied, 120);
  EXPECT_EQ(etl.after.allowed_cost, 10.0 * static_cast<double>(etl.after.allowed));
}

TEST(Replay, SpreadsAStepEvenly) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 10, 10));  // one a second: exactly the rate
  EXPECT_EQ(One(store, Under(OneBudget(RateBudget("rows", 1, 1)))).after.allowed, 10);
  EXPECT_EQ(One(store, Under(OneBudget(RateBudget("rows", 0.5, 1)))).after.allowed, 5);
}

TEST(Replay, InterleavesIdentitiesThatShareABudget) {
  FakeStore store;
  for (int second = 0; second < 600; second += 10) {
    store.Add(Allowed(TimeOfDay(7, 0, second), "a:etl", 10, 10));
    store.Add(Allowed(TimeOfDay(7, 0, second), "b:etl", 10, 10));
  }
  const ReplayResult result = Replayed(store, Under(OneBudget(RateBudget("rows", 1, 3))));
  ASSERT_EQ(result.identities.size(), 2);
  const int64_t a = result.identities[0].after.allowed;
  const int64_t b = result.identities[1].after.allowed;
  EXPECT_NEAR(static_cast<double>(a + b), 600, 4);
  EXPECT_GT(a, 100);
  EXPECT_GT(b, 100);
}

TEST(Replay, GivesTheSameAnswerEachTime) {
  FakeStore store;
  engine::PolicySpec policy = OneBudget(RateBudget("rows", 5, 50));
  policy.rules.push_back(RuleOn("share", "etl", engine::RejectAction{0.5}));
  const ReplayOptions options = Under(policy);
  const ReplayedIdentity first = One(AddActivity(store), options);
  const ReplayedIdentity second = One(store, options);
  EXPECT_GT(first.after.denied, 60);
  EXPECT_EQ(first.after.denied, second.after.denied);
}

TEST(Replay, FollowsSchedulesByTheTimeOfTheLog) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 29, 50), "a:etl", 5));
  store.Add(Allowed(TimeOfDay(7, 30, 0), "a:etl", 7));
  engine::PolicySpec policy;
  policy.rules.push_back(RuleOn("until-half-past", "etl", engine::DenyAction{}));
  policy.rules[0].expires_at = absl::FromUnixSeconds(TimeOfDay(7, 30));
  const ReplayedIdentity etl = One(store, Under(policy));
  EXPECT_EQ(etl.after.denied, 5);
  EXPECT_EQ(etl.after.allowed, 7);
}

engine::PolicySpec Gated() {
  engine::PolicySpec policy = OneBudget(RateBudget("rows", 1000, 1000));
  policy.profiles = {{.name = "careful", .signals = {"lag_seconds"}}};
  policy.budgets[0].health = "careful";
  return policy;
}

TEST(Replay, KeepsDeniedWhatHealthDenied) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 3));
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 7, ByHealth("lag_seconds")));
  const ReplayResult result = Replayed(store, Under(Gated()));
  EXPECT_EQ(result.identities.at(0).after.allowed, 3);
  EXPECT_EQ(result.identities.at(0).after.denied, 7);
  EXPECT_THAT(result.caveats, Contains(HasSubstr("7 Checks that health denied stay denied")));
}

TEST(Replay, LetsThroughWhatHealthDeniedWhereTheRulesExemptOrDoNotGateIt) {
  FakeStore store;
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 7, ByHealth("lag_seconds")));
  engine::PolicySpec exempt = Gated();
  exempt.rules.push_back(RuleOn("free", "a:etl", engine::ExemptAction{}));
  EXPECT_EQ(One(store, Under(exempt)).after.allowed, 7);
  engine::PolicySpec ungated = Gated();
  ungated.budgets[0].health = "";
  EXPECT_EQ(One(store, Under(ungated)).after.allowed, 7);
  engine::PolicySpec warned = Gated();
  warned.budgets[0].mode = engine::Mode::kWarn;
  EXPECT_EQ(One(store, Under(warned)).after.allowed, 7);
}

TEST(Replay, KeepsDeniedWhatAnAutoBudgetDeniedAndLetsAllElsePassIt) {
  FakeStore store;
  Cause probe = ByBurst("busy");
  probe.limit = engine::Limit::kProbe;
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 100, 1000));
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 4, probe));
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 5, ByBurst("busy")));
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 6, ByBurst("another")));
  engine::BudgetSpec busy = RateBudget("busy", 1, 1);
  busy.rate = engine::AutoRate{};
  const ReplayResult result = Replayed(store, Under(OneBudget(busy)));
  EXPECT_EQ(result.identities.at(0).after.denied, 9);
  EXPECT_EQ(result.identities.at(0).after.allowed, 106);
  EXPECT_THAT(result.caveats, Contains(HasSubstr("Auto budgets ('busy') cannot be simulated: what "
                                                 "they denied stays denied (9 Checks)")));
}

TEST(Replay, KeepsDeniedWhatConcurrencyDenied) {
  FakeStore store;
  Cause cause = ByBurst("slots");
  cause.reason = engine::Reason::kMaxConcurrency;
  cause.limit = engine::Limit::kMaxConcurrency;
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 200));
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 4, cause));
  const ReplayResult result =
      Replayed(store, Under(OneBudget(engine::ConcurrencyBudget("slots", 2))));
  EXPECT_EQ(result.identities.at(0).after.allowed, 200);
  EXPECT_EQ(result.identities.at(0).after.denied, 4);
  EXPECT_THAT(result.caveats, Contains(HasSubstr("max_concurrency ('slots')")));
  EXPECT_EQ(One(store, Under(OneBudget(RateBudget("rows", 1000, 1000)))).after.denied, 0);
  EXPECT_EQ(One(store, Under(OneBudget(engine::ConcurrencyBudget("slots", 0)))).after.allowed, 0);
}

TEST(Replay, NamesRulesThatCannotMatch) {
  FakeStore store;
  engine::PolicySpec policy;
  policy.rules.push_back(RuleOn("by-tag", "etl", engine::DenyAction{}));
  policy.rules[0].match.tags = {{"team", "data"}};
  policy.rules.push_back(RuleOn("by-address", "etl", engine::DenyAction{}));
  policy.rules[1].match.remote_address = "10.0.0.0/8";
  policy.rules.push_back(RuleOn("plain", "etl", engine::DenyAction{}));
  policy.rules[2].match.schedule.reset();
  const ReplayResult result = Replayed(store, Under(policy));
  EXPECT_TRUE(result.identities.empty());
  EXPECT_THAT(result.caveats, Contains(HasSubstr("never match ('by-tag', 'by-address').")));
}

TEST(Replay, LeavesOutWhatItCannotDecideAndSaysSo) {
  FakeStore store;
  Row elsewhere = Allowed(TimeOfDay(7, 0), "a:etl", 3);
  elsewhere.key.target = "elsewhere";
  store.Add(elsewhere);
  store.Add(Allowed(TimeOfDay(7, 0), "*", 2));
  Row folded = Allowed(TimeOfDay(7, 0), "etl", 4);
  folded.key.folded = true;
  store.Add(folded);
  const ReplayResult result = Replayed(store, Under({}));
  ASSERT_EQ(result.identities.size(), 1);
  EXPECT_EQ(result.identities[0].identity, "etl");
  EXPECT_THAT(result.caveats,
              Contains(HasSubstr("3 Checks cannot be decided by this configuration and are left "
                                 "out: target: no target 'elsewhere'")));
  EXPECT_THAT(result.caveats, Contains(HasSubstr("2 Checks were counted under no identity")));
  EXPECT_THAT(result.caveats, Contains(HasSubstr("4 Checks were counted under a level above")));
}

TEST(Replay, SaysHowLongTheStepsAre) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 1));
  EXPECT_THAT(Replayed(store, Under({})).caveats, Contains(HasSubstr("steps of 10 s, and")));
  Row coarse = Allowed(TimeOfDay(7, 5), "a:etl", 1);
  coarse.length_s = 300;
  store.Add(coarse);
  const ReplayResult result = Replayed(store, Under({}));
  EXPECT_THAT(result.caveats, Contains(HasSubstr("steps of 10 s to 300 s")));
  EXPECT_THAT(result.caveats, Not(Contains(HasSubstr("Auto budgets"))));
}

TEST(Replay, TakesOnlyWhatTheFilterTakes) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(6, 59, 50), "a:etl", 1));
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 2));
  store.Add(Allowed(TimeOfDay(7, 59, 50), "a:etl", 4));
  store.Add(Allowed(TimeOfDay(8, 0), "a:etl", 8));
  store.Add(Allowed(TimeOfDay(7, 0), "b:report", 16));
  ReplayOptions options = Under({});
  options.filter.identity = "etl";
  EXPECT_EQ(One(store, options).after.allowed, 6);
}

TEST(Replay, RefusesWhatIsTooMuchOrWrong) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 101));
  store.Add(Allowed(TimeOfDay(7, 0), "b:etl", 1));
  ReplayOptions options = Under({});
  options.max_checks = 100;
  EXPECT_EQ(Replay(store, options).status(),
            absl::ResourceExhaustedError("more than 100 Checks to replay: narrow it down"));
  options.max_checks = 102;
  EXPECT_EQ(Replayed(store, options).identities.size(), 2);
  options.max_identities = 1;
  EXPECT_EQ(Replay(store, options).status(),
            absl::ResourceExhaustedError("more than 1 identities to replay: narrow it down"));
  EXPECT_EQ(Replay(store, Under(OneBudget(RateBudget("rows", -1, 1)))).status().code(),
            absl::StatusCode::kInvalidArgument);
  store.Fail(absl::UnavailableError("gone"));
  EXPECT_EQ(Replay(store, Under({})).status(), absl::UnavailableError("gone"));
}

TEST(Replay, EndsWhenTheCallerHasGone) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 100'000));
  ReplayOptions options = Under({});
  int looks = 0;
  options.cancelled = [&looks] { return ++looks == 3; };
  EXPECT_EQ(Replay(store, options).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(looks, 3);
}

TEST(Replay, TakesADayOfTwoHundredIdentities) {
  FakeStore store;
  int batch = 0;
  for (int64_t step_s = kDay; step_s < kDay + 86'400; step_s += 300) {
    std::vector<Row> rows;
    for (int i = 0; i < 200; ++i)
      rows.push_back(Allowed(step_s, absl::StrCat("j", i, ":etl"), 3, 3));
    ASSERT_TRUE(store.Append(rows, ++batch).ok());
  }
  engine::BudgetSpec split = RateBudget("rows", 0.005, 3);
  split.split = engine::SplitByDepth{2};
  ReplayOptions options = Under(OneBudget(split));
  options.filter.from_s = kDay;
  options.filter.to_s = kDay + 86'400;
  const ReplayResult result = Replayed(store, options);
  ASSERT_EQ(result.identities.size(), 200);
  for (const ReplayedIdentity& identity : result.identities) {
    EXPECT_EQ(identity.before.allowed, 864);
    // 432 drain in a day, and 3 are the burst.
    EXPECT_NEAR(static_cast<double>(identity.after.allowed), 434, 1);
  }
}

}  // namespace
}  // namespace headgate::throttle_log
