// A server that stops while nothing can be given away.

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/testing/test_scale.h"

namespace headgate {
namespace {

TEST(Leaving, AServerThatStopsWithTheStoreAwayDoesNotWaitForItForItsWholeGrace) {
  Deployment servers({.servers = 1, .targets = {"orders"}});
  ASSERT_TRUE(servers.AwaitOwners());
  servers.store().Kill();
  ASSERT_TRUE(servers.AwaitLog(0, "the store does not answer"));
  EXPECT_TRUE(servers[0].Stop().ok());
  const std::string log = servers[0].Log();
  EXPECT_NE(log.find("not all targets were handed over"), std::string::npos) << log;
  EXPECT_EQ(log.find("no time is left"), std::string::npos) << log;
}

// Each may hand what it has to another that is stopping, too.
TEST(Leaving, ServersThatStopTogetherLeaveAllTheyKnowToWhoStartsNext) {
  constexpr double kBurst = 1000;
  Deployment servers({.servers = 3,
                      .targets = {"t1", "t2", "t3", "t4", "t5", "t6"},
                      .rate = "0.001",
                      .burst = "1000000s"});
  double charged = 0;  // of each target
  for (int round = 0; round < Scaled(20); ++round) {
    ASSERT_TRUE(servers.AwaitOwners());
    for (const std::string& target : servers.targets()) {
      EXPECT_EQ(servers.Check(round % 3, target, "job", 10).verdict(), v1::VERDICT_ALLOWED);
    }
    charged += 10;
    std::vector<std::thread> stopping;
    for (int server = 0; server < servers.size(); ++server) {
      stopping.emplace_back([&, server] { EXPECT_TRUE(servers[server].Stop().ok()); });
    }
    for (std::thread& thread : stopping) thread.join();
    for (int server = 0; server < servers.size(); ++server) servers.Start(server);
  }
  ASSERT_TRUE(servers.AwaitOwners());
  for (int server = 0; server < servers.size(); ++server) {
    const std::string log = servers[server].Log();
    EXPECT_EQ(log.find("an owner who died"), std::string::npos) << log;
  }
  // What was charged is owed, and nothing else.
  for (const std::string& target : servers.targets()) {
    EXPECT_EQ(servers.Check(0, target, "job", kBurst - charged + 5).verdict(), v1::VERDICT_DENIED)
        << target;
    EXPECT_EQ(servers.Check(0, target, "job", kBurst - charged - 5).verdict(), v1::VERDICT_ALLOWED)
        << target;
  }
}

}  // namespace
}  // namespace headgate
