// A store that is reached through a connection pooler: servers share targets all the same, and say
// so.

#include <headgate/v1/cluster_service.grpc.pb.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/testing/postgres_bouncer.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

TEST(PooledStore, IsToldInTheLogAndAmongTheMembers) {
  if (!PostgresBouncer::Program().ok()) GTEST_SKIP() << PostgresBouncer::Program().status();
  Deployment servers({.servers = 1, .targets = {"orders"}, .pooler_mode = "transaction"});
  EXPECT_TRUE(servers.AwaitOwners());
  EXPECT_TRUE(servers.AwaitLog(0, "PostgreSQL is not reached directly"));
  const auto members = AnswerOf(Peer{servers.channel(0)}, &v1::ClusterService::Stub::ListMembers);
  EXPECT_THAT(members.cluster().store_note(), testing::HasSubstr("pooler"));
}

}  // namespace
}  // namespace headgate
