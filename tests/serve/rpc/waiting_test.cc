// Checks that wait in the server: when they are answered, and what they are told.

#include <string>

#include "gmock/gmock.h"
#include "server/serve/rpc/throttler.h"
#include "tests/serve/rpc/waiting_fixture.h"
#include "tests/testing/override_requests.h"
#include "tests/testing/quiet_dependencies.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::HasSubstr;

// 10 a second, and nothing of the 100 is left.
class WaitingCheckTest : public ::testing::Test {
 protected:
  explicit WaitingCheckTest(const InProcessOptions& options = {})
      : server_(OneBudget(RateBudget("b", 10, 100)), options) {
    filling_ = server_.Allowed("job:etl", 100).permit_id();
  }

  uint64_t filling_ = 0;
  InProcessServer server_;
};

TEST_F(WaitingCheckTest, IsAdmittedWhenThereIsRoomAndSaysHowLongItWaited) {
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 50));
  ASSERT_TRUE(Waiting(server_, 1));
  EXPECT_EQ(server_.Debt("job:etl"), 100);
  EXPECT_EQ(server_.permits(), 1);
  server_.Advance(absl::Seconds(5));
  const v1::Decision decision = caller.Decision();
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(decision.reason(), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(decision.waited().seconds(), 5);
  EXPECT_EQ(decision.waited().nanos(), 0);
  EXPECT_EQ(server_.Debt("job:etl"), 100);
  EXPECT_EQ(server_.Report(decision.permit_id(), 20).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_EQ(server_.Debt("job:etl"), 70);
}

TEST_F(WaitingCheckTest, IsAdmittedWhenAReportGivesRoomBack) {
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 50));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Report(filling_, 10);
  // What the Report taught may count for it, too.
  const v1::Decision decision = caller.Decision();
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(server_.Debt("job:etl"), 10 + decision.predicted_cost());
}

TEST_F(WaitingCheckTest, IsDeniedAtTheEndOfMaxWaitByWhatRefusesItThen) {
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 50, absl::Seconds(2)));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(2));
  const v1::Decision decision = caller.Decision();
  EXPECT_EQ(decision.verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(decision.reason(), v1::REASON_CAPACITY);
  EXPECT_EQ(decision.waited().seconds(), 2);
  EXPECT_EQ(decision.retry_after().seconds(), 3);
  EXPECT_FALSE(decision.has_permit_id());
  EXPECT_TRUE(Waiting(server_, 0));
  EXPECT_EQ(server_.Debt("job:etl"), 80);
}

TEST_F(WaitingCheckTest, IsDeniedBeforeTheCallsOwnDeadline) {
  server_.Report(filling_, 1000);
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 50), absl::Seconds(20));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Milliseconds(19'950));
  const v1::Decision decision = caller.Decision();
  EXPECT_EQ(decision.verdict(), v1::VERDICT_DENIED);
  // By so much less than 20 s as the call was on its way.
  EXPECT_GT(decision.waited().seconds(), 0);
  EXPECT_LT(decision.waited().seconds(), 20);
  EXPECT_TRUE(Waiting(server_, 0));
}

TEST_F(WaitingCheckTest, IsAnsweredAtOnceWhereThereIsRoomOrTimeDoesNotHelp) {
  const v1::Decision large = server_.Check(WaitingCheck("job:etl", 101));
  EXPECT_EQ(large.verdict(), v1::VERDICT_DENIED);
  EXPECT_FALSE(large.has_waited());
  EXPECT_FALSE(large.has_retry_after());
  server_.Advance(absl::Seconds(1));
  const v1::Decision small = server_.Check(WaitingCheck("job:etl", 10));
  EXPECT_EQ(small.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_FALSE(small.has_waited());
  EXPECT_EQ(server_.line_stats().entered, 0);
}

TEST(WaitingCheckOfADenyRule, IsAnsweredAtOnce) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.rules.push_back(engine::RuleOn("keep-out", "bad:etl", engine::DenyAction{}));
  InProcessServer server(std::move(spec));
  const v1::Decision decision = server.Check(WaitingCheck("bad:etl", 1));
  EXPECT_EQ(decision.reason(), v1::REASON_DENY_RULE);
  EXPECT_FALSE(decision.has_waited());
}

TEST_F(WaitingCheckTest, ZeroIsNoWaitAndIsToldWhenItsTurnIs) {
  const v1::Decision decision = server_.Check(WaitingCheck("job:etl", 50, absl::ZeroDuration()));
  EXPECT_EQ(decision.verdict(), v1::VERDICT_DENIED);
  EXPECT_FALSE(decision.has_waited());
  EXPECT_EQ(decision.retry_after().seconds(), 5);
}

TEST_F(WaitingCheckTest, ASpanThatIsNoneOrTooLongIsNamed) {
  struct Wrong {
    int64_t seconds;
    int32_t nanos;
    bool validate_only = false;
  };
  for (const Wrong& wrong :
       {Wrong{-1, 0}, Wrong{0, -1}, Wrong{1, -1}, Wrong{-1, 1}, Wrong{0, 1'000'000'000},
        Wrong{3600, 1}, Wrong{INT64_MAX, 0}, Wrong{INT64_MIN, 0}, Wrong{1, 0, true}}) {
    SCOPED_TRACE(absl::StrCat(wrong.seconds, " s ", wrong.nanos, " ns"));
    v1::CheckRequest request = CheckOf("job:etl", 50);
    request.mutable_max_wait()->set_seconds(wrong.seconds);
    request.mutable_max_wait()->set_nanos(wrong.nanos);
    request.set_validate_only(wrong.validate_only);
    v1::Decision decision;
    EXPECT_EQ(FieldAtFault(server_.TryCheck(request, decision)), "max_wait");

    v1::BatchCheckRequest batch;
    *batch.add_checks() = CheckOf("job:etl", 0);
    *batch.add_checks() = request;
    *batch.add_checks() = CheckOf("job:etl", 50);
    const v1::BatchCheckResponse response = server_.Batch(batch);
    ASSERT_EQ(response.results_size(), 3);
    EXPECT_EQ(response.results(0).decision().verdict(), v1::VERDICT_ALLOWED);
    EXPECT_EQ(response.results(1).error().code(), 3);
    EXPECT_EQ(response.results(1).error().field(), "checks[1].max_wait");
    EXPECT_EQ(response.results(2).decision().verdict(), v1::VERDICT_DENIED);
  }
  EXPECT_EQ(server_.line_stats().entered, 0);
}

TEST_F(WaitingCheckTest, AnHourIsNotTooLong) {
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 50, absl::Hours(1)));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(5));
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST_F(WaitingCheckTest, ABatchIsAnsweredInPlaceWhenAllAreDecided) {
  server_.Advance(absl::Seconds(1));
  v1::BatchCheckRequest batch;
  *batch.add_checks() = CheckOf("job:etl", 10);
  *batch.add_checks() = WaitingCheck("job:etl", 20);
  *batch.add_checks() = CheckOf("job:etl", 100);
  *batch.add_checks() = CheckOf("", 1);
  *batch.add_checks() = WaitingCheck("job:etl", 90, absl::Seconds(4));
  *batch.add_checks() = WaitingCheck("job:etl", 101);
  WaitingBatchCaller caller(server_.channel, batch);
  ASSERT_TRUE(Waiting(server_, 2));
  EXPECT_EQ(server_.permits(), 2);
  server_.Advance(absl::Seconds(2));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(2));
  const v1::BatchCheckResponse response = caller.Answer();
  ASSERT_EQ(response.results_size(), 6);
  const auto decision = [&](int place) { return response.results(place).decision(); };
  EXPECT_EQ(decision(0).verdict(), v1::VERDICT_ALLOWED);
  EXPECT_FALSE(decision(0).has_waited());
  EXPECT_EQ(decision(1).verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(decision(1).waited().seconds(), 2);
  EXPECT_EQ(decision(2).verdict(), v1::VERDICT_DENIED);
  EXPECT_FALSE(decision(2).has_waited());
  EXPECT_EQ(response.results(3).error().field(), "checks[3].identity");
  EXPECT_EQ(decision(4).verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(decision(4).waited().seconds(), 4);
  EXPECT_EQ(decision(5).verdict(), v1::VERDICT_DENIED);
  EXPECT_FALSE(decision(5).has_waited());
  for (const int place : {0, 1}) {
    EXPECT_EQ(server_.Report(decision(place).permit_id(), 0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  }
  EXPECT_EQ(server_.permits(), 1);
}

TEST_F(WaitingCheckTest, ARetryOfItsRequestIdIsChargedOnceWhileItWaitsAndAfterwards) {
  v1::CheckRequest request = WaitingCheck("job:etl", 50);
  request.set_request_id("once");
  WaitingCaller first(server_.channel, request), retry(server_.channel, request);
  ASSERT_TRUE(Waiting(server_, 2));
  server_.Advance(absl::Seconds(5));
  const uint64_t permit = first.Decision().permit_id();
  EXPECT_NE(permit, 0);
  EXPECT_EQ(retry.Decision().permit_id(), permit);
  const v1::Decision late = server_.Check(request);
  EXPECT_EQ(late.permit_id(), permit);
  EXPECT_FALSE(late.has_waited());
  EXPECT_EQ(server_.permits(), 2);
  EXPECT_EQ(server_.Debt("job:etl"), 100);
}

struct FullLines : WaitingCheckTest {
  static InProcessOptions Options() {
    InProcessOptions options;
    options.lines = {.max_waiting = 4, .max_waiting_share = 0.5};
    return options;
  }
  FullLines() : WaitingCheckTest(Options()) {
    engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
    spec.rules.push_back(engine::ChargeRule("web", "web", {"b"}));
    spec.rules.push_back(engine::ChargeRule("adhoc", "adhoc", {"b"}));
    EXPECT_TRUE(server_.engine.Install(std::move(spec), server_.clock.Read()).ok());
  }
};

// Unary calls have a bound of their own, whatever the lines have room for.
TEST(FullOfCalls, SaysHowManyMayWait) {
  FakeClock clock;
  engine::Engine engine(engine::TestEngine::Options());
  ASSERT_TRUE(engine.Install(OneBudget(RateBudget("b", 10, 100)), clock.Read()).ok());
  QuietDependencies quiet(engine, clock);
  Throttler throttler(quiet.all);
  CallThatCannotWait call;
  v1::Decision decision;
  ASSERT_TRUE(throttler.Check(CheckOf("job:etl", 100), {}, decision, call).ok());
  ASSERT_TRUE(throttler.Check(WaitingCheck("job:etl", 50), {}, decision, call).ok());
  EXPECT_EQ(decision.reason(), v1::REASON_LINE_FULL);
  EXPECT_EQ(decision.violations(decision.violations_size() - 1).limit(), 10'240);
  EXPECT_EQ(quiet.all.lines.ReadStats(clock.Read()).refused_full, 1u);
}

TEST_F(FullLines, DenyAtOnceAndSaySo) {
  WaitingCaller a(server_.channel, WaitingCheck("a:etl", 50));
  WaitingCaller b(server_.channel, WaitingCheck("b:etl", 50));
  ASSERT_TRUE(Waiting(server_, 2));
  // One root identity has its share.
  const v1::Decision third = server_.Check(WaitingCheck("c:etl", 50));
  EXPECT_EQ(third.verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(third.reason(), v1::REASON_LINE_FULL);
  EXPECT_FALSE(third.has_waited());
  EXPECT_EQ(third.violations(third.violations_size() - 1).limit_kind(), v1::LIMIT_KIND_LINE_FULL);
  EXPECT_EQ(third.violations(third.violations_size() - 1).limit(), 2);
  EXPECT_THAT(third.message(), HasSubstr("wait"));
  EXPECT_GT(third.retry_after().seconds(), 0);

  WaitingCaller c(server_.channel, WaitingCheck("a:web", 50));
  WaitingCaller d(server_.channel, WaitingCheck("b:web", 50));
  ASSERT_TRUE(Waiting(server_, 4));
  v1::BatchCheckRequest batch;
  *batch.add_checks() = WaitingCheck("job:adhoc", 50);
  const v1::Decision fifth = server_.Batch(batch).results(0).decision();
  EXPECT_EQ(fifth.reason(), v1::REASON_LINE_FULL);
  EXPECT_EQ(fifth.violations(fifth.violations_size() - 1).limit(), 4);
  for (int i = 0; i < 4; ++i) {
    server_.Advance(absl::Seconds(5));
    ASSERT_TRUE(Waiting(server_, static_cast<size_t>(3 - i)));
  }
  for (WaitingCaller* caller : {&a, &b, &c, &d}) {
    EXPECT_EQ(caller->Decision().verdict(), v1::VERDICT_ALLOWED);
  }
}

TEST_F(WaitingCheckTest, APolicyWithoutItsRuleLetsItGo) {
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 50));
  ASSERT_TRUE(Waiting(server_, 1));
  ASSERT_TRUE(server_.engine.Install({}, server_.clock.Read()).ok());
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(WaitingBehindAPause, EndsWithThePause) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)),
                         {.overrides = InProcessOptions::kKept});
  using Stub = v1::OverrideService::Stub;
  const int64_t id =
      AnswerOf(server.channel, &Stub::CreateOverride, Pause("job:etl")).override().id();
  WaitingCaller one(server.channel, WaitingCheck("job:etl", 10));
  WaitingCaller other(server.channel, WaitingCheck("job:etl", 10));
  ASSERT_TRUE(Waiting(server, 2));
  AnswerOf(server.channel, &Stub::DeleteOverride, Ending(id));
  EXPECT_EQ(one.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(other.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(WaitingAtAShutGate, EndsWhenItOpens) {
  engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.profiles = {{.name = "default", .signals = {"lag on a"}}};
  spec.targets.resize(1);
  spec.targets[0].name = "main";
  spec.targets[0].default_health = "default";
  InProcessServer server(std::move(spec));
  const auto set_speed = [&](double speed) {
    return server.engine
        .SetHealth("main", "default",
                   {.speed = speed, .gate_shut = speed == 0, .pressure = 1.5F, .signal = 0},
                   server.clock.Read())
        .ok();
  };
  ASSERT_TRUE(set_speed(0));
  WaitingCaller caller(server.channel, WaitingCheck("job:etl", 10));
  ASSERT_TRUE(Waiting(server, 1));
  ASSERT_TRUE(set_speed(1));
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
}

}  // namespace
}  // namespace headgate::rpc
