// What operators do where several servers share their targets: whichever of them is asked.

#include <headgate/v1/cluster_service.grpc.pb.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class Operators : public testing::Test {
 protected:
  // Until each server has seen all, and a target of each has an owner.
  Operators() {
    for (int server = 0; server < servers_.size(); ++server) {
      EXPECT_TRUE(servers_.AwaitOwners(server));
      EXPECT_TRUE(WaitUntil([&] {
        const auto members = AnswerOf(At(server), &v1::ClusterService::Stub::ListMembers);
        return members.cluster().members_size() == servers_.size();
      }));
    }
  }

  Peer At(int server) { return {servers_.channel(server)}; }
  v1::Verdict Verdict(int server, const std::string& target) {
    return servers_.Check(server, target, "job").verdict();
  }
  v1::CreateOverrideResponse Pause(int server) {
    v1::CreateOverrideRequest request;
    request.set_kind(v1::OVERRIDE_KIND_PAUSE);
    request.mutable_selector()->set_identity("job");
    request.set_never_expires(true);
    request.set_actor("ann");
    request.set_reason("a fire");
    return AnswerOf(At(server), &v1::OverrideService::Stub::CreateOverride, request);
  }

  Deployment servers_;
};

TEST_F(Operators, APauseHoldsEverywhereBeforeItsAnswer) {
  const v1::CreateOverrideResponse made = Pause(0);
  EXPECT_THAT(made.servers_not_reached(), IsEmpty());
  for (const std::string& target : servers_.targets()) {
    EXPECT_EQ(Verdict(1, target), v1::VERDICT_DENIED) << target;
  }
  v1::DeleteOverrideRequest end;
  end.set_id(made.override().id());
  end.set_actor("bob");
  end.set_reason("it is out");
  EXPECT_EQ(CallRpc(At(2), &v1::OverrideService::Stub::DeleteOverride, end).error_message(), "");
  for (const std::string& target : servers_.targets()) {
    EXPECT_EQ(Verdict(0, target), v1::VERDICT_ALLOWED) << target;
  }
  const auto events = AnswerOf(At(1), &v1::OverrideService::Stub::ListOverrideEvents);
  EXPECT_THAT(events.events(), SizeIs(2));
}

TEST_F(Operators, APauseOutlivesTheServerThatTookIt) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  Pause(owner);
  servers_[owner].Kill();
  const int other = (owner + 1) % servers_.size();
  ASSERT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("orders") != owner; }));
  ASSERT_TRUE(servers_.AwaitOwners(other));
  EXPECT_EQ(Verdict(other, "orders"), v1::VERDICT_DENIED);
  servers_.Start(owner);
  ASSERT_TRUE(servers_.AwaitOwners(owner));
  for (const std::string& target : servers_.targets()) {
    EXPECT_EQ(Verdict(owner, target), v1::VERDICT_DENIED) << target;
  }
}

TEST_F(Operators, ATargetThatIsMovedGoesThereAndNoCheckFails) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  const int to = (owner + 1) % servers_.size();
  SteadyCaller caller(servers_, owner, "orders", 1);
  v1::MoveTargetRequest move;
  move.set_target("orders");
  move.set_member(Deployment::NameOf(to));
  move.set_actor("ann");
  move.set_reason("nearer");
  EXPECT_EQ(CallRpc(At(owner), &v1::ClusterService::Stub::MoveTarget, move).error_message(), "");
  EXPECT_TRUE(WaitUntil([&] { return servers_.OwnerNumber("orders") == to; }));
  const int64_t asked = caller.asked();
  EXPECT_TRUE(WaitUntil([&] { return caller.asked() > asked + 50; }));
  caller.Stop();
  EXPECT_EQ(caller.failed(), 0) << caller.last_error();
}

TEST_F(Operators, AServerThatIsDrainedOwnsNothingUntilItIsUndrained) {
  const int owner = servers_.AwaitOwnerNumber("orders");
  const auto is_without = [&] {
    return std::ranges::none_of(servers_.targets(), [&](const std::string& target) {
      return servers_.OwnerNumber(target) == owner;
    });
  };
  v1::DrainMemberRequest drain;
  drain.set_member(Deployment::NameOf(owner));
  drain.set_actor("ann");
  drain.set_reason("its node goes");
  EXPECT_EQ(CallRpc(At(owner), &v1::ClusterService::Stub::DrainMember, drain).error_message(), "");
  EXPECT_TRUE(WaitUntil(is_without));
  // It still answers for all.
  EXPECT_EQ(Verdict(owner, "orders"), v1::VERDICT_ALLOWED);
  EXPECT_TRUE(WaitUntil([&] {
    const auto members = AnswerOf(At(0), &v1::ClusterService::Stub::ListMembers);
    return members.cluster().members(owner).is_drained();
  }));
  v1::UndrainMemberRequest undrain;
  undrain.set_member(drain.member());
  undrain.set_actor("ann");
  undrain.set_reason("it is back");
  EXPECT_EQ(CallRpc(At(0), &v1::ClusterService::Stub::UndrainMember, undrain).error_message(), "");
  EXPECT_TRUE(WaitUntil([&] { return !is_without(); }));
}

TEST_F(Operators, StatusIsThatOfAllAndNamesWhoDoesNotAnswer) {
  for (const std::string& target : servers_.targets()) Verdict(0, target);
  const int owner = servers_.AwaitOwnerNumber("orders");
  const int other = (owner + 1) % servers_.size();
  const auto status = AnswerOf(At(other), &v1::StatusService::Stub::GetStatus);
  EXPECT_GE(status.permits_outstanding(), 3);
  ASSERT_EQ(status.cluster().targets_size(), 3);
  EXPECT_EQ(status.cluster().targets(1).owner(), Deployment::NameOf(owner));
  servers_[owner].Signal(SIGSTOP);
  const auto without = AnswerOf(At(other), &v1::StatusService::Stub::GetStatus);
  EXPECT_NE(without.cluster().members(owner).error(), "");
  servers_[owner].Signal(SIGCONT);
}

}  // namespace
}  // namespace headgate
