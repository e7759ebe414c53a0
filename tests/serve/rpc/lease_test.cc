// Leases as their holders ask for them and give them back.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serve/rpc/waiting_fixture.h"
#include "tests/testing/error_details.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using throttle_log::Counts;
using throttle_log::Outcome;
using throttle_log::RowKey;

v1::CheckRequest LeaseOf(const std::string& identity, double least, double most) {
  v1::CheckRequest request = CheckOf(identity, most);
  request.mutable_lease()->set_least(least);
  return request;
}

v1::PieceCount& AddCount(v1::PermitReport& report, v1::Verdict verdict, v1::Reason reason,
                         int64_t pieces, double cost) {
  v1::PieceCount& count = *report.mutable_lease_use()->add_counts();
  count.set_verdict(verdict);
  count.set_reason(reason);
  count.set_pieces(pieces);
  count.set_cost(cost);
  return count;
}

// Of so many pieces that were admitted.
v1::PermitReport ReturnOf(const v1::Decision& lease, double spent, int64_t pieces) {
  v1::PermitReport report;
  report.set_permit_id(lease.permit_id());
  report.mutable_lease_use()->set_spent(spent);
  report.mutable_lease_use()->set_pieces(pieces);
  AddCount(report, v1::VERDICT_ALLOWED, v1::REASON_UNSPECIFIED, pieces, spent);
  return report;
}

std::string FieldOf(const grpc::Status& status) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto details = ReadDetails(status);
  return details.has_value() && !details->fields.empty() ? details->fields[0] : "";
}

class LeaseTest : public testing::Test {
 protected:
  explicit LeaseTest(engine::PolicySpec policy = OneBudget(RateBudget("b", 10, 100)))
      : server_(std::move(policy), {.rpc = OneThread()}) {}

  static RpcServerOptions OneThread() {
    RpcServerOptions options = InProcessServer::Rpc();
    options.threads = 1;
    return options;
  }
  v1::ReportResult Report(const v1::PermitReport& report) {
    v1::ReportRequest request;
    *request.add_reports() = report;
    return server_.Report(request).results(0);
  }
  // "ALLOWED b 12 pieces of 34".
  std::vector<std::string> Counted() {
    std::vector<std::string> counted;
    server_.recorder.Collect({}, [&](const RowKey& key, const Counts& counts) {
      const char* const outcome = key.outcome == Outcome::kDenied    ? "denied"
                                  : key.outcome == Outcome::kAllowed ? "allowed"
                                                                     : "would be denied";
      counted.push_back(absl::StrCat(
          key.identity, " ", outcome, " ", static_cast<int>(key.cause.reason), " '",
          key.cause.budget, "' '", key.cause.rule, "': ", counts.checks, " of ", counts.cost));
    });
    return counted;
  }

  InProcessServer server_;
};

TEST_F(LeaseTest, IsGrantedInPartForASecond) {
  server_.Allowed("job:etl", 70);
  const v1::Decision decision = server_.Check(LeaseOf("job:etl", 5, 50));
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_TRUE(decision.has_permit_id());
  EXPECT_NEAR(decision.lease().amount(), 30, 1e-6);
  EXPECT_EQ(decision.lease().time().seconds(), 1);
  EXPECT_FALSE(decision.lease().has_largest_piece());
  EXPECT_FALSE(decision.lease().has_returned());
}

TEST_F(LeaseTest, LastsAsLongAsItsHolderSays) {
  v1::CheckRequest request = LeaseOf("job:etl", 5, 50);
  request.mutable_lease()->mutable_time()->set_nanos(250'000'000);
  EXPECT_EQ(server_.Check(request).lease().time().nanos(), 250'000'000);
}

TEST_F(LeaseTest, ThatIsDeniedSaysWhyAndHasNoAmount) {
  server_.Allowed("job:etl", 97);
  const v1::Decision denial = server_.Check(LeaseOf("job:etl", 5, 50));
  EXPECT_EQ(denial.verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(denial.reason(), v1::REASON_CAPACITY);
  ASSERT_EQ(denial.violations_size(), 1);
  EXPECT_EQ(denial.violations(0).budget(), "b");
  EXPECT_EQ(denial.lease().amount(), 0);
  EXPECT_FALSE(denial.lease().has_time());
}

TEST_F(LeaseTest, ComesWithTheReturnOfTheOneBefore) {
  const v1::Decision first = server_.Check(LeaseOf("job:etl", 5, 90));
  v1::CheckRequest next = LeaseOf("job:etl", 5, 90);
  *next.mutable_lease()->mutable_returned() = ReturnOf(first, 20, 4);
  const v1::Decision second = server_.Check(next);
  EXPECT_EQ(second.lease().returned().outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_NEAR(second.lease().amount(), 80, 1e-6);
  EXPECT_NEAR(server_.Debt("job:etl"), 100, 1e-6);
  // What is sent once more is settled and counted once.
  EXPECT_EQ(server_.Check(next).lease().returned().outcome(), v1::REPORT_OUTCOME_ALREADY_SETTLED);
  EXPECT_THAT(Counted(), testing::ElementsAre("job:etl allowed 0 '' '': 4 of 20"));
}

TEST_F(LeaseTest, EndsWithAReport) {
  const v1::Decision lease = server_.Check(LeaseOf("job:etl", 5, 90));
  v1::PermitReport report = ReturnOf(lease, 20, 4);
  report.mutable_lease_use()->set_identity("job:etl");
  EXPECT_EQ(Report(report).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_EQ(Report(report).outcome(), v1::REPORT_OUTCOME_ALREADY_SETTLED);
  EXPECT_NEAR(server_.Debt("job:etl"), 20, 1e-6);
  EXPECT_THAT(Counted(), testing::ElementsAre("job:etl allowed 0 '' '': 4 of 20"));
}

TEST_F(LeaseTest, IsNotCountedItselfButItsPiecesAreByWhatBecameOfThem) {
  const v1::Decision lease = server_.Check(LeaseOf("job:etl", 5, 90));
  v1::PermitReport report = ReturnOf(lease, 20, 4);
  v1::PieceCount& denied = AddCount(report, v1::VERDICT_DENIED, v1::REASON_CAPACITY, 1000, 5000);
  denied.set_limit_kind(v1::LIMIT_KIND_BURST);
  denied.set_budget("b");
  denied.set_rule("charge");
  v1::PieceCount& made_up = AddCount(report, v1::VERDICT_DENIED, v1::REASON_CAPACITY, 7, 7);
  made_up.set_limit_kind(v1::LIMIT_KIND_BURST);
  made_up.set_budget("no such budget");
  made_up.set_rule("no such rule");
  report.mutable_lease_use()->set_identity("job:etl");
  EXPECT_EQ(Report(report).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_THAT(Counted(),
              testing::UnorderedElementsAre("job:etl allowed 0 '' '': 4 of 20",
                                            "job:etl denied 7 'b' 'charge': 1000 of 5000",
                                            "job:etl denied 7 '' '': 7 of 7"));
}

TEST_F(LeaseTest, WaitsInLineAsACheckOfOnePiece) {
  server_.Allowed("other:etl", 100);
  v1::CheckRequest request = LeaseOf("job:etl", 5, 50);
  request.mutable_max_wait()->set_seconds(60);
  WaitingCaller caller(server_.channel, request);
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Milliseconds(500));
  const v1::Decision decision = caller.Decision();
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_NEAR(decision.lease().amount(), 5, 1e-6);
  EXPECT_EQ(decision.waited().nanos(), 500'000'000);
  server_.recorder.Collect(
      {}, [](const RowKey& key, const Counts&) { EXPECT_NE(key.identity, "job:etl"); });
}

TEST_F(LeaseTest, ThatWaitsSaysInTheEndWhatBecameOfTheOneBefore) {
  const v1::Decision first = server_.Check(LeaseOf("job:etl", 100, 100));
  v1::CheckRequest next = LeaseOf("job:etl", 5, 50);
  next.mutable_max_wait()->set_seconds(60);
  *next.mutable_lease()->mutable_returned() = ReturnOf(first, 98, 1);
  WaitingCaller caller(server_.channel, next);
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(1));
  EXPECT_EQ(caller.Decision().lease().returned().outcome(), v1::REPORT_OUTCOME_SETTLED);
}

TEST_F(LeaseTest, AmongTheChecksOfABatch) {
  v1::BatchCheckRequest batch;
  *batch.add_checks() = LeaseOf("job:etl", 5, 60);
  *batch.add_checks() = CheckOf("job:etl", 10);
  *batch.add_checks() = LeaseOf("job:etl", 5, 60);
  *batch.add_checks() = LeaseOf("job:etl", 500, 60);
  const v1::BatchCheckResponse response = server_.Batch(batch);
  EXPECT_EQ(response.results(0).decision().lease().amount(), 60);
  EXPECT_FALSE(response.results(1).decision().has_lease());
  EXPECT_NEAR(response.results(2).decision().lease().amount(), 30, 1e-6);
  EXPECT_EQ(response.results(3).error().field(), "checks[3].lease.least");
  // The next batch's messages are these, reused.
  v1::BatchCheckRequest plain;
  *plain.add_checks() = CheckOf("job:etl", 0);
  EXPECT_FALSE(server_.Batch(plain).results(0).decision().has_lease());
}

TEST_F(LeaseTest, RefusesWhatMeansNothing) {
  v1::Decision decision;
  v1::CheckRequest nothing = LeaseOf("job:etl", 0, 50);
  EXPECT_EQ(FieldOf(server_.TryCheck(nothing, decision)), "lease.least");
  v1::CheckRequest no_most = LeaseOf("job:etl", 5, 50);
  no_most.clear_estimated_cost();
  EXPECT_EQ(FieldOf(server_.TryCheck(no_most, decision)), "estimated_cost");
  v1::CheckRequest long_one = LeaseOf("job:etl", 5, 50);
  long_one.mutable_lease()->mutable_time()->set_seconds(3600);
  EXPECT_EQ(FieldOf(server_.TryCheck(long_one, decision)), "lease.time");
  v1::CheckRequest validated = LeaseOf("job:etl", 5, 50);
  validated.set_validate_only(true);
  EXPECT_EQ(FieldOf(server_.TryCheck(validated, decision)), "lease");
  EXPECT_EQ(server_.Debt("job:etl"), 0);
}

TEST_F(LeaseTest, RefusesAReturnThatCannotBe) {
  const v1::Decision lease = server_.Check(LeaseOf("job:etl", 5, 90));
  const auto error = [&](auto change) {
    v1::PermitReport report = ReturnOf(lease, 20, 4);
    report.mutable_lease_use()->set_identity("job:etl");
    change(report);
    const v1::ReportResult result = Report(report);
    EXPECT_EQ(result.outcome(), v1::REPORT_OUTCOME_UNSPECIFIED);
    return result.error().field();
  };
  EXPECT_EQ(error([](auto& report) { report.mutable_lease_use()->set_spent(-1); }),
            "reports[0].lease_use.spent");
  EXPECT_EQ(error([](auto& report) { report.mutable_lease_use()->set_pieces(1LL << 60); }),
            "reports[0].lease_use.pieces");
  EXPECT_EQ(error([](auto& report) { report.mutable_lease_use()->set_identity("other:etl"); }),
            "reports[0].lease_use.identity");
  EXPECT_EQ(error([](auto& report) { report.mutable_lease_use()->clear_identity(); }),
            "reports[0].lease_use.identity");
  EXPECT_EQ(
      error([](auto& report) { report.mutable_lease_use()->mutable_counts(0)->set_pieces(-4); }),
      "reports[0].lease_use.counts[0].pieces");
  EXPECT_EQ(
      error([](auto& report) { report.mutable_lease_use()->mutable_counts(0)->clear_verdict(); }),
      "reports[0].lease_use.counts[0].verdict");
  EXPECT_EQ(error([](auto& report) {
              for (int i = 0; i < 100; ++i) report.mutable_lease_use()->add_counts();
            }),
            "reports[0].lease_use.counts");
  EXPECT_EQ(error([](auto& report) { report.set_permit_id(report.permit_id() + 1); }),
            "reports[0].permit_id");
  EXPECT_NEAR(server_.Debt("job:etl"), 90, 1e-6);
  EXPECT_TRUE(Counted().empty());
}

TEST_F(LeaseTest, ComesWithTheSafeRateThatCouldBeReserved) {
  v1::CheckRequest request = LeaseOf("job:etl", 5, 50);
  request.mutable_lease()->set_safe_rate(100);
  request.mutable_lease()->mutable_safe_time()->set_seconds(8);
  const v1::Decision lease = server_.Check(request);
  EXPECT_EQ(lease.lease().safe_rate(), 5);  // half of the budget's
  EXPECT_EQ(lease.lease().safe_time().seconds(), 8);
  server_.clock.Advance(absl::Milliseconds(3250));
  EXPECT_NEAR(server_.Debt("job:etl"), 50 - 32.5 + 10, 0.3);
  v1::PermitReport report = ReturnOf(lease, 50, 11);
  report.mutable_lease_use()->set_identity("job:etl");
  report.mutable_lease_use()->set_safe_spent(20.25);  // 10.25 were charged
  EXPECT_EQ(Report(report).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_NEAR(server_.Debt("job:etl"), 50 - 32.5 + 20, 0.3);
  EXPECT_FALSE(server_.Check(LeaseOf("job:etl", 5, 50)).lease().has_safe_time());
}

TEST_F(LeaseTest, RefusesASafeRateThatCannotBe) {
  v1::Decision decision;
  v1::CheckRequest request = LeaseOf("job:etl", 5, 50);
  request.mutable_lease()->set_safe_rate(-1);
  EXPECT_EQ(FieldOf(server_.TryCheck(request, decision)), "lease.safe_rate");
  request.mutable_lease()->set_safe_rate(1);
  request.mutable_lease()->mutable_safe_time()->set_seconds(61);
  EXPECT_EQ(FieldOf(server_.TryCheck(request, decision)), "lease.safe_time");
}

// A call is repeated when its answer is lost.
TEST_F(LeaseTest, CountsWithoutAPermitAreCountedOnceForEachNumber) {
  v1::PermitReport refusals;
  AddCount(refusals, v1::VERDICT_DENIED, v1::REASON_CAPACITY, 3, 12);
  refusals.mutable_lease_use()->set_identity("job:etl");
  refusals.mutable_lease_use()->set_id(77);
  v1::CheckRequest ask = LeaseOf("job:etl", 5, 50);
  ask.set_request_id("once");
  *ask.mutable_lease()->mutable_returned() = refusals;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(server_.Check(ask).lease().returned().outcome(), v1::REPORT_OUTCOME_SETTLED);
    EXPECT_EQ(Report(refusals).outcome(), v1::REPORT_OUTCOME_SETTLED);
  }
  EXPECT_THAT(Counted(), testing::ElementsAre("job:etl denied 7 '' '': 3 of 12"));
  refusals.mutable_lease_use()->set_id(78);
  Report(refusals);
  refusals.mutable_lease_use()->set_identity("other:etl");
  Report(refusals);
  EXPECT_THAT(Counted(), testing::UnorderedElementsAre("job:etl denied 7 '' '': 3 of 12",
                                                       "other:etl denied 7 '' '': 3 of 12"));
}

// As a holder does whose server was started anew.
TEST_F(LeaseTest, CountsOfAPermitThatIsNotKnownAreCountedOnceWithoutIt) {
  v1::PermitReport report;
  report.set_permit_id(123456);
  report.mutable_lease_use()->set_identity("job:etl");
  report.mutable_lease_use()->set_id(77);
  AddCount(report, v1::VERDICT_DENIED, v1::REASON_CAPACITY, 3, 12);
  EXPECT_EQ(Report(report).error().code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Counted().empty());
  report.clear_permit_id();
  Report(report);
  Report(report);
  EXPECT_THAT(Counted(), testing::ElementsAre("job:etl denied 7 '' '': 3 of 12"));
}

TEST_F(LeaseTest, CountsThatWereToldWithTheirPermitAreNotCountedWithoutIt) {
  const v1::Decision lease = server_.Check(LeaseOf("job:etl", 5, 90));
  v1::PermitReport report = ReturnOf(lease, 20, 4);
  report.mutable_lease_use()->set_identity("job:etl");
  report.mutable_lease_use()->set_id(77);
  EXPECT_EQ(Report(report).outcome(), v1::REPORT_OUTCOME_SETTLED);
  report.clear_permit_id();
  Report(report);
  EXPECT_THAT(Counted(), testing::ElementsAre("job:etl allowed 0 '' '': 4 of 20"));
}

// Nothing limits it, so that nothing is to be settled.
TEST_F(LeaseTest, ThatNoRuleMatchesIsCountedWithoutAPermit) {
  const v1::Decision lease = server_.Check(LeaseOf("job:backup", 5, 5000));
  EXPECT_EQ(lease.lease().amount(), 5000);
  EXPECT_FALSE(lease.has_permit_id());
  v1::PermitReport report;
  report.mutable_lease_use()->set_identity("job:backup");
  AddCount(report, v1::VERDICT_ALLOWED, v1::REASON_UNMATCHED, 3, 12);
  EXPECT_EQ(Report(report).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_THAT(Counted(), testing::ElementsAre("job:backup allowed 9 '' '': 3 of 12"));
}

// One holder on one stream, in a hundred messages. It has its share of the permits and no more: the
// permit of a new lease replaces that of an old one, which then counts as spent, or the new one is
// denied by name. Whatever was granted stays charged, and nobody else is held up.
TEST(ManyLeases, AskedForOnOneStreamHoldThePermitsOfOneHolder) {
  InProcessOptions options{.rpc = InProcessServer::Rpc()};
  options.engine.max_permits = 1024;
  options.engine.max_permit_share = 0.5;
  InProcessServer server(OneBudget(RateBudget("b", 10, 1e9)), options);
  Context context;
  const auto stream = server.throttler->CheckStream(&context);
  v1::Decision first;
  int allowed = 0, denied = 0;
  for (int message = 0; message < 100; ++message) {
    v1::CheckStreamRequest request;
    for (int i = 0; i < 1000; ++i) *request.add_checks() = LeaseOf("job:etl", 1, 5);
    ASSERT_TRUE(stream->Write(request));
    v1::CheckStreamResponse response;
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.results_size(), 1000);
    for (const v1::CheckResult& result : response.results()) {
      ASSERT_TRUE(result.has_decision()) << result.error().message();
      const v1::Decision& decision = result.decision();
      if (decision.verdict() == v1::VERDICT_ALLOWED) {
        if (++allowed == 1) first = decision;
        ASSERT_TRUE(decision.has_permit_id());
        continue;
      }
      ++denied;
      ASSERT_EQ(decision.reason(), v1::REASON_PERMITS);
      ASSERT_TRUE(decision.has_retry_after());
      ASSERT_EQ(decision.lease().amount(), 0);
    }
  }
  EXPECT_EQ(allowed + denied, 100'000);
  EXPECT_GT(denied, 0);
  EXPECT_EQ(server.permits(), 512);
  EXPECT_EQ(server.Debt("job:etl"), allowed * 5);
  v1::ReportRequest late;
  *late.add_reports() = ReturnOf(first, 1, 1);
  EXPECT_NE(server.Report(late).results(0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_EQ(server.Debt("job:etl"), allowed * 5);
  EXPECT_TRUE(server.Allowed("other:etl", 1).has_permit_id());
  EXPECT_TRUE(stream->WritesDone());
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace headgate::rpc
