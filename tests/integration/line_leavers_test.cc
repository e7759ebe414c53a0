// A thousand callers go away while they wait in line, in every way that there is: they are killed,
// they cancel, their deadlines pass, or the time that they would wait is up. Nothing is left of
// them: no debt, no permit, nobody who waits.
//
// Whether an answer shortly before a deadline still comes before it is for the machine to say. So
// either end of such a call will do; how it ended for the server is counted there.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/subprocess.h"
#include "tests/testing/wait_until.h"
#include "tests/testing/waiting_checks.h"

namespace headgate {
namespace {

// Work of etl waits for room, that of seats for a permit, that of pace and brisk for turns that
// come all the time; all of it is charged to what never drains.
constexpr char kPolicy[] = R"(
server: {line: {max_waiting_share: 1}}
budgets:
  - {name: room, rate: 0.001, burst: 1000}
  - {name: seats, max_concurrency: 1}
  - {name: pace, rate: 200, burst: 5}
  - {name: brisk, rate: 200, burst: 5}
  - {name: sum, rate: 0.001, burst: 1000000}
  - {name: sum of brisk, rate: 0.001, burst: 1000000}
rules:
  - {name: etl, match: {identity: etl}, charge: [room, sum]}
  - {name: seats, match: {identity: seats}, charge: [seats, sum]}
  - {name: pace, match: {identity: pace}, charge: [pace, sum]}
  - {name: brisk, match: {identity: brisk}, charge: [brisk, sum, sum of brisk]}
)";
constexpr double kDrained = 1;  // more than all budgets that hardly drain drain in a test
constexpr absl::Duration kLong = absl::Minutes(2);  // that nothing takes

class LineLeavers : public testing::Test {
 protected:
  v1::Decision Take(const std::string& identity, double cost) const {
    v1::Decision decision = server_.Check(identity, cost);
    EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED) << decision.DebugString();
    return decision;
  }
  // That it cost nothing.
  void GiveBack(const v1::Decision& decision) const {
    v1::ReportRequest request;
    request.add_reports()->set_permit_id(decision.permit_id());
    request.mutable_reports(0)->set_actual_cost(0);
    const v1::ReportResponse response =
        AnswerOf(server_.channel(), &v1::ThrottlerService::Stub::Report, request);
    EXPECT_EQ(response.results(0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  }
  double Owed(const std::string& budget) const {
    const v1::ListBudgetsResponse response =
        AnswerOf(server_.channel(), &v1::StatusService::Stub::ListBudgets);
    for (const v1::BudgetStatus& one : response.budgets()) {
      if (one.budget() == budget) return one.debt();
    }
    ADD_FAILURE() << "no budget " << budget;
    return 0;
  }
  std::unique_ptr<Subprocess> Waiters(int checks, const std::string& identity) const {
    return std::make_unique<Subprocess>(std::vector<std::string>{
        HEADGATE_WAITERS, server_.address(), absl::StrCat(checks), identity});
  }
  bool AwaitWaiting(int64_t checks) const {
    return server_.AwaitStatus(
        [&](const auto& status) { return status.waiting().waiting() == checks; });
  }
  // Nobody is there yet, or any more: 0.
  int64_t WaitingFor(const std::string& budget) const {
    const v1::ListLinesResponse response =
        AnswerOf(server_.channel(), &v1::StatusService::Stub::ListLines);
    int64_t waiting = 0;
    for (const v1::LineStatus& line : response.lines()) {
      if (line.budget() == budget) waiting += line.waiting();
    }
    return waiting;
  }
  // That have waited or do, however soon it was over.
  bool AwaitEntered(int64_t checks) const {
    return server_.AwaitStatus([&](const auto& status) {
      const v1::WaitingStatus& its = status.waiting();
      return its.waiting() + its.admitted() + its.timed_out() + its.left() == checks;
    });
  }

  RunningHeadgated server_{{.yaml = kPolicy}};
};

TEST_F(LineLeavers, OweNothingAndHoldNothingHoweverTheyWent) {
  const v1::Decision room = Take("first:etl", 1000);
  const v1::Decision seat = Take("first:seats", 1);
  std::vector<std::unique_ptr<Subprocess>> killed;
  for (int i = 0; i < 3; ++i) {
    killed.push_back(Waiters(100, absl::StrCat("team-", i, ":etl")));
    killed.push_back(Waiters(50, absl::StrCat("team-", i, ":seats")));
  }
  WaitingChecks cancelled(server_.address(), {.checks = 250, .identity = "cancel:etl"});
  WaitingChecks cancelled_seats(server_.address(), {.checks = 50, .identity = "cancel:seats"});
  cancelled.Send();
  cancelled_seats.Send();
  ASSERT_TRUE(AwaitWaiting(750));
  WaitingChecks late(server_.address(),
                     {.checks = 125, .identity = "late:etl", .max_wait = absl::Seconds(6)});
  WaitingChecks cut(server_.address(),
                    {.checks = 125, .identity = "cut:seats", .patience = absl::Seconds(8)});
  late.Send();
  cut.Send();
  ASSERT_TRUE(AwaitEntered(1000));

  for (const auto& process : killed) process->Kill();
  cancelled.Cancel();
  cancelled_seats.Cancel();
  EXPECT_EQ(late.Await(kLong).denied, 125);
  const WaitingOutcomes at_deadline = cut.Await(kLong);
  EXPECT_EQ(at_deadline.denied + at_deadline.out_of_time, 125) << at_deadline.last_error;
  EXPECT_EQ(cancelled.Await(kLong).cancelled, 250);
  EXPECT_EQ(cancelled_seats.Await(kLong).cancelled, 50);
  ASSERT_TRUE(AwaitWaiting(0));

  GiveBack(room);
  GiveBack(seat);
  EXPECT_LT(Owed("room"), 1e-3);
  EXPECT_LT(Owed("sum"), 1e-3);
  const v1::GetStatusResponse status = server_.Status();
  EXPECT_EQ(status.permits_outstanding(), 0);
  EXPECT_EQ(status.waiting().waiting(), 0);
  EXPECT_EQ(status.waiting().lines(), 0);
  // Each ended once: it was told that its time is up, or had gone.
  EXPECT_EQ(status.waiting().admitted(), 0);
  EXPECT_EQ(status.waiting().timed_out() + status.waiting().left(), 1000);
  EXPECT_GE(status.waiting().timed_out(), 125 + at_deadline.denied);
  // And what they waited for is there for others, at once.
  GiveBack(Take("next:etl", 1000));
  GiveBack(Take("next:seats", 1));
}

// While turns come, those go whose turn it is: what is admitted and not heard of is undone.
TEST_F(LineLeavers, AreNotChargedForTurnsThatTheyDidNotHearOf) {
  std::vector<std::unique_ptr<Subprocess>> killed;
  for (int i = 0; i < 5; ++i) killed.push_back(Waiters(100, absl::StrCat("team-", i, ":brisk")));
  WaitingChecks cancelled(server_.address(), {.checks = 250, .identity = "cancel:pace"});
  WaitingChecks staying(server_.address(), {.checks = 250, .identity = "stay:pace"});
  cancelled.Send();
  staying.Send();
  // All have come, and some had their turn, which nobody reports.
  ASSERT_TRUE(server_.AwaitStatus([](const auto& status) {
    return status.waiting().waiting() + status.permits_outstanding() >= 1000 &&
           status.permits_outstanding() >= 100;
  }));
  for (const auto& process : killed) process->Kill();
  cancelled.Cancel();
  const int heard = cancelled.Await(kLong).allowed;
  ASSERT_TRUE(WaitUntil([&] { return WaitingFor("brisk") == 0; }));
  // From now on the killed are charged nothing.
  const double owed_by_killed = Owed("sum of brisk");
  const WaitingOutcomes stayed = staying.Await(kLong);
  EXPECT_EQ(stayed.allowed, 250) << stayed.last_error;
  ASSERT_TRUE(AwaitWaiting(0));
  EXPECT_LE(Owed("sum of brisk"), owed_by_killed);
  // What could not be delivered is undone, in a moment. Nobody has reported, so that each turn
  // which somebody heard of, or which was on its way to one who left, is owed with its permit.
  double owed = 0;
  double permits = 0;
  EXPECT_TRUE(WaitUntil([&] {
    owed = Owed("sum");
    permits = static_cast<double>(server_.Status().permits_outstanding());
    return std::abs(owed - permits) <= kDrained;
  })) << owed
      << " owed, " << permits << " permits";
  std::printf("%.0f owed, %.0f permits; %d and 250 heard of their turns; %.0f owed by the killed\n",
              owed, permits, heard, owed_by_killed);
  EXPECT_GE(owed + kDrained, heard + 250);
}

}  // namespace
}  // namespace headgate
