// What people see of lines: in status, by ListLines, and for one Check, by Explain.

#include <deque>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using engine::RuleOn;

// Checks that wait in a server, each in a call of its own. Destroyed before the server is, when
// all of them have been answered.
class WaitingChecks {
 public:
  explicit WaitingChecks(InProcessServer& server) : server_(server) {}
  ~WaitingChecks() {
    while (!threads_.empty()) AnswerAll();
  }

  // Returns when it waits.
  void Add(const std::string& identity, double cost, absl::Duration max_wait) {
    const uint64_t before = Stats().entered;
    v1::CheckRequest request = CheckOf(identity, cost);
    request.mutable_max_wait()->set_seconds(absl::ToInt64Seconds(max_wait));
    v1::Decision& decision = decisions_.emplace_back();
    threads_.emplace_back(
        [this, request, &decision] { EXPECT_TRUE(server_.TryCheck(request, decision).ok()); });
    ASSERT_TRUE(WaitUntil([&] { return Stats().entered == before + 1; }));
  }

  // Lets an hour go by, after which nobody waits any more.
  void AnswerAll() {
    server_.Advance(absl::Hours(1));
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  line::LineStats Stats() const { return server_.lines.ReadStats(server_.clock.Read()); }

 private:
  InProcessServer& server_;
  std::deque<v1::Decision> decisions_;
  std::deque<std::thread> threads_;
};

v1::ListLinesResponse LinesIn(InProcessServer& server, const v1::ListLinesRequest& request = {}) {
  return AnswerOf(server.channel, &v1::StatusService::Stub::ListLines, request);
}

grpc::StatusCode CodeOfLines(InProcessServer& server, const v1::ListLinesRequest& request) {
  return CallRpc(server.channel, &v1::StatusService::Stub::ListLines, request).error_code();
}

v1::WaitingStatus WaitingIn(InProcessServer& server) {
  return AnswerOf(server.channel, &v1::StatusService::Stub::GetStatus).waiting();
}

v1::ExplainResponse ExplainedIn(InProcessServer& server, const v1::CheckRequest& check) {
  v1::ExplainRequest request;
  *request.mutable_check() = check;
  return AnswerOf(server.channel, &v1::ThrottlerService::Stub::Explain, request);
}

// A budget for etl, and one for web.
engine::PolicySpec TwoLines() {
  engine::PolicySpec spec;
  spec.targets.resize(1);
  spec.targets[0].name = "main";
  spec.budgets = {RateBudget("rows", 10, 100), RateBudget("pages", 1, 100)};
  spec.rules = {engine::ChargeRule("of-etl", "etl", {"rows"}),
                engine::ChargeRule("of-web", "web", {"pages"})};
  return spec;
}

TEST(WaitingStatus, OfAServerInWhichNobodyWaitsSaysHowManyMay) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  const v1::WaitingStatus waiting = WaitingIn(server);
  EXPECT_EQ(waiting.waiting(), 0);
  EXPECT_EQ(waiting.max_waiting(), 65536);
  EXPECT_EQ(waiting.max_share(), 0.5);
  EXPECT_EQ(waiting.lines(), 0);
  EXPECT_FALSE(waiting.has_longest_waited());
  EXPECT_EQ(waiting.longest_size(), 0);
}

TEST(WaitingStatus, IsAbsentWhereNobodyMayWait) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)), {.lines = {.max_waiting = 0}});
  EXPECT_FALSE(AnswerOf(server.channel, &v1::StatusService::Stub::GetStatus).has_waiting());
}

TEST(WaitingStatus, CountsWhoWaitsAndHowItEnded) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)),
                         {.lines = {.max_waiting = 2, .max_waiting_share = 1}});
  server.Allowed("job:etl", 100);
  {
    WaitingChecks waiters(server);
    waiters.Add("job:etl", 50, absl::Seconds(10));
    waiters.Add("web:etl", 100, absl::Seconds(12));
    server.Advance(absl::Seconds(2));
    v1::WaitingStatus waiting = WaitingIn(server);
    EXPECT_EQ(waiting.waiting(), 2);
    EXPECT_EQ(waiting.lines(), 1);
    EXPECT_EQ(waiting.longest_waited().seconds(), 2);
    ASSERT_EQ(waiting.longest_size(), 1);
    EXPECT_EQ(waiting.longest(0).next_size(), 2);
    v1::CheckRequest third = CheckOf("third:etl", 50);
    third.mutable_max_wait()->set_seconds(10);
    EXPECT_EQ(server.Check(third).reason(), v1::REASON_LINE_FULL);
    server.Advance(absl::Seconds(3));
    ASSERT_TRUE(WaitUntil([&] { return WaitingIn(server).admitted() == 1; }));
    server.Advance(absl::Seconds(7));
    ASSERT_TRUE(WaitUntil([&] { return WaitingIn(server).timed_out() == 1; }));
    waiting = WaitingIn(server);
    EXPECT_EQ(waiting.waiting(), 0);
    EXPECT_EQ(waiting.turned_away(), 1);
  }
}

TEST(WaitingStatus, CountsACallerThatWentAway) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  server.Allowed("job:etl", 100);
  v1::CheckRequest request = CheckOf("job:etl", 50);
  request.mutable_max_wait()->set_seconds(600);
  Context context;
  v1::CheckResponse response;
  std::thread caller([&] {
    EXPECT_EQ(server.throttler->Check(&context, request, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(WaitUntil([&] { return WaitingIn(server).waiting() == 1; }));
  context.TryCancel();
  caller.join();
  EXPECT_TRUE(WaitUntil([&] { return WaitingIn(server).left() == 1; }));
  EXPECT_EQ(WaitingIn(server).waiting(), 0);
}

TEST(ListLines, ShowsWhoIsNextWhereTheyWaitAndWhenTheirTurnIsExpected) {
  InProcessServer server(TwoLines());
  server.Allowed("job:etl", 100);
  server.Allowed("job:web", 100);
  WaitingChecks waiters(server);
  waiters.Add("job:web", 30, absl::Seconds(40));
  server.Advance(absl::Seconds(1));
  waiters.Add("a:etl", 40, absl::Seconds(40));
  waiters.Add("b:etl", 20, absl::Seconds(30));
  const v1::ListLinesResponse lines = LinesIn(server);
  EXPECT_EQ(lines.lines_in_all(), 2);
  EXPECT_EQ(lines.waiting(), 3);
  ASSERT_EQ(lines.lines_size(), 2);
  EXPECT_EQ(lines.lines(0).budget(), "pages");
  EXPECT_EQ(lines.lines(0).longest_waited().seconds(), 1);
  const v1::LineStatus& line = lines.lines(1);
  EXPECT_EQ(line.target(), "main");
  EXPECT_EQ(line.budget(), "rows");
  EXPECT_EQ(line.waiting(), 2);
  EXPECT_NEAR(line.cost(), 60, 0.001);
  EXPECT_EQ(line.unit(), v1::BUDGET_UNIT_COST);
  ASSERT_EQ(line.next_size(), 2);
  EXPECT_EQ(line.next(0).identity(), "a:etl");
  EXPECT_EQ(line.next(0).position(), 1);
  EXPECT_NEAR(line.next(0).cost(), 40, 0.001);
  EXPECT_EQ(line.next(0).expected_turn().seconds(), 3);
  EXPECT_EQ(line.expected_turn().seconds(), 3);
  EXPECT_EQ(line.next(1).identity(), "b:etl");
  EXPECT_EQ(line.next(1).max_wait_left().seconds(), 30);
  EXPECT_EQ(line.next(1).expected_turn().seconds(), 5);
}

TEST(ListLines, ShowsOneBudgetsAloneAndAsManyAsAreAskedFor) {
  InProcessServer server(TwoLines());
  server.Allowed("job:etl", 100);
  server.Allowed("job:web", 100);
  WaitingChecks waiters(server);
  waiters.Add("job:web", 30, absl::Seconds(40));
  for (int i = 0; i < 3; ++i) waiters.Add(absl::StrCat(i, ":etl"), 40, absl::Seconds(40));
  v1::ListLinesRequest request;
  request.set_budget("rows");
  request.set_waiters(2);
  v1::ListLinesResponse lines = LinesIn(server, request);
  EXPECT_EQ(lines.lines_in_all(), 1);
  EXPECT_EQ(lines.waiting(), 3);
  ASSERT_EQ(lines.lines_size(), 1);
  EXPECT_EQ(lines.lines(0).next_size(), 2);
  request.Clear();
  request.set_target("main");
  request.set_page_size(1);
  lines = LinesIn(server, request);
  EXPECT_EQ(lines.lines_size(), 1);
  EXPECT_EQ(lines.lines_in_all(), 2);
}

TEST(ListLines, AtAPauseNamesItsRule) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.rules.push_back(RuleOn("pause-etl", "etl", engine::DenyAction{}));
  spec.rules.back().expires_at = FakeClock().Read().wall() + absl::Seconds(60);
  InProcessServer server(std::move(spec));
  WaitingChecks waiters(server);
  waiters.Add("job:etl", 30, absl::Seconds(40));
  const v1::ListLinesResponse lines = LinesIn(server);
  ASSERT_EQ(lines.lines_size(), 1);
  EXPECT_EQ(lines.lines(0).rule(), "pause-etl");
  EXPECT_EQ(lines.lines(0).cost(), 0);
  EXPECT_EQ(lines.lines(0).unit(), v1::BUDGET_UNIT_UNSPECIFIED);
  const v1::ExplainResponse explained = ExplainedIn(server, CheckOf("other:etl", 5));
  ASSERT_EQ(explained.lines_size(), 1);
  EXPECT_EQ(explained.lines(0).waits_for(), "the end of rule pause-etl");
  EXPECT_EQ(explained.lines(0).waiting(), 1);
}

TEST(ListLines, RefusesWhatIsOutOfRangeAndWhatNobodyHasConfigured) {
  InProcessServer server(TwoLines());
  v1::ListLinesRequest request;
  request.set_page_size(1001);
  EXPECT_EQ(CodeOfLines(server, request), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_page_size(1000);
  EXPECT_EQ(CodeOfLines(server, request), grpc::StatusCode::OK);
  request.set_waiters(101);
  EXPECT_EQ(CodeOfLines(server, request), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_waiters(-1);
  EXPECT_EQ(CodeOfLines(server, request), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_waiters(100);
  EXPECT_EQ(CodeOfLines(server, request), grpc::StatusCode::OK);
  request.set_target("elsewhere");
  EXPECT_EQ(CodeOfLines(server, request), grpc::StatusCode::NOT_FOUND);
  request.set_target("main");
  request.set_budget("none");
  EXPECT_EQ(CodeOfLines(server, request), grpc::StatusCode::NOT_FOUND);
}

TEST(Explain, SaysWhereACheckWouldStandAndMovesNobody) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  server.Allowed("job:etl", 100);
  WaitingChecks waiters(server);
  waiters.Add("a:etl", 40, absl::Seconds(40));
  waiters.Add("b:etl", 20, absl::Seconds(40));
  for (int i = 0; i < 3; ++i) {
    const v1::ExplainResponse explained = ExplainedIn(server, CheckOf("c:etl", 50));
    ASSERT_EQ(explained.lines_size(), 1);
    const v1::LineState& line = explained.lines(0);
    EXPECT_EQ(line.waits_for(), "room in budget b");
    EXPECT_EQ(line.waiting(), 2);
    EXPECT_EQ(line.position(), 3);
    EXPECT_NEAR(line.cost_ahead(), 60, 0.001);
    EXPECT_EQ(line.expected_turn().seconds(), 11);
    EXPECT_EQ(line.unit(), v1::BUDGET_UNIT_COST);
    ASSERT_EQ(explained.buckets_size(), 1);
    EXPECT_EQ(explained.buckets(0).line().position(), 3);
  }
  EXPECT_EQ(LinesIn(server).waiting(), 2);
}

double RetryAfter(const v1::Decision& decision) {
  return static_cast<double>(decision.retry_after().seconds()) +
         static_cast<double>(decision.retry_after().nanos()) / 1e9;
}

// What a Check would be told that is not made: that of its turn, and not of the next room.
class TurnTold : public testing::Test {
 protected:
  TurnTold() {
    server_.Allowed("job:etl", 100);
    for (int i = 0; i < 6; ++i) {
      waiters_.Add(absl::StrCat("w", i, ":etl"), 20, absl::Seconds(60));
    }
  }

  v1::Decision Told(const std::string& identity, double cost) {
    return ExplainedIn(server_, CheckOf(identity, cost)).decision();
  }
  v1::Decision DryRun(const std::string& identity, double cost) {
    v1::CheckRequest request = CheckOf(identity, cost);
    request.set_validate_only(true);
    return server_.Check(request);
  }

  InProcessServer server_{OneBudget(RateBudget("b", 10, 100))};
  WaitingChecks waiters_{server_};
};

TEST_F(TurnTold, IsWhatTheCheckIsThenTold) {
  const v1::Decision told = Told("new:etl", 20), dry = DryRun("new:etl", 20);
  const v1::Decision asked = server_.Check(CheckOf("new:etl", 20));
  EXPECT_EQ(asked.reason(), v1::REASON_LINE);
  EXPECT_NEAR(RetryAfter(asked), 14, 0.01);  // 120 before it, and its own 20
  for (const v1::Decision& decision : {told, dry}) {
    EXPECT_EQ(decision.verdict(), v1::VERDICT_DENIED);
    EXPECT_EQ(decision.reason(), v1::REASON_LINE);
    EXPECT_NEAR(RetryAfter(decision), RetryAfter(asked), 0.001);
  }
}

TEST_F(TurnTold, OfOneThatHasAPlaceIsThatOfItsPlace) {
  const double asked = RetryAfter(server_.Check(CheckOf("new:etl", 20)));
  waiters_.Add("later:etl", 20, absl::Seconds(60));
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(RetryAfter(Told("new:etl", 20)), asked, 0.001);
    EXPECT_NEAR(RetryAfter(DryRun("new:etl", 20)), asked, 0.001);
    const v1::LineState line = ExplainedIn(server_, CheckOf("new:etl", 20)).lines(0);
    EXPECT_EQ(line.position(), 7);
    EXPECT_NEAR(line.cost_ahead(), 120, 0.001);
    EXPECT_NEAR(static_cast<double>(line.expected_turn().seconds()), asked, 1);
  }
  EXPECT_NEAR(RetryAfter(server_.Check(CheckOf("new:etl", 20))), asked, 0.001);
}

TEST_F(TurnTold, ByExplainMovesNobodyAndKeepsNoPlace) {
  const v1::Decision first = Told("a:etl", 20);
  for (int i = 0; i < 50; ++i) {
    EXPECT_NEAR(RetryAfter(Told(absl::StrCat("x", i, ":etl"), 20)), RetryAfter(first), 0.001);
    EXPECT_NEAR(RetryAfter(DryRun(absl::StrCat("y", i, ":etl"), 20)), RetryAfter(first), 0.001);
  }
  EXPECT_EQ(waiters_.Stats().places, 0U);
  EXPECT_NEAR(RetryAfter(server_.Check(CheckOf("b:etl", 20))), RetryAfter(first), 0.001);
}

TEST_F(TurnTold, OfAnotherCostIsThatOfThisCost) {
  (void)server_.Check(CheckOf("new:etl", 20));
  EXPECT_NEAR(RetryAfter(Told("new:etl", 60)), 18, 0.01);
  EXPECT_NEAR(RetryAfter(server_.Check(CheckOf("new:etl", 20))), 14, 0.01);
}

// Its turn has come, and room is held for it: it would be let through.
TEST_F(TurnTold, OfOneWhoseTurnHasComeIsNow) {
  (void)server_.Check(CheckOf("new:etl", 20));
  for (uint64_t i = 1; i <= 6; ++i) {
    server_.Advance(absl::Milliseconds(2'001));
    ASSERT_TRUE(WaitUntil([&] { return waiters_.Stats().admitted() == i; }));
  }
  server_.Advance(absl::Milliseconds(2'001));
  EXPECT_EQ(Told("new:etl", 20).verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(DryRun("new:etl", 20).verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(server_.Check(CheckOf("new:etl", 20)).verdict(), v1::VERDICT_ALLOWED);
}

TEST(Explain, WithNobodyInLineTellsOfNone) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  server.Allowed("job:etl", 100);
  const v1::ExplainResponse explained = ExplainedIn(server, CheckOf("c:etl", 50));
  EXPECT_EQ(explained.lines_size(), 0);
  EXPECT_FALSE(explained.buckets(0).has_line());
}

}  // namespace
}  // namespace headgate::rpc
