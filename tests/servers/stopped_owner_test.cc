// The owner of a target is stopped in its tracks: its connections are there, and nothing comes
// back.

#include <headgate/v1/status_service.grpc.pb.h>

#include <csignal>
#include <string>

#include "gtest/gtest.h"
#include "tests/servers/asking_callers.h"
#include "tests/servers/deployment.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

constexpr int kCallers = 16;

// It could be lost to each of them anew in every two seconds of its lease.
TEST(StoppedOwner, IsLostOnceToEachCallerUntilAnotherOneDecides) {
  Deployment servers({.targets = {"orders"}, .lease = "8s"});
  const int owner = servers.AwaitOwnerNumber("orders");
  AskingCallers callers(servers, (owner + 1) % servers.size(), "orders", kCallers);
  ASSERT_TRUE(callers.AwaitAnswers(5));
  servers[owner].Signal(SIGSTOP);
  ASSERT_TRUE(WaitUntil([&] { return servers.OwnerNumber("orders") != owner; }));
  EXPECT_TRUE(callers.AwaitAnswers(2));
  servers[owner].Signal(SIGCONT);
  EXPECT_TRUE(callers.AwaitAnswers(5));
  callers.Stop();
  EXPECT_GT(callers.lost(), 0);  // else nothing was on its way
  EXPECT_LE(callers.most_lost(), 1);
  EXPECT_EQ(callers.errors(), "");
  EXPECT_LE(static_cast<double>(callers.admitted()),
            500 + 100 * absl::ToDoubleSeconds(callers.span()));
}

// What it was sent it decides when it goes on, and whoever asks again is told what it has decided.
TEST(StoppedOwner, ThatGoesOnWithinItsLeaseHasChargedEachCheckOnce) {
  // Nothing to speak of drains.
  Deployment servers({.targets = {"orders"},
                      .lease = "60s",
                      .rate = "0.001",
                      .burst = "100000",
                      .budget_more = ", split: {depth: 1}"});
  const int owner = servers.AwaitOwnerNumber("orders");
  AskingCallers callers(servers, (owner + 1) % servers.size(), "orders", kCallers);
  ASSERT_TRUE(callers.AwaitAnswers(5));
  servers[owner].Signal(SIGSTOP);
  ASSERT_TRUE(WaitUntil([&] { return callers.lost() > 0; }));
  // It is given up on once more before it goes on.
  const int64_t lost_ns = MonotonicNs();
  ASSERT_TRUE(WaitUntil([&] { return MonotonicNs() - lost_ns > int64_t{3} * 1'000'000'000; }));
  servers[owner].Signal(SIGCONT);
  EXPECT_TRUE(callers.AwaitAnswers(5));
  callers.Stop();
  EXPECT_LE(callers.most_lost(), 1);
  EXPECT_EQ(callers.errors(), "");
  EXPECT_EQ(servers.OwnerNumber("orders"), owner);
  const auto buckets =
      AnswerOf(Peer{servers.channel(owner)}, &v1::StatusService::Stub::ListBuckets).buckets();
  ASSERT_EQ(buckets.size(), 1);
  EXPECT_NEAR(buckets[0].debt(), static_cast<double>(callers.admitted()), 0.5);
}

}  // namespace
}  // namespace headgate
