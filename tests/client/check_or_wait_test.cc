// CheckOrWait with a server that answers at once, in virtual time; wait_in_line_test.cc has the
// others.

#include <headgate/client.h>
#include <headgate/fake.h>

#include <atomic>
#include <limits>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

TEST(CheckOrWait, GivesAPermitAtOnceWhereTheWorkIsAllowed) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  const auto permit = client->CheckOrWait({}, absl::Seconds(10));
  ASSERT_TRUE(permit.ok()) << permit.status();
  EXPECT_FALSE(permit->local());
  EXPECT_THAT(headgate.time().Waits(), IsEmpty());
}

TEST(CheckOrWait, AsksAgainNeverBeforeRetryAfterAndAtMostAQuarterLater) {
  PollingHeadgate headgate;
  for (int i = 0; i < 200; ++i) headgate.Deny(absl::Seconds(4));
  const auto client = NewClient(headgate);
  EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
  const std::vector<absl::Duration> waits = headgate.time().Waits();
  ASSERT_THAT(waits, SizeIs(200));
  EXPECT_THAT(waits, Each(AllOf(Ge(absl::Seconds(4)), Le(absl::Seconds(5)))));
  EXPECT_GT(std::set(waits.begin(), waits.end()).size(), 190U);
}

std::vector<absl::Duration> WaitsOfSeed(uint64_t seed) {
  PollingHeadgate headgate;
  for (int i = 0; i < 5; ++i) headgate.Deny(absl::Seconds(4));
  ClientOptions options = Options();
  options.seed = seed;
  EXPECT_TRUE(NewClient(headgate, options)->CheckOrWait({}, kForever).ok());
  return headgate.time().Waits();
}

TEST(CheckOrWait, JitterFollowsFromTheSeed) {
  EXPECT_EQ(WaitsOfSeed(7), WaitsOfSeed(7));
  EXPECT_NE(WaitsOfSeed(7), WaitsOfSeed(8));
}

TEST(CheckOrWait, LooksAgainAfterTheLongestWaitEvenWhenToldToStayAwayForAnHour) {
  PollingHeadgate headgate;
  headgate.Deny(absl::Hours(1), Reason::kHealth);
  ClientOptions options = Options();
  options.longest_wait = absl::Seconds(10);
  EXPECT_TRUE(NewClient(headgate, options)->CheckOrWait({}, kForever).ok());
  EXPECT_THAT(headgate.time().Waits(),
              ElementsAre(AllOf(Ge(absl::Seconds(10)), Le(absl::Seconds(12.5)))));
}

TEST(CheckOrWait, NeverSpinsHoweverSoonItMayComeBack) {
  PollingHeadgate headgate;
  for (int i = 0; i < 100; ++i) headgate.Deny(absl::Nanoseconds(1));
  EXPECT_TRUE(NewClient(headgate)->CheckOrWait({}, kForever).ok());
  EXPECT_THAT(headgate.time().Waits(), Each(Ge(absl::Milliseconds(1))));
}

TEST(CheckOrWait, EndsWithDeadlineExceededWhichSaysWhoAskedAndWhatWasSaid) {
  FakeHeadgate headgate;
  headgate.SetHandler([](const CheckRequest&) {
    return Answer{.retry_after = absl::Seconds(1), .message = "lag of 12 s on standby-2"};
  });
  const absl::Status status = NewClient(headgate)->CheckOrWait({}, absl::Seconds(30)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("backfill:etl"));
  EXPECT_THAT(status.ToString(), HasSubstr("lag of 12 s on standby-2"));
  EXPECT_EQ(headgate.time().Waited(), absl::Seconds(30));
}

TEST(CheckOrWait, WaitsOutItsTimeWithoutAskingTooEarly) {
  PollingHeadgate headgate;
  headgate.Deny(absl::Seconds(8));
  const absl::Status status = NewClient(headgate)->CheckOrWait({}, absl::Seconds(5)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(headgate.checks(), SizeIs(1));
  EXPECT_THAT(headgate.time().Waits(), ElementsAre(absl::Seconds(5)));
}

TEST(CheckOrWait, AsksOnceMoreAtTheDeadlineWhenRetryAfterEndsJustBefore) {
  PollingHeadgate headgate;
  headgate.Deny(absl::Seconds(10) - absl::Nanoseconds(1));
  EXPECT_TRUE(NewClient(headgate)->CheckOrWait({}, absl::Seconds(10)).ok());
  EXPECT_EQ(headgate.time().Waited(), absl::Seconds(10));
}

TEST(CheckOrWait, AsksOnceWhereItMayNotWait) {
  FakeHeadgate headgate;
  headgate.Deny(absl::Seconds(8));
  const auto client = NewClient(headgate);
  EXPECT_TRUE(absl::IsDeadlineExceeded(client->CheckOrWait({}, absl::ZeroDuration()).status()));
  EXPECT_TRUE(client->CheckOrWait({}, absl::ZeroDuration()).ok());
  EXPECT_THAT(headgate.time().Waits(), IsEmpty());
}

TEST(CheckOrWait, ReturnsAtOnceFromADenialThatWaitingWillNotChange) {
  FakeHeadgate headgate;
  headgate.DenyForGood(Reason::kMaxCost);
  const absl::Status status = NewClient(headgate)->CheckOrWait({}, kForever).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("denied for good by the test's script"));
  EXPECT_THAT(headgate.time().Waits(), IsEmpty());
}

TEST(CheckOrWait, WaitsForAnOverloadedServerAsLongAsItAsks) {
  FakeHeadgate headgate;
  absl::Status overloaded = absl::ResourceExhaustedError("the table of permits is full");
  SetRetryDelay(absl::Seconds(3), overloaded);
  headgate.Fail(overloaded);
  EXPECT_TRUE(NewClient(headgate)->CheckOrWait({}, kForever).ok());
  EXPECT_THAT(headgate.time().Waits(),
              ElementsAre(AllOf(Ge(absl::Seconds(3)), Le(absl::Seconds(3.75)))));
}

TEST(CheckOrWait, EndsWithTheServersErrors) {
  FakeHeadgate headgate;
  headgate.Fail(absl::InvalidArgumentError("identity: is empty"));
  const absl::Status status =
      NewClient(headgate, Options(OnUnreachable::Wait()))->CheckOrWait({}, kForever).status();
  EXPECT_EQ(status, absl::InvalidArgumentError("identity: is empty"));
  EXPECT_THAT(headgate.checks(), SizeIs(1));
}

TEST(CheckOrWait, AsksUnderOneRequestIdUntilItIsDone) {
  PollingHeadgate headgate;
  headgate.Deny(absl::Seconds(1));
  headgate.Deny(absl::Seconds(1));
  const auto client = NewClient(headgate);
  EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
  EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
  const std::vector<CheckRequest> checks = headgate.checks();
  ASSERT_THAT(checks, SizeIs(4));
  EXPECT_FALSE(checks[0].request_id.empty());
  EXPECT_EQ(checks[1].request_id, checks[0].request_id);
  EXPECT_EQ(checks[2].request_id, checks[0].request_id);
  EXPECT_NE(checks[3].request_id, checks[0].request_id);
}

TEST(CheckOrWait, IsCancelledBeforeItsNextQuestion) {
  FakeHeadgate headgate;
  std::stop_source stop;
  headgate.SetHandler([&](const CheckRequest&) {
    stop.request_stop();
    return Answer{.retry_after = absl::Seconds(1)};
  });
  const absl::Status status =
      NewClient(headgate)->CheckOrWait({}, kForever, stop.get_token()).status();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_THAT(headgate.checks(), SizeIs(1));
}

TEST(CheckOrWait, IsCancelledOutOfARealWait) {
  FakeHeadgate headgate;
  headgate.Deny(absl::Hours(1));
  ClientOptions options = Options();
  options.longest_wait = absl::Hours(1);
  options.time = NewRealTime();
  const auto client = NewClient(headgate, options);
  std::stop_source stop;
  absl::Status status;
  std::thread waiting(
      [&] { status = client->CheckOrWait({}, kForever, stop.get_token()).status(); });
  EXPECT_TRUE(WaitUntil([&] { return headgate.checks().size() == 1; }));
  stop.request_stop();
  waiting.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TEST(CheckOrWait, KeepsAPermitThatCameTogetherWithTheCancellation) {
  FakeHeadgate headgate;
  std::stop_source stop;
  headgate.SetHandler([&](const CheckRequest&) {
    stop.request_stop();
    return Answer{.verdict = Verdict::kAllowed};
  });
  EXPECT_TRUE(NewClient(headgate)->CheckOrWait({}, kForever, stop.get_token()).ok());
}

TEST(CheckOrWait, IsSharedByThreadsWithoutLosingAPermit) {
  FakeHeadgate headgate;
  std::atomic<int> asked = 0;
  headgate.SetHandler([&](const CheckRequest&) {
    // Relaxed: only the number matters.
    if (asked.fetch_add(1, std::memory_order_relaxed) % 3 == 0)
      return Answer{.retry_after = absl::Seconds(1)};
    return Answer{.verdict = Verdict::kAllowed};
  });
  const auto client = NewClient(headgate);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Flushed(*client));
  EXPECT_THAT(headgate.reports(), SizeIs(800));
  EXPECT_THAT(headgate.outstanding(), IsEmpty());
}

TEST(Check, AddsTheClientsNamesWhereTheRequestHasNone) {
  FakeHeadgate headgate;
  ClientOptions options = Options();
  options.target = "orders-db";
  const auto client = NewClient(headgate, options);
  EXPECT_TRUE(client->Check({}).ok());
  EXPECT_TRUE(client->Check({.identity = "other", .target = "db2", .request_id = "mine"}).ok());
  const std::vector<CheckRequest> checks = headgate.checks();
  EXPECT_EQ(checks[0].identity, "backfill:etl");
  EXPECT_EQ(checks[0].target, "orders-db");
  EXPECT_EQ(checks[1].identity, "other");
  EXPECT_EQ(checks[1].target, "db2");
  EXPECT_EQ(checks[1].request_id, "mine");
}

TEST(Check, RefusesCostsThatAreNone) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  for (const double cost :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const absl::Status status = client->Check({.estimated_cost = cost}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("estimated_cost"));
    EXPECT_TRUE(absl::IsInvalidArgument(client->Report(1, {.actual_cost = cost})));
    EXPECT_TRUE(absl::IsInvalidArgument(client->ReportNow(1, {.actual_cost = cost}).status()));
  }
  EXPECT_THAT(headgate.checks(), IsEmpty());
}

TEST(Client, RefusesOptionsThatMakeNoSense) {
  FakeHeadgate headgate;
  const auto error = [&](auto change) {
    ClientOptions options = Options();
    change(options);
    return headgate.NewClient(options).status();
  };
  const auto expect = [](const absl::Status& status, const std::string& field) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr(field));
  };
  ClientOptions nowhere = Options();
  nowhere.address = "";
  expect(Client::Create(nowhere).status(), "address");
  expect(error([](auto& o) { o.check_deadline = absl::ZeroDuration(); }), "check_deadline");
  expect(error([](auto& o) { o.longest_wait = -absl::Seconds(1); }), "longest_wait");
  expect(error([](auto& o) { o.outage_pause = absl::ZeroDuration(); }), "outage_pause");
  expect(error([](auto& o) { o.flush_timeout = -absl::Seconds(1); }), "flush_timeout");
  expect(error([](auto& o) { o.max_queued_reports = 0; }), "max_queued_reports");
  expect(error([](auto& o) { o.on_unreachable = OnUnreachable::FloorRate(0); }), "floor rate");
}

TEST(Client, ClientsOfDifferentSeedsUseDifferentRequestIds) {
  FakeHeadgate headgate;
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ClientOptions options = Options();
    options.seed = static_cast<uint64_t>(i);
    EXPECT_TRUE(NewClient(headgate, options)->Check({}).ok());
  }
  for (const CheckRequest& check : headgate.checks()) ids.insert(check.request_id);
  EXPECT_THAT(ids, SizeIs(3));
}

}  // namespace
}  // namespace headgate::client
