// Who waits, as check, run, explain, status and top show it.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "client/cli/output/proto_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/line_server.h"
#include "tests/cli/run_headgate.h"
#include "tests/client/scripted_server.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using Scripted = AskedByHeadgate<ScriptedServer>;

v1::LineWaiter Waiter(const std::string& identity, int64_t position, double cost) {
  v1::LineWaiter waiter;
  waiter.set_identity(identity);
  waiter.set_cost(cost);
  waiter.mutable_waited()->set_seconds(12);
  waiter.set_position(position);
  waiter.mutable_max_wait_left()->set_seconds(48);
  return waiter;
}

// Two who wait for rows, one at a gate of which nobody knows when it opens.
std::vector<v1::LineStatus> TwoLines() {
  v1::LineStatus rows;
  rows.set_target("main");
  rows.set_budget("rows");
  rows.set_bucket("etl");
  rows.set_waiting(2);
  rows.mutable_longest_waited()->set_seconds(12);
  rows.mutable_expected_turn()->set_nanos(500'000'000);
  rows.set_cost(300);
  rows.set_unit(v1::BUDGET_UNIT_COST);
  *rows.add_next() = Waiter("job-7:etl", 1, 100);
  rows.mutable_next(0)->mutable_expected_turn()->set_nanos(500'000'000);
  rows.mutable_next(0)->set_priority(10);
  *rows.add_next() = Waiter("job-8:etl", 2, 200);
  rows.mutable_next(1)->mutable_expected_turn()->set_seconds(3);
  rows.mutable_next(1)->set_caller("etl-service\x1b[2J");
  v1::LineStatus gate;
  gate.set_target("main");
  gate.set_profile("strict");
  gate.set_waiting(1);
  gate.mutable_longest_waited()->set_seconds(4);
  *gate.add_next() = Waiter("backfill", 1, 5);
  return {rows, gate};
}

v1::WaitingStatus ThreeOfTen() {
  v1::WaitingStatus waiting;
  waiting.set_waiting(3);
  waiting.set_max_waiting(10);
  waiting.set_max_share(0.5);
  waiting.set_lines(2);
  waiting.mutable_longest_waited()->set_seconds(12);
  waiting.set_admitted(40);
  waiting.set_timed_out(2);
  waiting.set_left(1);
  waiting.set_turned_away(7);
  for (const v1::LineStatus& line : TwoLines()) *waiting.add_longest() = line;
  return waiting;
}

TEST(CheckInLine, MaxWaitWaitsInTheServerAndShowsForHowLong) {
  Scripted server;
  server.OnCheck([](grpc::ServerContext&, const v1::CheckRequest&, v1::CheckResponse& response) {
    v1::Decision& decision = *response.mutable_decision();
    decision.set_verdict(v1::VERDICT_ALLOWED);
    decision.set_permit_id(7);
    decision.mutable_waited()->set_seconds(3);
    return grpc::Status::OK;
  });
  const Finished check = server.Headgate({"check", "job:etl", "--max-wait", "1m30s"});
  EXPECT_EQ(check.status, 0);
  EXPECT_THAT(check.out, HasSubstr("waited          3s\n"));
  EXPECT_EQ(server.checks().front().max_wait().seconds(), 90);
  EXPECT_THAT(server.Headgate({"check", "job:etl", "--max-wait", "1s", "-o", "csv"}).out,
              AllOf(HasSubstr(",waited_s\r\n"), HasSubstr(",3\r\n")));
}

TEST(CheckInLine, AsksForNoWaitUnlessItIsTold) {
  Scripted server;
  const Finished check = server.Headgate({"check", "job:etl"});
  EXPECT_EQ(check.status, 0);
  EXPECT_THAT(check.out, Not(HasSubstr("waited")));
  EXPECT_FALSE(server.checks().front().has_max_wait());
}

// The answer may take as long as the wait, and --timeout on top of it.
TEST(CheckInLine, TheTimeoutBeginsWhenTheWaitIsOver) {
  Scripted server;
  server.Hang();
  const Finished check =
      server.Headgate({"check", "job:etl", "--max-wait", "150ms", "--timeout", "100ms"});
  EXPECT_EQ(check.status, 3);
  EXPECT_THAT(check.err, HasSubstr("within 250ms"));
}

// Lets the first Check wait for more than half of its time, from where on the program takes the
// server's word for all of it, and admits the next one.
ScriptedServer::Handler AdmitsTheSecond() {
  return [asked = std::make_shared<std::atomic<int>>(0)](
             grpc::ServerContext&, const v1::CheckRequest& request, v1::CheckResponse& response) {
    v1::Decision& decision = *response.mutable_decision();
    // Relaxed: the program asks one thing at a time.
    if (asked->fetch_add(1, std::memory_order_relaxed) > 0) {
      decision.set_verdict(v1::VERDICT_ALLOWED);
      return grpc::Status::OK;
    }
    absl::Notification().WaitForNotificationWithTimeout(0.6 * FromProto(request.max_wait()));
    decision.set_verdict(v1::VERDICT_DENIED);
    decision.set_message("4 wait before it.");
    decision.mutable_retry_after()->set_seconds(3600);
    *decision.mutable_waited() = request.max_wait();
    return grpc::Status::OK;
  };
}

TEST(CheckInLine, WaitStandsInTheServersLine) {
  Scripted server;
  server.OnCheck(AdmitsTheSecond());
  EXPECT_EQ(server.Headgate({"check", "job:etl", "--wait", "forever", "--timeout", "4s"}).status,
            0);
  const std::vector<v1::CheckRequest> checks = server.checks();
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_EQ(checks[0].max_wait().seconds(), 2);  // half of --timeout
  EXPECT_EQ(checks[1].max_wait().seconds(), 30);
  EXPECT_EQ(checks[1].request_id(), checks[0].request_id());
}

TEST(RunInLine, WaitsInTheServersLineAndSaysWhy) {
  Scripted server;
  server.OnCheck(AdmitsTheSecond());
  const Finished run =
      server.Headgate({"run", "--identity", "job:etl", "--timeout", "4s", "--", "true"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "headgate: waiting: 4 wait before it.\n");
  ASSERT_THAT(server.checks(), SizeIs(2));
  EXPECT_EQ(server.checks()[1].max_wait().seconds(), 30);
}

TEST(ExplainOfLines, ShowsWhoWaitsAlreadyAndTheOwnPlace) {
  LineServer server;
  server.explanation.mutable_decision()->set_verdict(v1::VERDICT_DENIED);
  v1::LineState line;
  line.set_waits_for("room in budget rows, bucket etl");
  line.set_waiting(4);
  line.mutable_longest_waited()->set_seconds(21);
  line.set_position(3);
  line.mutable_expected_turn()->set_seconds(6);
  line.set_cost_ahead(250);
  line.set_priority(10);
  line.set_unit(v1::BUDGET_UNIT_COST);
  *server.explanation.add_lines() = line;
  v1::BucketState& bucket = *server.explanation.add_buckets();
  bucket.set_budget("rows");
  bucket.set_bucket("etl");
  *bucket.mutable_line() = line;
  v1::LineState& gate = *server.explanation.add_lines();
  gate.set_waits_for("the gate of health profile strict");
  gate.set_waiting(1);
  gate.set_position(1);
  const Finished explain = server.Headgate({"explain", "job:etl"});
  EXPECT_EQ(explain.status, 1);
  EXPECT_THAT(
      explain.out,
      AllOf(HasSubstr("OTHERS WAIT FOR                    WAITING  LONGEST  YOUR PLACE  PRIORITY  "
                      "COST AHEAD  YOUR TURN IN\n"),
            HasSubstr("room in budget rows, bucket etl          4      21s           3        10  "
                      "       250            6s\n"),
            HasSubstr("the gate of health profile strict        1        0           1         0  "
                      "                 unknown\n")));
  EXPECT_THAT(server.Headgate({"explain", "job:etl", "-o", "csv"}).out,
              AllOf(HasSubstr(",waiting,longest_waited_s,position,expected_turn_s,cost_ahead\r\n"),
                    HasSubstr(",4,21,3,6,250\r\n")));
  auto fields = ParseJson(server.Headgate({"explain", "job:etl", "-o", "json"}).out);
  EXPECT_EQ(At(fields["lines"].list_value().values(0), "position").string_value(), "3");
}

TEST(ExplainOfLines, SaysNothingOfLinesWhereNobodyWaits) {
  LineServer server;
  server.explanation.mutable_decision()->set_verdict(v1::VERDICT_ALLOWED);
  EXPECT_THAT(server.Headgate({"explain", "job:etl"}).out, Not(HasSubstr("OTHERS WAIT FOR")));
}

TEST(StatusOfLines, ShowsWhoWaitsAndWhoIsNext) {
  LineServer server;
  *server.status.mutable_waiting() = ThreeOfTen();
  const Finished status = server.Headgate({"status"});
  EXPECT_EQ(status.status, 0);
  EXPECT_THAT(status.out,
              AllOf(HasSubstr("waiting 3 of 10; lines 2; longest 12s\n"
                              "waited since the start: admitted 40, time was up 2, went away 1\n"
                              "not let into a line: 7 Checks, because too many waited\n"),
                    HasSubstr("budget rows, bucket etl")));
}

TEST(StatusOfLines, SaysNothingOfLinesWhereNobodyEverWaited) {
  LineServer server;
  server.status.mutable_waiting()->set_max_waiting(10);
  EXPECT_THAT(server.Headgate({"status"}).out,
              AllOf(Not(HasSubstr("waiting")), Not(HasSubstr("WAIT FOR"))));
}

TEST(StatusOfLines, CsvHasARowForEachLineAndForWhoIsNext) {
  LineServer server;
  *server.status.mutable_waiting() = ThreeOfTen();
  EXPECT_THAT(
      server.Headgate({"status", "-o", "csv"}).out,
      AllOf(HasSubstr("\r\nwaiting,,,,3,,,12,\r\n"), HasSubstr("\r\nwaiting_most,,,,10,,,,\r\n"),
            HasSubstr("\r\nwaiting_turned_away,,,,7,,,,\r\n"),
            HasSubstr("\r\nline,main,\"budget rows, bucket etl\",,2,,,12,\r\n"),
            HasSubstr("\r\nwaiter,main,job-8:etl,place 2,200,,,12,\"budget rows, bucket etl\"\r\n"),
            HasSubstr("\r\nline,main,the gate of health profile strict,,1,,,4,\r\n")));
}

class TopOfLines : public ::testing::Test {
 protected:
  TopOfLines() {
    for (const v1::LineStatus& line : TwoLines()) *server_.lines.add_lines() = line;
    server_.lines.set_lines_in_all(5);
    server_.lines.set_waiting(9);
  }

  LineServer server_;
};

TEST_F(TopOfLines, ShowsWhoIsNextInEachLine) {
  const Finished top = server_.Headgate({"top"});
  EXPECT_EQ(top.status, 0);
  EXPECT_THAT(
      top.out,
      AllOf(HasSubstr("WAIT FOR                           TARGET  WAITING  LONGEST  PLACE  WHO IS "
                      "NEXT                     PRIORITY  COST  WAITED  TURN IN  GIVES UP IN\n"),
            HasSubstr("budget rows, bucket etl            main          2      12s      1  "
                      "job-7:etl                             10   100     12s    500ms"
                      "          48s\n"),
            HasSubstr("2  job-8:etl (etl-service\\x1b[2J)         0   200     12s       3s"
                      "          48s\n"),
            HasSubstr("the gate of health profile strict  main          1       4s      1  "
                      "backfill                               0           12s  unknown"
                      "          48s\n"),
            HasSubstr("and 3 more lines\n")));
}

TEST_F(TopOfLines, SpeaksJsonAndCsv) {
  auto fields = ParseJson(server_.Headgate({"top", "-o", "json"}).out);
  EXPECT_EQ(At(fields["lines"], "waiting").string_value(), "9");
  EXPECT_THAT(
      server_.Headgate({"top", "-o", "csv"}).out,
      AllOf(HasSubstr(",waits_for,waiting,longest_waited_s,expected_turn_s,identity,cost,waited_s,"
                      "position,max_wait_left_s,priority,leases,leased,ends_in_s,overdue\r\n"),
            HasSubstr("\r\nline,main,rows,etl,,,,,,,,,COST,,\"budget rows, bucket etl\",2,12,0.5,,"
                      "300,,,,,,,,\r\n"),
            HasSubstr("\r\nwaiter,main,rows,etl,,,,,,,,,COST,,\"budget rows, bucket etl\",,,3,"
                      "job-8:etl,200,12,2,48,0,,,,\r\n"),
            HasSubstr("\r\nwaiter,main,,,,,,,,,,,,,the gate of health profile strict,,,,backfill,5,"
                      "12,1,48,0,,,,\r\n")));
}

TEST_F(TopOfLines, AsksForThoseOfTheTargetAlone) {
  EXPECT_EQ(server_.Headgate({"top", "--target", "main"}).status, 0);
  EXPECT_EQ(server_.asked_for_lines.target(), "main");
}

}  // namespace
}  // namespace headgate::cli
