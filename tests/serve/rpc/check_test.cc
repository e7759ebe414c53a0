// Check, as a caller sees it.

#include <limits>
#include <utility>

#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::ActionSpec;
using engine::ChargeRule;
using engine::ConcurrencyBudget;
using engine::HealthStatus;
using engine::OneBudget;
using engine::RateBudget;
using engine::RuleOn;

// A target "main" with a health profile that budgets live on.
engine::PolicySpec WithHealth(engine::PolicySpec spec) {
  spec.profiles = {{.name = "default", .signals = {"lag on a", "lag on b"}}};
  engine::TargetSpec target;
  target.name = "main";
  target.default_health = "default";
  spec.targets = {target};
  return spec;
}

void SetHealth(InProcessServer& server, const engine::Health& health) {
  const absl::Status status =
      server.engine.SetHealth("main", "default", health, server.clock.Read());
  ASSERT_TRUE(status.ok()) << status;
}

TEST(Check, SaysThatNoRuleMatches) {
  InProcessServer server{engine::PolicySpec()};
  EXPECT_EQ(server.Check("job:mistyped", 1).message(), "Allowed: no rule matches.");
}

TEST(Check, AnAllowedOneHasAPermitAndSaysSoInOneWord) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const v1::Decision decision = server.Check("job:etl", 40);
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(decision.reason(), v1::REASON_UNSPECIFIED);
  EXPECT_TRUE(decision.has_permit_id());
  EXPECT_EQ(decision.predicted_cost(), 40);
  EXPECT_EQ(decision.message(), "Allowed.");
  EXPECT_FALSE(decision.has_retry_after());
  EXPECT_FALSE(decision.has_health());
  EXPECT_FALSE(decision.has_chunk_scale());
  EXPECT_EQ(decision.violations_size(), 0);
}

TEST(Check, ADeniedOneNamesBudgetRuleAndWhenToAskAgain) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  server.Allowed("job:etl", 100);
  const v1::Decision decision = server.Denied("job:etl", 50);
  EXPECT_EQ(decision.reason(), v1::REASON_CAPACITY);
  EXPECT_FALSE(decision.has_permit_id());
  EXPECT_EQ(decision.retry_after().seconds(), 5);
  ASSERT_EQ(decision.violations_size(), 1);
  const v1::Violation& violation = decision.violations(0);
  EXPECT_EQ(violation.budget(), "b");
  EXPECT_EQ(violation.rule(), "charge");
  EXPECT_EQ(violation.limit_kind(), v1::LIMIT_KIND_BURST);
  EXPECT_EQ(violation.observed(), 150);
  EXPECT_EQ(violation.limit(), 100);
  EXPECT_EQ(violation.retry_after().seconds(), 5);
  EXPECT_EQ(violation.level(), "");
  EXPECT_FALSE(violation.warn());
  EXPECT_EQ(decision.message(),
            "Denied by budget 'b': debt would be 150, over its burst of 100. Try again in 5s.");
}

TEST(Check, ADenialThatWaitingWillNotChangeHasNoRetryAfter) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const v1::Decision decision = server.Denied("job:etl", 101);
  EXPECT_FALSE(decision.has_retry_after());
  EXPECT_FALSE(decision.violations(0).has_retry_after());
}

TEST(Check, AViolationNamesTheIdentityLevelWhoseBucketItIs) {
  engine::BudgetSpec budget = RateBudget("b", 10, 100);
  budget.split = engine::SplitByDepth{2};
  InProcessServer server(OneBudget(budget));
  EXPECT_EQ(server.Denied("leaf:job:etl", 101).violations(0).level(), "job:etl");
  EXPECT_EQ(server.Denied("job:etl", 101).violations(0).level(), "job:etl");
  EXPECT_EQ(server.Denied("etl", 101).violations(0).level(), "etl");
}

TEST(Check, AWarningIsAnsweredWithTheSentenceOfWhatWouldHaveHappened) {
  engine::BudgetSpec budget = RateBudget("b", 10, 100);
  budget.mode = engine::Mode::kWarn;
  InProcessServer server(OneBudget(budget));
  const v1::Decision decision = server.Allowed("job:etl", 101);
  ASSERT_EQ(decision.violations_size(), 1);
  EXPECT_TRUE(decision.violations(0).warn());
  EXPECT_NE(decision.message(), "Allowed.");
}

TEST(Check, ExemptAndDenyRulesAndPrioritiesAreNamed) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.rules.push_back(RuleOn("let-pass", "vip:etl", engine::ExemptAction{}));
  spec.rules.push_back(RuleOn("keep-out", "bad:etl", engine::DenyAction{}));
  spec.rules.push_back(RuleOn("label", "etl", engine::PriorityAction{7}));
  InProcessServer server(std::move(spec));
  EXPECT_EQ(server.Allowed("vip:etl", 1e6).reason(), v1::REASON_EXEMPT);
  const v1::Decision denied = server.Denied("bad:etl", 1);
  EXPECT_EQ(denied.reason(), v1::REASON_DENY_RULE);
  EXPECT_EQ(denied.violations(0).rule(), "keep-out");
  EXPECT_EQ(denied.violations(0).limit_kind(), v1::LIMIT_KIND_RULE);
  EXPECT_EQ(server.Allowed("job:etl", 1).priority(), 7);
}

TEST(Check, TheAnswerCarriesTheHealthItWasDecidedUnder) {
  InProcessServer server(WithHealth(OneBudget(RateBudget("b", 10, 100))));
  EXPECT_EQ(server.Allowed("job:etl", 1).health().state(), v1::HEALTH_STATE_UNMONITORED);
  EXPECT_FALSE(server.Allowed("job:etl", 1).health().has_sample_age());
  SetHealth(server, {.speed = 0.25,
                     .status = HealthStatus::kHealthy,
                     .pressure = 0.75F,
                     .signal = 1,
                     .sampled_at_ns = server.clock.Read().monotonic_ns});
  server.clock.Advance(absl::Milliseconds(1500));
  const v1::Health health = server.Allowed("job:etl", 1).health();
  EXPECT_EQ(health.profile(), "default");
  EXPECT_EQ(health.state(), v1::HEALTH_STATE_HEALTHY);
  EXPECT_EQ(health.speed(), 0.25);
  EXPECT_EQ(health.pressure(), 0.75);
  EXPECT_EQ(health.signal(), "lag on b");
  EXPECT_EQ(health.sample_age().seconds(), 1);
  EXPECT_EQ(health.sample_age().nanos(), 500'000'000);
}

TEST(Check, AShutGateDeniesAndNamesTheSignal) {
  InProcessServer server(WithHealth(OneBudget(RateBudget("b", 10, 100))));
  const int64_t now_ns = server.clock.Read().monotonic_ns;
  SetHealth(server, {.speed = 0,
                     .status = HealthStatus::kStale,
                     .gate_shut = true,
                     .pressure = 1.5F,
                     .signal = 0,
                     .sampled_at_ns = now_ns,
                     .next_sample_at_ns = now_ns + 250'000'000});
  const v1::Decision decision = server.Denied("job:etl", 1);
  EXPECT_EQ(decision.reason(), v1::REASON_HEALTH);
  EXPECT_EQ(decision.violations(0).limit_kind(), v1::LIMIT_KIND_HEALTH);
  EXPECT_EQ(decision.violations(0).signal(), "lag on a");
  EXPECT_EQ(decision.retry_after().nanos(), 250'000'000);
  EXPECT_EQ(decision.health().state(), v1::HEALTH_STATE_STALE);
}

TEST(Check, AShutGateTellsTheSignalsValueInItsOwnUnit) {
  engine::PolicySpec spec = WithHealth(OneBudget(RateBudget("b", 10, 100)));
  spec.profiles[0].thresholds = {{1, 5}, {1, 5}};
  InProcessServer server(std::move(spec));
  SetHealth(server, {.speed = 0, .gate_shut = true, .pressure = 1.5F, .signal = 1});
  const v1::Violation shut = server.Denied("job:etl", 1).violations(0);
  EXPECT_EQ(shut.signal(), "lag on b");
  EXPECT_EQ(shut.observed(), 7);
  EXPECT_EQ(shut.limit(), 5);
  SetHealth(server, {.speed = 0,
                     .status = HealthStatus::kStale,
                     .gate_shut = true,
                     .pressure = 0.5F,
                     .signal = 1});
  const v1::Violation stale = server.Denied("job:etl", 1).violations(0);
  EXPECT_EQ(stale.observed(), 0.5);
  EXPECT_EQ(stale.limit(), 1);
}

TEST(Check, AnAutoBudgetThatIsProbingSaysSo) {
  engine::BudgetSpec budget;
  budget.name = "b";
  budget.rate = engine::AutoRate{};
  budget.burst = 0.5;
  InProcessServer server(OneBudget(budget));
  const absl::Status set =
      server.engine.SetAutoRate("", "b", {.rate = 1, .shut = true}, server.clock.Read());
  ASSERT_TRUE(set.ok()) << set;
  const v1::Decision decision = server.Denied("job:etl", 0.1);
  EXPECT_EQ(decision.violations(0).limit_kind(), v1::LIMIT_KIND_PROBE);
  EXPECT_EQ(decision.violations(0).budget(), "b");
}

TEST(Check, AnAbsentCostIsNotACostOfZero) {
  engine::BudgetSpec budget = RateBudget("b", 10, 100);
  budget.default_cost = 30;
  InProcessServer server(OneBudget(budget));
  v1::CheckRequest request;
  request.set_identity("job:etl");
  EXPECT_EQ(server.Check(request).predicted_cost(), 30);
  request.set_estimated_cost(0);
  EXPECT_EQ(server.Check(request).predicted_cost(), 0);
}

TEST(Check, ARetryWithTheSameRequestIdIsChargedOnce) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::CheckRequest request = CheckOf("job:etl", 60);
  request.set_request_id("once");
  const v1::Decision first = server.Check(request);
  const v1::Decision again = server.Check(request);
  EXPECT_EQ(again.permit_id(), first.permit_id());
  EXPECT_EQ(again.verdict(), v1::VERDICT_ALLOWED);
  server.Allowed("job:etl", 40);
  request.set_request_id("twice");
  EXPECT_EQ(server.Check(request).verdict(), v1::VERDICT_DENIED);
}

TEST(Check, ARetryAfterAReloadNamesTheProfileItWasDecidedUnder) {
  engine::PolicySpec spec = WithHealth(OneBudget(RateBudget("b", 10, 100)));
  spec.profiles.push_back({.name = "other", .signals = {}});
  InProcessServer server(spec);
  v1::CheckRequest request = CheckOf("job:etl", 1);
  request.set_request_id("once");
  EXPECT_EQ(server.Check(request).health().profile(), "default");
  std::swap(spec.profiles[0], spec.profiles[1]);
  ASSERT_TRUE(server.engine.Install(spec, server.clock.Read()).ok());
  EXPECT_EQ(server.Check(request).health().profile(), "default");
  EXPECT_EQ(server.Allowed("job:etl", 1).health().profile(), "default");
  v1::BatchCheckRequest batch;
  *batch.add_checks() = request;
  *batch.add_checks() = CheckOf("job:etl", 1);
  const v1::BatchCheckResponse response = server.Batch(batch);
  EXPECT_EQ(response.results(0).decision().health().profile(), "default");
  EXPECT_EQ(response.results(1).decision().health().profile(), "default");
}

TEST(Check, ValidateOnlyChargesNothingAndHasNoPermit) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::CheckRequest request = CheckOf("job:etl", 100);
  request.set_validate_only(true);
  for (int i = 0; i < 3; ++i) {
    const v1::Decision decision = server.Check(request);
    EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
    EXPECT_FALSE(decision.has_permit_id());
    EXPECT_EQ(decision.message(), "Allowed.");
  }
  server.Allowed("job:etl", 100);
  EXPECT_EQ(server.Check(request).verdict(), v1::VERDICT_DENIED);
}

TEST(Check, TagsReachTheRules) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  engine::RuleSpec rule = RuleOn("no-nightly", "", engine::DenyAction{});
  rule.match.tags = {{"kind", "nightly"}};
  spec.rules.push_back(rule);
  InProcessServer server(std::move(spec));
  v1::CheckRequest request = CheckOf("job:etl", 1);
  (*request.mutable_tags())["kind"] = "nightly";
  EXPECT_EQ(server.Check(request).verdict(), v1::VERDICT_DENIED);
  (*request.mutable_tags())["kind"] = "daily";
  EXPECT_EQ(server.Check(request).verdict(), v1::VERDICT_ALLOWED);
}

TEST(Check, RulesSeeTheAddressOfTheConnection) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  engine::RuleSpec rule = RuleOn("no-loopback", "", engine::DenyAction{});
  rule.match.remote_address = "127.0.0.0/8";
  spec.rules.push_back(rule);
  InProcessServer server(std::move(spec));
  EXPECT_EQ(server.Denied("job:etl", 1).violations(0).rule(), "no-loopback");
}

TEST(Check, EachOneIsMadeKnownToWhoeverMeasuresItsTarget) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.targets.resize(2);
  spec.targets[0].name = "one";
  spec.targets[1].name = "two";
  InProcessServer server(std::move(spec));
  v1::CheckRequest request = CheckOf("job:etl", 1);
  request.set_target("two");
  server.Check(request);
  EXPECT_EQ(server.activity.Take(), std::vector<std::string>{"two"});
}

TEST(Check, APermitThatIsReportedGivesItsConcurrencyBack) {
  InProcessServer server(OneBudget(ConcurrencyBudget("b", 1)));
  const uint64_t permit = server.Allowed("job:etl", 1).permit_id();
  const v1::Decision denied = server.Denied("job:etl", 1);
  EXPECT_EQ(denied.violations(0).limit_kind(), v1::LIMIT_KIND_MAX_CONCURRENCY);
  EXPECT_EQ(denied.reason(), v1::REASON_MAX_CONCURRENCY);
  EXPECT_EQ(server.Report(permit, 1).outcome(), v1::REPORT_OUTCOME_SETTLED);
  server.Allowed("job:etl", 1);
}

TEST(Check, PermitsOfACallerThatIsGoneExpireAndGiveTheirConcurrencyBack) {
  InProcessServer server(OneBudget(ConcurrencyBudget("b", 2)));
  {
    const Peer other(server.Connect());
    for (int i = 0; i < 2; ++i) {
      const v1::CheckResponse response =
          AnswerOf(other, &v1::ThrottlerService::Stub::Check, CheckOf("job:etl", 1));
      ASSERT_EQ(response.decision().verdict(), v1::VERDICT_ALLOWED);
    }
  }
  server.Denied("job:etl", 1);
  server.clock.Advance(absl::Minutes(1) + absl::Milliseconds(1));
  server.Allowed("job:etl", 1);
  server.Allowed("job:etl", 1);
  server.Denied("job:etl", 1);
}

}  // namespace
}  // namespace headgate::rpc
