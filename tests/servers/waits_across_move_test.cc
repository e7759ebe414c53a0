// What is waited while a target moves from one server to another is counted once, by the one that
// it was waited at.

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/testing/counting_job.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

TEST(WaitsAcrossMove, AreCountedOnceAndByWhoDecided) {
  if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
  Deployment servers(
      {.servers = 2, .targets = {"orders"}, .rate = "5", .burst = "200ms", .logs_to_store = true});
  const int owner = servers.AwaitOwnerNumber("orders");
  const int other = 1 - owner;
  CountingJob near(servers.channel(owner), "near:etl", absl::Minutes(1), "orders");
  CountingJob far(servers.channel(other), "far:etl", absl::Minutes(1), "orders");
  poll(nullptr, 0, 3000);
  v1::MoveTargetRequest move;
  move.set_target("orders");
  move.set_member(Deployment::NameOf(other));
  move.set_actor("ann");
  move.set_reason("nearer");
  AnswerOf(servers.channel(owner), &v1::ClusterService::Stub::MoveTarget, move);
  EXPECT_TRUE(WaitUntil([&] { return servers.OwnerNumber("orders") == other; }));
  poll(nullptr, 0, 3000);
  const std::map<std::string, SeenByJob> seen = {{"near:etl", near.Stop()},
                                                 {"far:etl", far.Stop()}};
  for (const auto& [identity, by_job] : seen) {
    SCOPED_TRACE(identity);
    EXPECT_GT(by_job.waited_and_allowed, 5);
    v1::QueryThrottleLogRequest request;
    request.mutable_filter()->set_identity(identity);
    v1::QueryThrottleLogResponse sums;
    // Each server collects each second.
    EXPECT_TRUE(WaitUntil([&] {
      sums = AnswerOf(servers.channel(owner), &v1::ThrottleLogService::Stub::QueryThrottleLog,
                      request);
      return sums.sums_size() == 1 && sums.sums(0).allowed() == by_job.allowed;
    }));
    if (sums.sums_size() == 1) ExpectLogged(sums.sums(0), by_job, 1);
  }
}

}  // namespace
}  // namespace headgate
