// A peer that takes what it is sent and says nothing.

#include "tests/serve/peers/silent_peer.h"

#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

struct WithSilentPeer {
  WithSilentPeer() {
    servers.shared().members.Join(silent.address());
    servers[0].owners.Set("t1",
                          {.kind = cluster::Owner::Kind::kOther, .address = silent.address()});
  }
  bool HasCalls(int count) {
    return WaitUntil([&] { return silent.calls() == count; });
  }
  bool Holds(size_t count) {
    return WaitUntil([&] { return servers[0].forwarder->held() == count; });
  }
  // Messages of each server. Both have a stream to every member.
  int Ignored() const { return silent.IgnoredOfEach(2); }
  // That the members are followed once more, and then anew, says that there were ticks.
  void AwaitTicks() {
    const SilentPeer another(servers.shared());
    servers.shared().members.Join(another.address());
    ASSERT_TRUE(WaitUntil([&] { return servers[0].connections->size() == 3; }));
    servers.shared().members.Leave(another.address());
    ASSERT_TRUE(WaitUntil([&] { return servers[0].connections->size() == 2; }));
  }

  Servers servers{2};
  SilentPeer silent{servers.shared()};
};

TEST(SilentPeer, FailsWhatItWasSentAfterAWhile) {
  WithSilentPeer with;
  rpc::WaitingCaller caller(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.HasCalls(1));
  ASSERT_TRUE(with.servers.GivesUp(0));
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(caller.Status()).reason, "OWNER_LOST");
}

TEST(SilentPeer, IsNoticedByThoseWhoWaitThere) {
  WithSilentPeer with;
  v1::CheckRequest check = rpc::WaitingCheck("job:etl", 50);
  check.set_target("t1");
  rpc::WaitingCaller caller(with.servers[0].caller, check);
  ASSERT_TRUE(with.HasCalls(1));
  // It is asked whether it is there first.
  EXPECT_TRUE(with.servers.GivesUp(0));
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(SilentPeer, NextOwnerAnswersTheRetry) {
  WithSilentPeer with;
  rpc::WaitingCaller caller(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.HasCalls(1));
  ASSERT_TRUE(with.servers.GivesUp(0));
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  with.servers.Give("t1", 1);
  EXPECT_EQ(with.servers[0].Decide(CheckAt("t1", "job:etl", 5)).verdict(), v1::VERDICT_ALLOWED);
}

// Once is enough: the caller knows then that nobody knows.
TEST(SilentPeer, LosesNoCallAgain) {
  WithSilentPeer with;
  rpc::WaitingCaller caller(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.HasCalls(1));
  ASSERT_TRUE(with.servers.GivesUp(0));
  EXPECT_EQ(DetailsOf(caller.Status()).reason, "OWNER_LOST");
  rpc::WaitingCaller again(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.Holds(1));
  // It is asked once more on a stream of its own, and then on another, by both servers.
  const int ignored = with.Ignored();
  ASSERT_TRUE(WaitUntil([&] {
    with.servers.Advance(ForwardStream::kLateTick / 10);
    return with.Ignored() >= ignored + 2;
  }));
  EXPECT_EQ(with.silent.calls(), 1);
  with.servers.Give("t1", 1);
  EXPECT_EQ(again.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(SilentPeer, IsSentNothingMoreOnceACallIsInDoubt) {
  WithSilentPeer with;
  rpc::WaitingCaller first(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.HasCalls(1));
  with.servers.Advance(ForwardStream::kDoubt);
  with.AwaitTicks();
  rpc::WaitingCaller second(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.Holds(1));
  with.servers.Give("t1", 1);
  EXPECT_EQ(second.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(with.silent.calls(), 1);
  EXPECT_TRUE(with.servers.GivesUp(0));
}

TEST(SilentPeer, IsNoticedBeforeItIsSentACall) {
  WithSilentPeer with;
  // It is there at first.
  ASSERT_TRUE(WaitUntil([&] { return with.servers[0].connections->size() == 2; }));
  with.AwaitTicks();
  with.silent.FallSilent();
  ASSERT_TRUE(WaitUntil([&] {
    with.servers.Advance(ForwardStream::kLateTick / 5);
    return with.Ignored() > 0;
  }));
  with.servers.Advance(ForwardStream::kDoubt);
  with.AwaitTicks();
  rpc::WaitingCaller caller(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.Holds(1));
  with.servers.Give("t1", 1);
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(with.silent.calls(), 0);
}

// As after a pause of its machine: what the peers have answered lies here unread.
TEST(SilentPeer, IsNotBlamedWhereTheServerItselfStoodStill) {
  WithSilentPeer with;
  rpc::WaitingCaller caller(with.servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(with.HasCalls(1));
  with.servers.Advance(absl::Minutes(10));
  with.AwaitTicks();
  EXPECT_GT(with.servers[0].forwarder->taken_bytes(), 0);
  EXPECT_TRUE(with.servers.GivesUp(0));
}

}  // namespace
}  // namespace headgate::peers
