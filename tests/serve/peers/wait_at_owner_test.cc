// Checks that wait in the line of another server.

#include <string>

#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

using rpc::Waiting;
using rpc::WaitingBatchCaller;
using rpc::WaitingCaller;

TEST(Wait, ForwardedCheckIsAnsweredWhenItsTurnComes) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  WaitingCaller caller(servers[0].caller, WaitingAt("t1", 50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  servers.Advance(absl::Seconds(5));
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(caller.Decision().waited().seconds(), 5);
}

TEST(Wait, OthersOvertakeWhoWaits) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  WaitingCaller caller(servers[0].caller, WaitingAt("t1", 50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  EXPECT_EQ(servers[0].Decide(CheckAt("t1", "job:etl", 10)).verdict(), v1::VERDICT_DENIED);
  servers.Advance(absl::Seconds(5));
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(Wait, CallerThatLeavesGivesItsPlaceBack) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  WaitingCaller leaver(servers[0].caller, WaitingAt("t1", 50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  WaitingCaller next(servers[0].caller, WaitingAt("t1", 10));
  ASSERT_TRUE(Waiting(servers[1], 2));
  leaver.context.TryCancel();
  ASSERT_TRUE(Waiting(servers[1], 1));
  servers.Advance(absl::Seconds(1));
  EXPECT_EQ(next.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(Wait, ServerThatDiesTakesItsCallersOutOfTheLines) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  WaitingCaller caller(servers[0].caller, WaitingAt("t1", 50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  servers.Kill(0);
  EXPECT_TRUE(Waiting(servers[1], 0));
  EXPECT_FALSE(caller.Status().ok());
}

TEST(Wait, OwnerKeepsTheDeadlineOfTheCall) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  WaitingCaller caller(servers[0].caller, WaitingAt("t1", 100), absl::Seconds(8));
  ASSERT_TRUE(Waiting(servers[1], 1));
  // It would have its turn in ten seconds.
  servers.Advance(absl::Seconds(8));
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_DENIED);
}

TEST(Wait, OwnerThatStopsTellsThoseWhoWaitThere) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  WaitingCaller caller(servers[0].caller, WaitingAt("t1", 50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  servers[1].Stop();
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Wait, PartsOfABatchWaitAtTheirOwnersSideBySide) {
  Servers servers(3);
  for (int i = 0; i < 3; ++i) {
    // By the server that the batch will come to, so that its way to the others is open.
    servers[0].Decide(CheckAt(absl::StrCat("t", i), "job:etl", 100));
  }
  v1::BatchCheckRequest batch;
  *batch.add_checks() = WaitingAt("t1", 50);
  *batch.add_checks() = WaitingAt("t0", 30);
  *batch.add_checks() = CheckAt("t2", "job:etl", 99);
  WaitingBatchCaller caller(servers[0].caller, batch);
  ASSERT_TRUE(Waiting(servers[0], 1));
  ASSERT_TRUE(Waiting(servers[1], 1));
  // The third one's answer is there before the clock makes it look late: what comes after it is.
  ASSERT_TRUE(WaitUntil([&] { return servers[2].activity.size() == 2; }));
  servers[0].Decide(CheckAt("t2", "job:etl", 99));
  servers.Advance(absl::Seconds(5));
  const v1::BatchCheckResponse& response = caller.Answer();
  EXPECT_EQ(response.results(0).decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(response.results(1).decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(response.results(2).decision().verdict(), v1::VERDICT_DENIED);
}

TEST(Wait, BatchThatIsLeftGivesAllItsPlacesBack) {
  Servers servers(2);
  for (int i = 0; i < 2; ++i) {
    servers[i].Decide(CheckAt(absl::StrCat("t", i), "job:etl", 100));
  }
  v1::BatchCheckRequest batch;
  *batch.add_checks() = WaitingAt("t1", 50);
  *batch.add_checks() = WaitingAt("t0", 50);
  WaitingBatchCaller caller(servers[0].caller, batch);
  ASSERT_TRUE(Waiting(servers[0], 1));
  ASSERT_TRUE(Waiting(servers[1], 1));
  caller.context.TryCancel();
  EXPECT_TRUE(Waiting(servers[0], 0));
  EXPECT_TRUE(Waiting(servers[1], 0));
  EXPECT_TRUE(WaitUntil([&] { return servers[0].forwarder->taken_bytes() == 0; }));
}

// Whoever leaves in the very moment of the answer has heard of it or not; nothing is left of
// either.
TEST(Wait, CallersThatLeaveAsTheyAreAdmittedLeaveNothingBehind) {
  Servers servers(2);
  for (int round = 0; round < 20; ++round) {
    servers[1].Decide(CheckAt("t1", "job:etl", 100));
    WaitingCaller caller(servers[0].caller, WaitingAt("t1", 50));
    ASSERT_TRUE(Waiting(servers[1], 1));
    std::thread leaves([&] { caller.context.TryCancel(); });
    servers.Advance(absl::Seconds(5));
    leaves.join();
    if (caller.Status().ok()) {
      EXPECT_EQ(servers[1].permits(), 2U);
    }
    EXPECT_TRUE(Waiting(servers[1], 0));
    EXPECT_TRUE(WaitUntil([&] { return servers[0].forwarder->taken_bytes() == 0; }));
    servers.Advance(absl::Minutes(2));
  }
}

}  // namespace
}  // namespace headgate::peers
