// Explain: what a Check would answer, and why.

#include "gmock/gmock.h"
#include "server/govern/config/load.h"
#include "server/observe/control/control_loop.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using engine::RuleOn;

v1::ExplainResponse Explain(InProcessServer& server, const v1::CheckRequest& check) {
  v1::ExplainRequest request;
  *request.mutable_check() = check;
  return AnswerOf(server.channel, &v1::ThrottlerService::Stub::Explain, request);
}

TEST(Explain, ShowsEveryBucketAndRuleAndChargesNothing) {
  engine::BudgetSpec split = RateBudget("by-job", 10, 100);
  split.split = engine::SplitByDepth{2};
  split.max_cost = 80;
  split.max_concurrency = 3;
  engine::PolicySpec spec = engine::Budgets({split, engine::MaxCostBudget("sizes", 500)});
  spec.rules.push_back(RuleOn("half", "etl", engine::RejectAction{0.0}));
  InProcessServer server(std::move(spec));
  server.Allowed("job:etl", 30);
  server.clock.Advance(absl::Seconds(1));
  for (int i = 0; i < 2; ++i) {
    const v1::ExplainResponse response = Explain(server, CheckOf("job:etl", 75));
    EXPECT_EQ(response.decision().verdict(), v1::VERDICT_ALLOWED);
    EXPECT_FALSE(response.decision().has_permit_id());
    EXPECT_EQ(response.rules_size(), 2);
    ASSERT_EQ(response.buckets_size(), 2);
    const v1::BucketState& bucket = response.buckets(0);
    EXPECT_EQ(bucket.budget(), "by-job");
    EXPECT_EQ(bucket.rule(), "charge");
    EXPECT_EQ(bucket.bucket(), "job:etl");
    EXPECT_EQ(bucket.cost(), 75);
    EXPECT_EQ(bucket.debt(), 20);
    EXPECT_EQ(bucket.burst(), 100);
    EXPECT_EQ(bucket.rate(), 10);
    EXPECT_EQ(bucket.speed(), 1);
    EXPECT_EQ(bucket.outstanding(), 1);
    EXPECT_EQ(bucket.max_concurrency(), 3);
    EXPECT_EQ(bucket.max_cost(), 80);
    EXPECT_TRUE(bucket.has_room_in());
    EXPECT_EQ(bucket.room_in().seconds(), 0);
    EXPECT_FALSE(response.buckets(1).has_burst());
    EXPECT_FALSE(response.buckets(1).has_rate());
  }
}

TEST(Explain, OffersHowTheJobAskedAndWarnsOfATagThatIsNotGiven) {
  engine::BudgetSpec split = RateBudget("by-tenant", 10, 100);
  split.split = engine::SplitByTag{"tenant"};
  InProcessServer server(OneBudget(split));
  v1::CheckRequest job = CheckOf("job:etl", 60);
  job.set_pattern("copy");
  (*job.mutable_tags())["tenant"] = "acme";
  v1::ExplainResponse response = Explain(server, CheckOf("job:etl", 1));
  EXPECT_EQ(response.last_checks_size(), 0);
  ASSERT_EQ(response.warnings_size(), 1);
  EXPECT_EQ(response.warnings(0),
            "budget 'by-tenant' has a bucket for each value of the tag 'tenant', which is not "
            "given: this answer is about Checks without it");
  AnswerOf(server.channel, &v1::ThrottlerService::Stub::Check, job);
  server.clock.Advance(absl::Seconds(1));
  job.set_estimated_cost(90);
  AnswerOf(server.channel, &v1::ThrottlerService::Stub::Check, job);
  response = Explain(server, CheckOf("job:etl", 1));
  ASSERT_EQ(response.last_checks_size(), 2);
  const v1::LastCheck& denied = response.last_checks(0);
  EXPECT_EQ(denied.verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(denied.estimated_cost(), 90);
  EXPECT_EQ(denied.pattern(), "copy");
  EXPECT_EQ(denied.tags().at("tenant"), "acme");
  EXPECT_EQ(response.last_checks(1).verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(response.last_checks(1).estimated_cost(), 60);
  ASSERT_EQ(response.warnings_size(), 1);
  EXPECT_THAT(response.warnings(0), testing::EndsWith("the job's newest Check has tenant=acme"));
  EXPECT_EQ(Explain(server, job).warnings_size(), 0);
}

TEST(Explain, AsksWhetherARuleOfOtherCapitalsWasMeant) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  EXPECT_EQ(Explain(server, CheckOf("job:ETL", 1)).decision().message(),
            "Allowed: no rule matches.");
  const auto config = std::make_shared<const config::Config>(
      *config::Parse("rules: [{name: r, match: {identity: etl}, deny: true}]", "f.yaml").config);
  server.status.in_force = config;
  EXPECT_EQ(Explain(server, CheckOf("job:ETL", 1)).decision().message(),
            "Allowed: no rule matches. Identities are case-sensitive: did you mean 'job:etl'?");
  EXPECT_EQ(Explain(server, CheckOf("report", 1)).decision().message(),
            "Allowed: no rule matches.");
}

TEST(Explain, IsMadeKnownToWhoeverMeasuresTheTarget) {
  engine::PolicySpec spec = engine::OneBudget(RateBudget("b", 10, 100));
  spec.targets.resize(2);
  spec.targets[0].name = "one";
  spec.targets[1].name = "two";
  InProcessServer server(std::move(spec));
  v1::CheckRequest check = CheckOf("job:etl", 1);
  check.set_target("two");
  Explain(server, check);
  EXPECT_EQ(server.activity.Take(), std::vector<std::string>{"two"});
}

TEST(Explain, ADenialSaysWhenThereWillBeRoom) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  server.Allowed("job:etl", 100);
  v1::ExplainResponse response = Explain(server, CheckOf("job:etl", 20));
  EXPECT_EQ(response.decision().verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(response.decision().violations(0).budget(), "b");
  EXPECT_EQ(response.buckets(0).room_in().seconds(), 2);
  response = Explain(server, CheckOf("job:etl", 101));
  EXPECT_FALSE(response.buckets(0).has_room_in());
}

TEST(Explain, ARatioIsToldAndNotRolled) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.rules.push_back(RuleOn("some", "etl", engine::RejectAction{0.99}));
  InProcessServer server(std::move(spec));
  for (int i = 0; i < 20; ++i) {
    const v1::ExplainResponse response = Explain(server, CheckOf("job:etl", 1));
    EXPECT_EQ(response.reject_ratio(), 0.99);
    EXPECT_EQ(response.decision().verdict(), v1::VERDICT_ALLOWED);
  }
}

TEST(Explain, SaysWhatWouldHaveToChange) {
  InProcessServer server(
      engine::Budgets({engine::MaxCostBudget("sizes", 50), RateBudget("b", 10, 0)}));
  const v1::ExplainResponse response = Explain(server, CheckOf("job:etl", 60));
  ASSERT_EQ(response.to_be_allowed_size(), 2);
  EXPECT_EQ(response.to_be_allowed(0),
            "ask for at most 50 at a time, or raise max_cost of budget 'sizes'");
  EXPECT_EQ(response.to_be_allowed(1), "budget 'b' blocks everything: its burst has to be above 0");
}

TEST(Explain, SaysWhereTheTimeToRoomIsNotKnown) {
  InProcessServer server(OneBudget(engine::ConcurrencyBudget("jobs", 1)));
  EXPECT_FALSE(Explain(server, CheckOf("job:etl", 1)).buckets(0).ask_again());
  server.Allowed("job:etl", 1);
  EXPECT_TRUE(Explain(server, CheckOf("job:etl", 1)).buckets(0).ask_again());
}

engine::PolicySpec AutoBudget() {
  engine::BudgetSpec budget;
  budget.name = "found";
  budget.rate = engine::AutoRate{};
  budget.burst = budget.default_cost = 0.1;
  budget.max_concurrency = 100;
  return OneBudget(budget);
}

// Batch work takes what the budget gives it, in chunks of 10 ms, beside a foreground that loses a
// twentieth of its thousand transactions a second to a tenth of a busy second.
void WorkBesideAForeground(InProcessServer& server, absl::Duration length) {
  control::ControlLoop loop({.target = "", .budgets = {{"found", ""}}, .options = {}},
                            server.engine);
  health::WorkCounters work;
  work.foreground_active = 4;
  work.statements_missing = "pg_stat_statements is not installed";
  double done = 1000;
  int64_t chunks = 0;
  for (const absl::Time end = server.clock.Read().wall() + length;
       server.clock.Read().wall() < end;) {
    work.sampled_at_ns = server.clock.Read().monotonic_ns;
    work.next_xid = static_cast<int64_t>(done) + chunks;
    const absl::Duration wait = loop.OnWork(work, server.clock.Read()).after;
    const int64_t before = chunks;
    engine::CheckAnswer answer;
    for (absl::Duration passed; passed < wait; passed += absl::Milliseconds(10)) {
      ASSERT_TRUE(server.engine.Check({.identity = "job:etl"}, server.clock.Read(), answer).ok());
      server.clock.Advance(absl::Milliseconds(10));
      if (answer.verdict != engine::Verdict::kAllowed) continue;
      ++chunks;
      ASSERT_TRUE(
          server.engine
              .Report(answer.permit, {.busy_time = absl::Milliseconds(10)}, server.clock.Read())
              .ok());
    }
    done += 1000 * absl::ToDoubleSeconds(wait) - 5 * static_cast<double>(chunks - before);
  }
  health::TargetSnapshot target;
  target.controllers = loop.Snapshot();
  server.status.targets = {target};
}

TEST(Explain, OfAnAutoBudgetThatDeniesSaysWhichHarmBinds) {
  InProcessServer server(AutoBudget());
  WorkBesideAForeground(server, absl::Seconds(60));
  v1::ExplainResponse response;
  do {
    response = Explain(server, CheckOf("job:etl", 1));
    (void)server.Check("job:etl", 1);
  } while (response.decision().verdict() == v1::VERDICT_ALLOWED);
  EXPECT_EQ(response.decision().violations(0).budget(), "found");
  ASSERT_EQ(response.buckets_size(), 1);
  EXPECT_THAT(response.buckets(0).found(),
              testing::MatchesRegex("throughput binds: it costs the foreground .* ± .* % of its "
                                    "throughput, of 5 % that are tolerated; .* not seen: "
                                    "pg_stat_statements is not installed"));
}

TEST(Explain, OfABudgetWithARateHasNothingFound) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  EXPECT_EQ(Explain(server, CheckOf("job:etl", 1)).buckets(0).found(), "");
}

TEST(Explain, SeesTheAddressOfTheConnection) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  engine::RuleSpec rule = RuleOn("no-loopback", "", engine::DenyAction{});
  rule.match.remote_address = "127.0.0.1/32";
  spec.rules.push_back(rule);
  InProcessServer server(std::move(spec));
  EXPECT_EQ(Explain(server, CheckOf("job:etl", 1)).decision().reason(), v1::REASON_DENY_RULE);
}

}  // namespace
}  // namespace headgate::rpc
