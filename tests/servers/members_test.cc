// Servers that come and go, and two that have one name.

#include <headgate/v1/status_service.grpc.pb.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

TEST(Members, ASecondServerOfANameDecidesForNothing) {
  Deployment servers({.servers = 2, .targets = {"orders"}});
  ASSERT_TRUE(servers.AwaitOwners());
  const std::string owner = servers.Owner("orders");
  const int impostor = servers.Add(owner);
  EXPECT_TRUE(servers.AwaitLog(impostor, "another server has this one's name"));
  EXPECT_EQ(servers.Owner("orders"), owner);
  EXPECT_EQ(servers.Check(0, "orders", "job").verdict(), v1::VERDICT_ALLOWED);
  // It may hand on what it is asked.
  EXPECT_EQ(servers.Check(impostor, "orders", "job").verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[impostor].Log().find("decides for a target"), std::string::npos);
}

// The process before has the name for a lease still.
TEST(Members, AServerThatIsRestartedAtOnceAfterAKillSaysWhenItsNameIsFree) {
  Deployment servers({.servers = 1, .targets = {"orders"}, .lease = "10s"});
  ASSERT_TRUE(servers.AwaitOwners());
  servers[0].Kill();
  servers.Start(0);
  EXPECT_TRUE(servers.AwaitLog(0, "another server has this one's name, or had it a moment ago"));
  EXPECT_TRUE(servers.AwaitLog(0, "this one's name is free now"));
  EXPECT_TRUE(servers.AwaitOwners());
}

// Each caller tries once more, at another server.
TEST(Members, ARollingRestartFailsNoCheckThatIsTriedOnceMore) {
  Deployment servers;
  ASSERT_TRUE(servers.AwaitOwners());
  std::vector<std::unique_ptr<SteadyCaller>> callers;
  for (int server = 0; server < servers.size(); ++server) {
    const std::string target = servers.targets()[static_cast<size_t>(server)];
    callers.push_back(std::make_unique<SteadyCaller>(servers, server, target, 10));
  }
  for (int server = 0; server < servers.size(); ++server) {
    EXPECT_TRUE(servers[server].Stop().ok()) << servers[server].Log();
    servers.Start(server);
    EXPECT_TRUE(servers.AwaitOwners(server));
  }
  for (const auto& caller : callers) {
    caller->Stop();
    EXPECT_EQ(caller->failed(), 0) << caller->last_error();
    EXPECT_LE(caller->admitted(), 500 + 100 * absl::ToDoubleSeconds(caller->span()));
  }
}

// It stands in the owner's line, and goes on standing in the next one's.
TEST(Members, WhoWaitsForATargetWaitsOnWithItsNextOwner) {
  Deployment servers({.servers = 2, .targets = {"orders"}});
  ASSERT_TRUE(servers.AwaitOwners());
  const int owner = servers.OwnerNumber("orders");
  const int other = 1 - owner;
  ASSERT_EQ(servers.Check(other, "orders", "job", 500).verdict(), v1::VERDICT_ALLOWED);
  v1::CheckRequest request;
  request.set_identity("job");
  request.set_target("orders");
  request.set_estimated_cost(400);
  request.mutable_max_wait()->set_seconds(100);
  v1::CheckResponse response;
  grpc::Status status;
  std::thread waiting([&] {
    status = servers.Try(other, &v1::ThrottlerService::Stub::Check, request, response,
                         absl::Seconds(120));
  });
  EXPECT_TRUE(WaitUntil([&] {
    const Peer peer{servers.channel(owner)};
    return AnswerOf(peer, &v1::StatusService::Stub::GetStatus).waiting().waiting() == 1;
  }));
  EXPECT_TRUE(servers[owner].Stop().ok()) << servers[owner].Log();
  waiting.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.decision().verdict(), v1::VERDICT_ALLOWED);
}

}  // namespace
}  // namespace headgate
