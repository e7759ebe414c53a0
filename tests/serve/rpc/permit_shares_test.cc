// A hostile caller that takes all the permits it can, beside an honest job, as strangers would see
// it: over the wire, and in the throttle log and status.

#include <string>

#include "gmock/gmock.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/rpc_call.h"

namespace headgate::rpc {
namespace {

using testing::HasSubstr;

constexpr int kBatch = 1000;

// Half of 32,768, and what two threads give away of the rest before they notice: a 16th at most.
auto IsTheShare() { return testing::AllOf(testing::Ge(16384), testing::Le(16384 + 1024)); }

// Ten permits at a time for each identity; "free" is charged by nobody.
engine::PolicySpec TenForEach() {
  engine::PolicySpec spec;
  engine::BudgetSpec slots = engine::ConcurrencyBudget("slots", 10);
  slots.split = engine::SplitByDepth{8};
  spec.budgets = {slots};
  spec.rules = {engine::ChargeRule("bulk", "bulk", {"slots"}),
                engine::ChargeRule("honest", "honest", {"slots"})};
  engine::RuleSpec any;
  any.name = "by-tag";
  any.match.tags = {{"kind", "bulk"}};
  any.action = engine::ChargeAction{{"slots"}};
  spec.rules.push_back(any);
  return spec;
}

class PermitFlood : public testing::Test {
 protected:
  static InProcessOptions Options() {
    InProcessOptions options;
    options.engine = {.seed = 7, .permit_ttl = absl::Minutes(2)};
    return options;
  }
  // One batch of identities that were never seen before.
  v1::BatchCheckResponse Flood(bool of_new_roots) {
    v1::BatchCheckRequest request;
    for (int i = 0; i < kBatch; ++i, ++number_) {
      const std::string root = of_new_roots ? absl::StrCat("root-", number_) : "bulk";
      v1::CheckRequest& check = *request.add_checks();
      check = CheckOf(absl::StrCat("job-", number_, ":", root), 1);
      (*check.mutable_tags())["kind"] = "bulk";
    }
    return server_.Batch(request);
  }
  // What the honest job does: ask, work, report.
  void WorkHonestly() {
    v1::Decision decision;
    const grpc::Status status = server_.TryCheck(CheckOf("job:honest", 1), decision);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(decision.verdict(), v1::VERDICT_ALLOWED) << decision.message();
    ASSERT_NE(decision.permit_id(), 0U);
    EXPECT_EQ(server_.Report(decision.permit_id(), 1).outcome(), v1::REPORT_OUTCOME_SETTLED);
  }
  void ExpectNoHarm(bool of_new_roots) {
    WorkHonestly();
    for (int batch = 0; batch < 40; ++batch) {
      Flood(of_new_roots);
      WorkHonestly();
      v1::Decision decision;
      ASSERT_TRUE(server_.TryCheck(CheckOf("job:nobodys", 1), decision).ok());
      EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
    }
  }

  int number_ = 0;
  InProcessServer server_{TenForEach(), Options()};
};

TEST_F(PermitFlood, UnderOneRootDoesAnHonestJobNoHarm) { ExpectNoHarm(false); }

TEST_F(PermitFlood, OfNewRootsDoesAnHonestJobNoHarm) { ExpectNoHarm(true); }

TEST_F(PermitFlood, IsDeniedAndToldWhyAndWhenToAskAgain) {
  for (int batch = 0; batch < 33; ++batch) Flood(false);
  const v1::BatchCheckResponse response = Flood(false);
  for (const v1::CheckResult& result : response.results()) {
    ASSERT_TRUE(result.has_decision()) << result.error().message();
    const v1::Decision& decision = result.decision();
    EXPECT_EQ(decision.verdict(), v1::VERDICT_DENIED);
    EXPECT_EQ(decision.reason(), v1::REASON_PERMITS);
    EXPECT_FALSE(decision.has_permit_id());
    EXPECT_GT(decision.retry_after().nanos(), 0);
    ASSERT_EQ(decision.violations_size(), 1);
    EXPECT_EQ(decision.violations(0).limit_kind(), v1::LIMIT_KIND_PERMITS);
    EXPECT_THAT(decision.violations(0).observed(), IsTheShare());
    EXPECT_THAT(decision.message(), HasSubstr("share of permits"));
  }
}

TEST_F(PermitFlood, IsInTheLogWithACauseOfItsOwn) {
  for (int batch = 0; batch < 20; ++batch) {
    server_.clock.Advance(absl::Milliseconds(1));  // the log's order is by time
    Flood(false);
  }
  int64_t denied = 0;
  server_.recorder.Collect(
      {}, [&](const throttle_log::RowKey& key, const throttle_log::Counts& counts) {
        if (key.outcome != throttle_log::Outcome::kDenied) return;
        EXPECT_EQ(key.cause.reason, engine::Reason::kPermits);
        EXPECT_EQ(key.cause.limit, engine::Limit::kPermits);
        EXPECT_EQ(key.cause.budget, "");
        denied += counts.checks;
      });
  EXPECT_THAT(20 * kBatch - denied, IsTheShare());
  throttle_log::ScanFilter bulk;
  bulk.identity = "bulk";
  const auto newest = server_.recorder.RecentDenials(bulk, 0, 1);
  ASSERT_EQ(newest.size(), 1U);
  EXPECT_EQ(newest[0].identity, "job-19999:bulk");
  EXPECT_EQ(newest[0].observed, 20 * kBatch - denied);
}

TEST_F(PermitFlood, IsShownByStatus) {
  for (int batch = 0; batch < 20; ++batch) Flood(false);
  WorkHonestly();
  v1::GetStatusResponse response;
  ASSERT_TRUE(CallRpc(server_.channel, &v1::StatusService::Stub::GetStatus, {}, response).ok());
  const v1::PermitsStatus& permits = response.permits();
  EXPECT_EQ(permits.capacity(), 32768);
  EXPECT_EQ(permits.max_share(), 0.5);
  EXPECT_EQ(permits.without_permit(), 0);
  ASSERT_EQ(permits.holders_size(), 1);
  EXPECT_EQ(permits.holders(0).name(), "bulk");
  EXPECT_FALSE(permits.holders(0).is_caller());
  const int64_t held = permits.holders(0).permits();
  EXPECT_THAT(held, IsTheShare());
  EXPECT_EQ(permits.holders(0).turned_away(), 20 * kBatch - held);
  EXPECT_EQ(permits.turned_away(), 20 * kBatch - held);
}

// What nobody limits by concurrency is never turned away, and takes nobody's permit.
TEST(PermitFloodOfDebt, GoesOnWithoutPermitsAndTakesNobodyElses) {
  engine::PolicySpec spec = engine::OneBudget(engine::RateBudget("rate", 1e9, 1e9));
  spec.rules.push_back(engine::ChargeRule("honest", "honest", {"rate"}));
  InProcessOptions options;
  options.engine = {.seed = 7, .max_permits = 1024};
  InProcessServer server(std::move(spec), options);
  const v1::Decision first = server.Allowed("job:honest", 100);
  ASSERT_NE(first.permit_id(), 0U);
  v1::BatchCheckRequest request;
  for (int i = 0; i < kBatch; ++i) *request.add_checks() = CheckOf(absl::StrCat("j", i, ":etl"), 0);
  for (int batch = 0; batch < 10; ++batch) {
    const v1::BatchCheckResponse response = server.Batch(request);
    for (const v1::CheckResult& result : response.results()) {
      EXPECT_EQ(result.decision().verdict(), v1::VERDICT_ALLOWED);
    }
  }
  EXPECT_EQ(server.Report(first.permit_id(), 1).outcome(), v1::REPORT_OUTCOME_SETTLED);
}

// With all of the table for one holder, which was how it always was, the error is counted too.
TEST(PermitFloodOfAll, IsAnErrorThatTheLogHasToo) {
  engine::PolicySpec spec = engine::OneBudget(engine::ConcurrencyBudget("b", 65535));
  InProcessOptions options;
  options.engine = {.seed = 7, .max_permits = 64, .max_permit_share = 1};
  InProcessServer server(std::move(spec), options);
  v1::BatchCheckRequest request;
  for (int i = 0; i < 100; ++i) *request.add_checks() = CheckOf("job:etl", 1);
  int errors = 0;
  const v1::BatchCheckResponse response = server.Batch(request);
  for (const v1::CheckResult& result : response.results()) {
    errors += result.error().code() == static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_EQ(errors, 36);
  v1::Decision decision;
  const grpc::Status status = server.TryCheck(CheckOf("job:etl", 1), decision);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(DetailsOf(status).retry);
  int64_t denied = 0;
  server.recorder.Collect({},
                          [&](const throttle_log::RowKey& key, const throttle_log::Counts& counts) {
                            if (key.cause.reason == engine::Reason::kPermits)
                              denied += counts.checks;
                          });
  EXPECT_EQ(denied, 37);
  EXPECT_EQ(server.Check("job:nobodys", 1).verdict(), v1::VERDICT_ALLOWED);
}

}  // namespace
}  // namespace headgate::rpc
