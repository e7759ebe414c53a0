// Servers whose files differ, or that do not reach a target's database: who gets the target then.

#include <headgate/v1/cluster_service.grpc.pb.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/share/cluster/placement.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"
#include "tests/testing/error_details.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kNames = {"a", "b", "c"};

// Whom placement names among three.
int PlacedFor(const std::string& target) { return cluster::PlaceOf(target, "", kNames)[0] - 'a'; }

class Arranged {
 public:
  explicit Arranged(DeploymentOptions options) : servers(std::move(options)) {}

  Peer At(int server) { return {servers.channel(server)}; }
  v1::ClusterStatus Members(int server) {
    return AnswerOf(At(server), &v1::ClusterService::Stub::ListMembers).cluster();
  }
  void Drain(int server) {
    v1::DrainMemberRequest drain;
    drain.set_member(Deployment::NameOf(server));
    drain.set_actor("ann");
    drain.set_reason("its node goes");
    EXPECT_EQ(CallRpc(At(0), &v1::ClusterService::Stub::DrainMember, drain).error_message(), "");
  }
  grpc::Status Move(const std::string& target, int server) {
    v1::MoveTargetRequest move;
    move.set_target(target);
    move.set_member(Deployment::NameOf(server));
    move.set_actor("ann");
    move.set_reason("nearer");
    return CallRpc(At(0), &v1::ClusterService::Stub::MoveTarget, move);
  }
  v1::MemberTarget::Measured MeasuredBy(int server, const std::string& target) {
    const v1::ClusterStatus cluster = Members(server);
    for (const v1::MemberTarget& offer : cluster.members(server).offers()) {
      if (offer.target() == target) return offer.measured();
    }
    return v1::MemberTarget::MEASURED_UNSPECIFIED;
  }
  // Each server sees all.
  bool AllAreHere() {
    return WaitUntil([&] {
      for (int server = 0; server < servers.size(); ++server) {
        if (Members(server).members_size() != servers.size()) return false;
      }
      return true;
    });
  }

  Deployment servers;
};

TEST(Configurations, AServerWithAnOlderFileIsNotGivenWhatItLacks) {
  const int older = PlacedFor("stock");
  Arranged all({.otherwise = {{older, {.lacks = "stock"}}}});
  Deployment& servers = all.servers;
  ASSERT_TRUE(all.AllAreHere());
  // Any server takes any call.
  for (int server = 0; server < servers.size(); ++server) {
    ASSERT_TRUE(servers.AwaitOwners(server)) << server;
    EXPECT_EQ(servers.Check(server, "stock", "job").verdict(), v1::VERDICT_ALLOWED) << server;
  }
  EXPECT_NE(servers.OwnerNumber("stock"), older);
  const grpc::Status moved = all.Move("stock", older);
  EXPECT_EQ(moved.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(moved.error_message(), HasSubstr("has no target stock in its configuration"));
  // It stays with the others, though all of them are to have nothing.
  for (int server = 0; server < servers.size(); ++server) {
    if (server != older) all.Drain(server);
  }
  ASSERT_TRUE(WaitUntil([&] {
    return servers.OwnerNumber("orders") == older && servers.OwnerNumber("billing") == older;
  }));
  EXPECT_NE(servers.OwnerNumber("stock"), older);
  for (int server = 0; server < servers.size(); ++server) {
    EXPECT_EQ(servers.Check(server, "stock", "job").verdict(), v1::VERDICT_ALLOWED) << server;
  }
}

TEST(Configurations, WhereNobodyIsLeftThatHasATargetItIsHeldAndDecidedWhenSomebodyIsBack) {
  const int older = PlacedFor("stock");
  Arranged all({.otherwise = {{older, {.lacks = "stock"}}}});
  Deployment& servers = all.servers;
  ASSERT_TRUE(all.AllAreHere());
  ASSERT_TRUE(servers.AwaitOwners(older));
  for (int server = 0; server < servers.size(); ++server) {
    if (server != older) servers[server].Kill();
  }
  grpc::Status status;
  ASSERT_TRUE(WaitUntil([&] {
    status = servers.TryCheck(older, "stock", "job", nullptr, 1, absl::Seconds(2));
    return !status.ok() && ReadDetails(status).has_value() &&
           ReadDetails(status)->reason == "NO_OWNER";
  })) << status.error_message();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(ReadDetails(status)->retry);
  // What nobody ever had is a mistake of the caller's.
  EXPECT_EQ(servers.TryCheck(older, "stocks", "job").error_code(), grpc::StatusCode::NOT_FOUND);
  servers.Start((older + 1) % servers.size());
  EXPECT_TRUE(WaitUntil(
      [&] { return servers.TryCheck(older, "stock", "job", nullptr, 1, absl::Seconds(5)).ok(); }));
}

TEST(Configurations, AReloadThatLosesATargetHandsItToWhoHasIt) {
  Arranged all({});
  Deployment& servers = all.servers;
  ASSERT_TRUE(all.AllAreHere());
  const int owner = servers.AwaitOwnerNumber("stock");
  const int other = (owner + 1) % servers.size();
  SteadyCaller caller(servers, other, "stock", 1);
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > 20; }));
  servers[owner].Rewrite(servers.Yaml("", {.lacks = "stock"}));
  ASSERT_TRUE(WaitUntil(
      [&] { return servers.OwnerNumber("stock") >= 0 && servers.OwnerNumber("stock") != owner; }));
  EXPECT_TRUE(servers.TryCheck(owner, "stock", "probe", nullptr, 0).ok());
  const int64_t asked = caller.asked();
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > asked + 20; }));
  caller.Stop();
  EXPECT_EQ(caller.failed(), 0) << caller.last_error();
}

TEST(Configurations, ThatDifferAreSeen) {
  Arranged all({.servers = 2, .targets = {"orders"}, .otherwise = {{1, {.rate = "1000"}}}});
  ASSERT_TRUE(all.AllAreHere());
  EXPECT_TRUE(all.servers.AwaitLog(0, "configured differently"));
  for (int server = 0; server < all.servers.size(); ++server) {
    ASSERT_TRUE(WaitUntil([&] { return all.Members(server).targets(0).configurations() == 2; }));
  }
  const v1::ClusterStatus cluster = all.Members(0);
  EXPECT_NE(cluster.members(0).offers(0).configuration(),
            cluster.members(1).offers(0).configuration());
  all.servers[1].Rewrite(all.servers.Yaml());
  EXPECT_TRUE(WaitUntil([&] { return all.Members(0).targets(0).configurations() == 1; }));
  EXPECT_TRUE(all.servers.AwaitLog(0, "configured alike again"));
}

// Draining what nobody else can measure would shut a target that is well.
TEST(Configurations, AServerThatIsDrainedKeepsWhatNobodyElseMeasures) {
  Arranged all({.servers = 2, .targets = {"orders"}, .is_measured = true});
  Deployment& servers = all.servers;
  ASSERT_TRUE(all.AllAreHere());
  const int owner = servers.AwaitOwnerNumber("orders");
  const int other = 1 - owner;
  ASSERT_TRUE(WaitUntil(
      [&] { return servers.Check(other, "orders", "job").verdict() == v1::VERDICT_ALLOWED; }));
  servers.LetReach(other, false);
  const grpc::Status moved = all.Move("orders", other);
  EXPECT_EQ(moved.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(moved.error_message(), HasSubstr("cannot measure target orders: "));
  SteadyCaller caller(servers, other, "orders", 0);
  all.Drain(owner);
  ASSERT_TRUE(WaitUntil(
      [&] { return all.MeasuredBy(other, "orders") == v1::MemberTarget::MEASURED_NOTHING; }));
  EXPECT_EQ(servers.OwnerNumber("orders"), owner);
  servers.LetReach(other, true);
  ASSERT_TRUE(WaitUntil([&] { return servers.OwnerNumber("orders") == other; }));
  const int64_t asked = caller.asked();
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > asked + 50; }));
  caller.Stop();
  EXPECT_EQ(caller.failed(), 0) << caller.last_error();
  EXPECT_EQ(caller.denied_by_health(), 0);
}

TEST(Configurations, ATakeoverIsNoDenialForHealth) {
  Arranged all({.targets = {"orders"}, .is_measured = true});
  Deployment& servers = all.servers;
  ASSERT_TRUE(all.AllAreHere());
  const int first = servers.AwaitOwnerNumber("orders");
  ASSERT_TRUE(WaitUntil(
      [&] { return servers.Check(first, "orders", "job").verdict() == v1::VERDICT_ALLOWED; }));
  ASSERT_EQ(all.Move("orders", (first + 1) % 3).error_message(), "");
  SteadyCaller caller(servers, (first + 2) % 3, "orders", 0);
  ASSERT_TRUE(WaitUntil([&] { return servers.OwnerNumber("orders") == (first + 1) % 3; }));
  EXPECT_TRUE(servers[(first + 1) % 3].Stop().ok());
  ASSERT_TRUE(WaitUntil([&] {
    return servers.OwnerNumber("orders") >= 0 && servers.OwnerNumber("orders") != (first + 1) % 3;
  }));
  servers.Start((first + 1) % 3);
  ASSERT_TRUE(all.AllAreHere());
  const int second = servers.AwaitOwnerNumber("orders");
  servers[second].Kill();
  ASSERT_TRUE(WaitUntil([&] {
    return servers.OwnerNumber("orders") >= 0 && servers.OwnerNumber("orders") != second;
  }));
  const int64_t asked = caller.asked();
  ASSERT_TRUE(WaitUntil([&] { return caller.asked() > asked + 50; }));
  caller.Stop();
  EXPECT_EQ(caller.denied_by_health(), 0);
}

}  // namespace
}  // namespace headgate
