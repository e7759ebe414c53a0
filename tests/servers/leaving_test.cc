// A server that stops while nothing can be given away.

#include "gtest/gtest.h"
#include "tests/servers/deployment.h"

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

}  // namespace
}  // namespace headgate
