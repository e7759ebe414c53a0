// What operators do where several servers share their targets: whichever of them is asked.

#include <headgate/v1/cluster_service.grpc.pb.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>

#include <string>

#include "absl/strings/str_cat.h"
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
  v1::DeleteOverrideResponse EndPause(int server, const v1::CreateOverrideResponse& made) {
    v1::DeleteOverrideRequest end;
    end.set_id(made.override().id());
    end.set_actor("bob");
    end.set_reason("it is out");
    return AnswerOf(At(server), &v1::OverrideService::Stub::DeleteOverride, end);
  }

  Deployment servers_;
};

TEST_F(Operators, APauseHoldsEverywhereBeforeItsAnswer) {
  // Whoever has not said within a second that it holds is named in the answer: one more is made
  // then, as a machine that stands still for so long does not always do so.
  v1::CreateOverrideResponse made = Pause(0);
  int pauses = 1;
  for (; pauses < 5 && !made.servers_not_reached().empty(); ++pauses) {
    EndPause(0, made);
    made = Pause(0);
  }
  EXPECT_THAT(made.servers_not_reached(), IsEmpty());
  for (const std::string& target : servers_.targets()) {
    EXPECT_EQ(Verdict(1, target), v1::VERDICT_DENIED) << target;
  }
  const v1::DeleteOverrideResponse ended = EndPause(2, made);
  for (const std::string& target : servers_.targets()) {
    const auto is_over = [&] { return Verdict(0, target) == v1::VERDICT_ALLOWED; };
    // Who was named follows with its next round.
    EXPECT_TRUE(ended.servers_not_reached().empty() ? is_over() : WaitUntil(is_over)) << target;
  }
  const auto events = AnswerOf(At(1), &v1::OverrideService::Stub::ListOverrideEvents);
  EXPECT_THAT(events.events(), SizeIs(2 * pauses));
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

// By whom the one lease that there is, is held; "none", or how many there are. An overdue one is
// one too: the machine may be slow.
std::string HolderOfOne(const Peer& peer) {
  const v1::ListLeasesResponse listed = AnswerOf(peer, &v1::StatusService::Stub::ListLeases);
  const int64_t leases = listed.leases() + listed.overdue();
  if (leases != 1 || listed.holders_size() != 1) return absl::StrCat(leases, " leases");
  const v1::LeaseHolder& holder = listed.holders(0);
  return absl::StrCat(holder.target(), " ", holder.identity().empty() ? "?" : holder.identity());
}

TEST_F(Operators, ALeaseIsSeenOnceWhicheverServerIsAskedAndGoesWithItsTarget) {
  ASSERT_TRUE(servers_.AwaitPlaces());
  const int owner = servers_.OwnerNumber("orders");
  v1::CheckRequest lease;
  lease.set_identity("job:etl");
  lease.set_target("orders");
  lease.set_estimated_cost(40);
  lease.mutable_lease()->set_least(1);
  lease.mutable_lease()->mutable_time()->set_seconds(10);
  const int to = (owner + 1) % servers_.size();
  ASSERT_EQ(AnswerOf(At(to), &v1::ThrottlerService::Stub::Check, lease).decision().verdict(),
            v1::VERDICT_ALLOWED);
  for (int server = 0; server < servers_.size(); ++server) {
    EXPECT_TRUE(WaitUntil([&] { return HolderOfOne(At(server)) == "orders job:etl"; }))
        << server << ": " << HolderOfOne(At(server));
  }
  v1::MoveTargetRequest move;
  move.set_target("orders");
  move.set_member(Deployment::NameOf(to));
  move.set_actor("ann");
  move.set_reason("nearer");
  EXPECT_EQ(CallRpc(At(owner), &v1::ClusterService::Stub::MoveTarget, move).error_message(), "");
  for (int server = 0; server < servers_.size(); ++server) {
    EXPECT_TRUE(WaitUntil([&] { return HolderOfOne(At(server)) == "orders ?"; }))
        << server << ": " << HolderOfOne(At(server));
  }
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
  // Else targets go where they belong in the middle of it.
  ASSERT_TRUE(servers_.AwaitPlaces());
  for (const std::string& target : servers_.targets()) Verdict(0, target);
  const int owner = servers_.OwnerNumber("orders");
  const int other = (owner + 1) % servers_.size();
  // A server knows of an owner by its own rounds, and who does not answer within a second is left
  // out.
  v1::GetStatusResponse status;
  EXPECT_TRUE(WaitUntil([&] {
    status = AnswerOf(At(other), &v1::StatusService::Stub::GetStatus);
    return status.permits_outstanding() >= 3 && status.cluster().targets_size() == 3 &&
           status.cluster().targets(1).owner() == Deployment::NameOf(owner);
  })) << status.DebugString();
  // Who has said nothing to the store for its whole lease is not here any more, and is not asked:
  // once more where the machine stood still for so long.
  std::string error;
  for (int tries = 0; tries < 5 && error.empty(); ++tries) {
    ASSERT_TRUE(servers_.AwaitOwners(owner));
    servers_[owner].Signal(SIGSTOP);
    status = AnswerOf(At(other), &v1::StatusService::Stub::GetStatus);
    servers_[owner].Signal(SIGCONT);
    for (const v1::MemberStatus& member : status.cluster().members()) {
      if (member.name() == Deployment::NameOf(owner)) error = member.error();
    }
  }
  EXPECT_NE(error, "") << status.DebugString();
}

}  // namespace
}  // namespace headgate
