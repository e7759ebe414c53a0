// BatchCheck and Report: many items in one RPC.

#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;

v1::BatchCheckRequest BatchOf(int count, const std::string& identity, double cost) {
  v1::BatchCheckRequest request;
  for (int i = 0; i < count; ++i) *request.add_checks() = CheckOf(identity, cost);
  return request;
}

TEST(BatchCheck, DecidesInOrderUntilTheBudgetIsSpent) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const v1::BatchCheckResponse response = server.Batch(BatchOf(5, "job:etl", 30));
  ASSERT_EQ(response.results_size(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(response.results(i).decision().verdict(),
              i < 3 ? v1::VERDICT_ALLOWED : v1::VERDICT_DENIED);
  }
  EXPECT_NE(response.results(0).decision().permit_id(), response.results(1).decision().permit_id());
}

TEST(BatchCheck, OneBadCheckDoesNotSpoilTheOthers) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::BatchCheckRequest request = BatchOf(4, "job:etl", 1);
  request.mutable_checks(1)->set_identity("no good");
  request.mutable_checks(3)->set_target("nowhere");
  const v1::BatchCheckResponse response = server.Batch(request);
  EXPECT_TRUE(response.results(0).has_decision());
  EXPECT_EQ(response.results(1).error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(response.results(1).error().field(), "checks[1].identity");
  EXPECT_NE(response.results(1).error().message(), "");
  EXPECT_TRUE(response.results(2).has_decision());
  EXPECT_EQ(response.results(3).error().code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(response.results(3).error().field(), "checks[3].target");
}

TEST(BatchCheck, ResultsOfOneBatchDoNotShineThroughInTheNext) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::BatchCheckRequest bad = BatchOf(3, "job:etl", 1000);  // denied
  bad.mutable_checks(1)->set_identity("");                  // an error
  server.Batch(bad);
  const v1::BatchCheckResponse good = server.Batch(BatchOf(3, "job:etl", 1));
  const v1::BatchCheckResponse shorter = server.Batch(BatchOf(2, "job:etl", 1));
  ASSERT_EQ(good.results_size(), 3);
  ASSERT_EQ(shorter.results_size(), 2);
  for (const v1::CheckResult& result : good.results()) {
    EXPECT_EQ(result.decision().verdict(), v1::VERDICT_ALLOWED);
    EXPECT_EQ(result.decision().reason(), v1::REASON_UNSPECIFIED);
    EXPECT_EQ(result.decision().message(), "Allowed.");
    EXPECT_EQ(result.decision().violations_size(), 0);
    EXPECT_FALSE(result.decision().has_retry_after());
    EXPECT_TRUE(result.decision().has_permit_id());
  }
}

TEST(BatchCheck, ChecksToBeValidatedStandAmongOthersAndAreNotCharged) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::BatchCheckRequest request = BatchOf(4, "job:etl", 50);
  request.mutable_checks(0)->set_validate_only(true);
  request.mutable_checks(2)->set_validate_only(true);
  const v1::BatchCheckResponse response = server.Batch(request);
  EXPECT_FALSE(response.results(0).decision().has_permit_id());
  EXPECT_TRUE(response.results(1).decision().has_permit_id());
  EXPECT_FALSE(response.results(2).decision().has_permit_id());
  EXPECT_TRUE(response.results(3).decision().has_permit_id());
  EXPECT_EQ(response.results(2).decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(BatchCheck, TakesAThousandAndNotOneMore) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 1000)));
  const v1::BatchCheckResponse response = server.Batch(BatchOf(1000, "job:etl", 1));
  ASSERT_EQ(response.results_size(), 1000);
  for (const v1::CheckResult& result : response.results()) {
    EXPECT_EQ(result.decision().verdict(), v1::VERDICT_ALLOWED);
  }
  const grpc::Status status =
      CallRpc(server.channel, &v1::ThrottlerService::Stub::BatchCheck, BatchOf(1001, "job:etl", 0));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"checks"});
}

TEST(BatchCheck, MayBeEmpty) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  EXPECT_EQ(server.Batch({}).results_size(), 0);
}

TEST(BatchCheck, ChecksWithDifferentTagsAreToldApart) {
  engine::BudgetSpec budget = RateBudget("b", 10, 100);
  budget.split = engine::SplitByTag{"tenant"};
  InProcessServer server(OneBudget(budget));
  v1::BatchCheckRequest request = BatchOf(3, "job:etl", 100);
  const char* const tenants[] = {"a", "b", "b"};
  for (int i = 0; i < 3; ++i) {
    (*request.mutable_checks(i)->mutable_tags())["tenant"] = tenants[i];
    (*request.mutable_checks(i)->mutable_tags())["other"] = "same";
  }
  const v1::BatchCheckResponse response = server.Batch(request);
  EXPECT_EQ(response.results(0).decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(response.results(1).decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(response.results(2).decision().verdict(), v1::VERDICT_DENIED);
}

TEST(BatchCheck, EveryTargetInItIsMadeKnown) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.targets.resize(2);
  spec.targets[0].name = "one";
  spec.targets[1].name = "two";
  InProcessServer server(std::move(spec));
  v1::BatchCheckRequest request = BatchOf(4, "job:etl", 1);
  for (int i = 0; i < 4; ++i) request.mutable_checks(i)->set_target(i < 2 ? "one" : "two");
  server.Batch(request);
  EXPECT_EQ(server.activity.Take(), (std::vector<std::string>{"one", "two"}));
}

TEST(Report, SettlesRefundsAndIsHarmlessTwice) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const uint64_t permit = server.Allowed("job:etl", 100).permit_id();
  server.Denied("job:etl", 60);
  EXPECT_EQ(server.Report(permit, 40).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_EQ(server.Report(permit, 40).outcome(), v1::REPORT_OUTCOME_ALREADY_SETTLED);
  server.Allowed("job:etl", 60);
}

TEST(Report, EachIsAnsweredForItself) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::ReportRequest request;
  const auto add = [&](uint64_t permit) {
    v1::PermitReport& report = *request.add_reports();
    report.set_permit_id(permit);
    return &report;
  };
  add(server.Allowed("job:etl", 1).permit_id())->mutable_busy_time()->set_seconds(3'600'000);
  add(server.Allowed("job:etl", 1).permit_id())->set_actual_cost(-1);
  add(0)->set_actual_cost(1);
  add(12345)->set_actual_cost(1);
  add(server.Allowed("job:etl", 1).permit_id())->set_actual_cost(0);
  const v1::ReportResponse response = server.Report(request);
  ASSERT_EQ(response.results_size(), 5);
  const auto error = [&](int i) { return response.results(i).error(); };
  EXPECT_EQ(error(0).code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error(0).field(), "reports[0].busy_time");
  EXPECT_EQ(
      error(0).message(),
      "busy_time: 1000h is more than 64 times the life of a permit (1m); give seconds that the "
      "database was busy, not rows");
  EXPECT_EQ(error(1).field(), "reports[1].actual_cost");
  EXPECT_EQ(error(2).code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error(2).field(), "reports[2].permit_id");
  EXPECT_EQ(error(3).code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(error(3).field(), "reports[3].permit_id");
  EXPECT_EQ(response.results(4).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_FALSE(response.results(4).has_error());
}

TEST(Report, MayBeBare) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::ReportRequest request;
  request.add_reports()->set_permit_id(server.Allowed("job:etl", 60).permit_id());
  EXPECT_EQ(server.Report(request).results(0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  server.Denied("job:etl", 60);  // what was predicted is owed
}

TEST(Report, SaysWhatItWasNotChargedFor) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const v1::ReportResult result =
      server.Report(server.Allowed("job:etl", 60).permit_id(), 1'000'000);
  ASSERT_EQ(result.overruns_size(), 1);
  EXPECT_EQ(result.overruns(0).budget(), "b");
  EXPECT_EQ(result.overruns(0).reported(), 1'000'000);
  EXPECT_EQ(result.overruns(0).charged(), 600);
  const v1::Decision denied = server.Denied("job:etl", 1);
  ASSERT_EQ(denied.violations_size(), 1);
  EXPECT_EQ(denied.violations(0).unit(), v1::BUDGET_UNIT_COST);
  EXPECT_EQ(denied.violations(0).reported_debt().reported(), 1'000'000);
  EXPECT_EQ(denied.violations(0).reported_debt().owed_for().seconds(), 50);
}

TEST(Report, SaysWhereNothingCouldBeSettled) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const uint64_t permit = server.Allowed("job:etl", 60).permit_id();
  const uint64_t other = server.Allowed("job:etl", 20).permit_id();
  engine::BudgetSpec split = RateBudget("b", 10, 100);
  split.split = engine::SplitByDepth{2};
  ASSERT_TRUE(server.engine.Install(OneBudget(split), server.clock.Read()).ok());
  const v1::ReportResult result = server.Report(permit, 10);
  EXPECT_EQ(result.outcome(), v1::REPORT_OUTCOME_SETTLED);
  ASSERT_EQ(result.unsettled_size(), 1);
  EXPECT_EQ(result.unsettled(0), "b");
  EXPECT_EQ(server.Report(other, 20).unsettled_size(), 0);
}

// A rate that was edited twice while the work was under way.
TEST(Report, GivesBackAcrossSeveralReloads) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const uint64_t permit = server.Allowed("job:etl", 100).permit_id();
  for (const double rate : {20, 5, 8}) {
    ASSERT_TRUE(
        server.engine.Install(OneBudget(RateBudget("b", rate, 100)), server.clock.Read()).ok());
  }
  EXPECT_EQ(server.Report(permit, 10).unsettled_size(), 0);
  server.Allowed("job:etl", 90);
}

TEST(Report, TellsBusyTimeAndCostApart) {
  engine::BudgetSpec busy = RateBudget("busy", 1, 100);
  busy.unit = engine::BudgetUnit::kBusyTime;
  busy.default_cost = 2;
  InProcessServer server(engine::Budgets({RateBudget("rows", 1000, 10'000), busy}));
  const v1::Decision allowed = server.Allowed("job:etl", 500);
  EXPECT_EQ(allowed.predicted_cost(), 500);
  EXPECT_EQ(allowed.predicted_busy_time().seconds(), 2);
  v1::ReportRequest request;
  v1::PermitReport& report = *request.add_reports();
  report.set_permit_id(allowed.permit_id());
  report.set_actual_cost(500);
  report.mutable_busy_time()->set_seconds(1);
  EXPECT_EQ(server.Report(request).results(0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  const v1::Decision next = server.Allowed("job:etl", 500);
  EXPECT_EQ(next.predicted_cost(), 500);
  EXPECT_EQ(next.predicted_busy_time().seconds(), 1);
}

TEST(Report, ABadOneDoesNotUseUpThePermit) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const uint64_t permit = server.Allowed("job:etl", 100).permit_id();
  EXPECT_TRUE(server.Report(permit, -1).has_error());
  EXPECT_EQ(server.Report(permit, 0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  server.Allowed("job:etl", 100);
}

TEST(Report, TakesAThousandAndNotOneMore) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::ReportRequest request;
  for (int i = 0; i < 1000; ++i) request.add_reports();
  EXPECT_EQ(server.Report(request).results_size(), 1000);
  request.add_reports();
  const grpc::Status status = CallRpc(server.channel, &v1::ThrottlerService::Stub::Report, request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"reports"});
}

}  // namespace
}  // namespace headgate::rpc
