// CheckOrWait with a server that answers at once, in virtual time; wait_in_line_test.cc has the
// others.

#include <headgate/client.h>
#include <headgate/fake.h>

#include <atomic>
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
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

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

TEST(CheckOrWait, AsksOnceMoreAtTheDeadlineWhenRetryAfterEndsJustBefore) {
  PollingHeadgate headgate;
  headgate.Deny(absl::Seconds(10) - absl::Nanoseconds(1));
  EXPECT_TRUE(NewClient(headgate)->CheckOrWait({}, absl::Seconds(10)).ok());
  EXPECT_EQ(headgate.time().Waited(), absl::Seconds(10));
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
  PollingHeadgate headgate;
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

TEST(Client, RefusesToCallNoAddress) {
  ClientOptions nowhere = Options();
  nowhere.address = "";
  const absl::Status status = Client::Create(nowhere).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("address"));
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
