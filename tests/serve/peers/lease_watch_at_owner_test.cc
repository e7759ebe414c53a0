// Orders about leases of a target that another server decides for.

#include <string>

#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

using rpc::WaitingCaller;

v1::CheckRequest WatchAt(const std::string& target, uint64_t state) {
  v1::CheckRequest request;
  request.set_identity("job:etl");
  request.set_target(target);
  request.set_validate_only(true);
  request.mutable_max_wait()->set_seconds(600);
  request.mutable_lease()->mutable_watch()->set_state(state);
  return request;
}

class LeaseWatchAtOwner : public testing::Test {
 protected:
  bool IsWatched(int server) {
    return WaitUntil([&] { return servers_[server].line_stats().watches == 1; });
  }
  // In force at this server alone: what the others know does not count.
  void Pause(int server) {
    engine::PolicySpec paused = servers_.shared().policy;
    paused.rules.push_back(engine::RuleOn("pause", "etl", engine::DenyAction{}));
    ASSERT_TRUE(
        servers_[server].engine.Install(std::move(paused), servers_.shared().clock.Read()).ok());
  }
  Servers servers_{2};
};

TEST_F(LeaseWatchAtOwner, HearsOfWhatTheOwnerKnows) {
  const v1::Decision here = servers_[1].Decide(WatchAt("t1", 0));
  EXPECT_EQ(servers_[0].Decide(WatchAt("t1", 0)).lease().state(), here.lease().state());
  WaitingCaller caller(servers_[0].caller, WatchAt("t1", here.lease().state()));
  ASSERT_TRUE(IsWatched(1));
  EXPECT_EQ(servers_[0].line_stats().watches, 0);
  Pause(1);
  EXPECT_NE(caller.Decision().lease().state(), here.lease().state());
}

TEST_F(LeaseWatchAtOwner, EndsWithTheOwner) {
  const uint64_t state = servers_[0].Decide(WatchAt("t1", 0)).lease().state();
  WaitingCaller caller(servers_[0].caller, WatchAt("t1", state));
  ASSERT_TRUE(IsWatched(1));
  servers_[1].Stop();
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(LeaseWatchAtOwner, ThatIsLeftLeavesNothingBehind) {
  const uint64_t state = servers_[0].Decide(WatchAt("t1", 0)).lease().state();
  WaitingCaller caller(servers_[0].caller, WatchAt("t1", state));
  ASSERT_TRUE(IsWatched(1));
  caller.context.TryCancel();
  EXPECT_TRUE(WaitUntil([&] { return servers_[1].line_stats().watches == 0; }));
  EXPECT_TRUE(WaitUntil([&] { return servers_[0].forwarder->taken_bytes() == 0; }));
}

// Nobody knows of its gates then.
TEST(LeaseWatchWithoutAnOwner, IsUnavailableAndNotApproximate) {
  Servers servers(2, {}, Servers::OnStoreLoss::kApproximate);
  servers.Give("t1", -1);
  servers.LoseStore(2);
  v1::CheckRequest request = WatchAt("t1", 0);
  WaitingCaller caller(servers[0].caller, request);
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace headgate::peers
