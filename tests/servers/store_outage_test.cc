// on_store_loss: KEEP: what becomes of targets while nobody reaches the store.

#include <headgate/v1/cluster_service.grpc.pb.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

using testing::Contains;

class StoreOutage : public testing::Test {
 protected:
  // Until each server has seen all others, and said so to the store.
  StoreOutage() {
    for (int server = 0; server < servers_.size(); ++server) {
      EXPECT_TRUE(servers_.AwaitOwners(server));
    }
    EXPECT_TRUE(WaitUntil([&] {
      const auto rows = servers_.store().RunSql(
          "SELECT count(*) FROM headgate_store.member WHERE cardinality(asks) = 2");
      return rows.ok() && (*rows)[0][0] == "3";
    }));
  }

  v1::ClusterStatus StatusOf(int server) {
    const Peer peer{servers_.channel(server)};
    return AnswerOf(peer, &v1::ClusterService::Stub::ListMembers).cluster();
  }
  // For longer than any lease.
  bool AwaitAway(int server) {
    return WaitUntil([&] {
      const v1::ClusterStatus status = StatusOf(server);
      return !status.store_error().empty() && status.store_since().seconds() >= 4;
    });
  }
  // Of those that own something.
  std::vector<int> OwnersNow() {
    std::vector<int> owners;
    for (int server = 0; server < servers_.size(); ++server) {
      const v1::ClusterStatus status = StatusOf(server);
      for (const v1::MemberStatus& member : status.members()) {
        if (member.name() == Deployment::NameOf(server) && member.targets() > 0) {
          owners.push_back(server);
        }
      }
    }
    return owners;
  }

  Deployment servers_{{.cluster_more = "  on_store_loss: KEEP\n"}};
};

TEST_F(StoreOutage, OwnersDecideOnWithoutTheStoreWhileAllAgree) {
  SteadyCaller caller(servers_, 1, "orders", 10);
  servers_.store().Kill();
  const std::vector<int> owners = OwnersNow();
  ASSERT_FALSE(owners.empty());
  for (const int owner : owners) {
    EXPECT_TRUE(AwaitAway(owner));
    EXPECT_TRUE(WaitUntil([&] { return StatusOf(owner).decides_on(); }));
  }
  for (int server = 0; server < servers_.size(); ++server) {
    for (const std::string& target : servers_.targets()) {
      EXPECT_TRUE(servers_.TryCheck(server, target, "probe").ok()) << server << " " << target;
    }
  }
  ASSERT_TRUE(servers_.store().Start().ok());
  EXPECT_TRUE(WaitUntil([&] { return StatusOf(0).store_error().empty(); }));
  EXPECT_TRUE(servers_.AwaitOwners());
  caller.Stop();
  EXPECT_EQ(caller.failed(), 0) << caller.last_error();
  // Burst, and what drains.
  EXPECT_LE(caller.admitted(), 500 + 100 * absl::ToDoubleSeconds(caller.span()));
}

TEST_F(StoreOutage, OneServerThatCannotBeAskedStopsTheOthers) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  const int other = (owner + 1) % servers_.size();
  const int dies = (owner + 2) % servers_.size();
  servers_.store().Kill();
  ASSERT_TRUE(WaitUntil([&] { return StatusOf(owner).decides_on(); }));
  servers_[dies].Kill();
  ASSERT_TRUE(WaitUntil([&] { return !StatusOf(owner).decides_on(); }));
  EXPECT_THAT(StatusOf(owner).not_agreeing(), Contains(Deployment::NameOf(dies)));
  EXPECT_TRUE(servers_.AwaitNoOwner(other, "orders", absl::Seconds(2)));
  ASSERT_TRUE(servers_.store().Start().ok());
  EXPECT_TRUE(servers_.AwaitOwners(other));
}

TEST_F(StoreOutage, AnOwnerThatDiesIsReplacedAllTheSame) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  const int other = (owner + 1) % servers_.size();
  servers_[owner].Kill();
  EXPECT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("orders") != owner; }));
  EXPECT_TRUE(WaitUntil([&] { return servers_.TryCheck(other, "orders", "probe").ok(); }));
}

}  // namespace
}  // namespace headgate
