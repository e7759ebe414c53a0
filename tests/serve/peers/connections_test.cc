// Which connections there are to other servers, as those join, move and leave.

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"
#include "tests/serve/peers/silent_peer.h"

namespace headgate::peers {
namespace {

using rpc::Waiting;
using rpc::WaitingCaller;
using OwnerKind = cluster::Owner::Kind;

bool HasConnections(OneOfSeveral& server, size_t count) {
  return WaitUntil([&] { return server.connections->size() == count; });
}

// Those that are retired still have a channel until they have ended.
bool HasChannels(OneOfSeveral& server, int64_t count) {
  return WaitUntil([&] { return server.LiveChannels() == count; });
}

TEST(PeerConnections, APeerThatChangesItsAddressLeavesOneConnection) {
  Servers servers(2);
  for (int i = 0; i < 5; ++i) {
    servers.Kill(1);
    servers.Start(1);
    EXPECT_EQ(servers[0].Decide(CheckAt("t1", "job:etl", 1)).verdict(), v1::VERDICT_ALLOWED);
  }
  EXPECT_TRUE(HasConnections(servers[0], 1));
  EXPECT_TRUE(HasChannels(servers[0], 1));
}

TEST(PeerConnections, APeerThatLeftTheMembershipHasNoneAndIsNotReached) {
  Servers servers(3);
  const std::string address = servers[2].own_address;
  ASSERT_TRUE(HasConnections(servers[0], 2));
  servers.LeaveMembership(2);
  EXPECT_TRUE(HasConnections(servers[0], 1));
  EXPECT_TRUE(HasChannels(servers[0], 1));
  EXPECT_EQ(servers[0].connections->ChannelTo(address), nullptr);
  EXPECT_EQ(servers[0].connections->StreamTo(address), nullptr);
  // A call to it is held until there is an owner that can be reached.
  WaitingCaller caller(servers[0].caller, CheckAt("t2", "job:etl", 1));
  ASSERT_TRUE(WaitUntil([&] { return servers[0].forwarder->held() == 1; }));
  EXPECT_EQ(servers[0].LiveChannels(), 1);
  servers.Give("t2", 1);
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[2].permits(), 0U);
}

TEST(PeerConnections, APeerThatComesBackIsReachedAgain) {
  Servers servers(2);
  ASSERT_TRUE(HasConnections(servers[0], 1));
  servers.LeaveMembership(1);
  ASSERT_TRUE(HasConnections(servers[0], 0));
  servers.shared().members.Join(servers[1].own_address);
  EXPECT_EQ(servers[0].Decide(CheckAt("t1", "job:etl", 1)).verdict(), v1::VERDICT_ALLOWED);
}

TEST(PeerConnections, QuestionsAndCallsShareOneChannel) {
  Servers servers(2);
  EXPECT_EQ(servers[0].Decide(CheckAt("t1", "job:etl", 1)).verdict(), v1::VERDICT_ALLOWED);
  const auto status = AnswerOf(servers[0].caller, &v1::StatusService::Stub::GetStatus);
  ASSERT_EQ(status.cluster().members_size(), 2);
  EXPECT_EQ(status.cluster().members(1).error(), "");
  EXPECT_EQ(servers[0].LiveChannels(), 1);
}

TEST(PeerConnections, WhatWasNotSentGoesToTheNextOwnerOnceAndWhatWasSentFails) {
  Servers servers(2);
  SilentPeer silent(servers.shared());
  servers.shared().members.Join(silent.address());
  servers[0].owners.Set("t1", {.kind = OwnerKind::kOther, .address = silent.address()});
  constexpr int kCalls = ForwardStream::kUnderWay + 3;
  std::vector<std::unique_ptr<WaitingCaller>> callers;
  for (int i = 0; i < kCalls; ++i) {
    callers.push_back(
        std::make_unique<WaitingCaller>(servers[0].caller, CheckAt("t1", "job:etl", 1)));
    const bool is_sent = i < ForwardStream::kUnderWay;
    ASSERT_TRUE(WaitUntil([&] {
      return is_sent ? silent.calls() == i + 1
                     : servers[0].forwarder->taken_bytes() > i * OutgoingCall::kBytesOfCall;
    }));
  }
  servers[0].owners.Set("t1", {.kind = OwnerKind::kOther, .address = servers[1].own_address});
  servers.shared().members.Leave(silent.address());
  for (int i = ForwardStream::kUnderWay; i < kCalls; ++i) {
    EXPECT_EQ(callers[i]->Decision().verdict(), v1::VERDICT_ALLOWED) << i;
  }
  ASSERT_TRUE(servers.GivesUp(0));
  for (int i = 0; i < ForwardStream::kUnderWay; ++i) {
    EXPECT_EQ(callers[i]->Status().error_code(), grpc::StatusCode::UNAVAILABLE) << i;
    EXPECT_EQ(DetailsOf(callers[i]->Status()).reason, "OWNER_LOST") << i;
    EXPECT_TRUE(DetailsOf(callers[i]->Status()).retry) << i;
  }
  EXPECT_EQ(servers[1].permits(), 3U);
  EXPECT_EQ(silent.calls(), ForwardStream::kUnderWay);
  EXPECT_TRUE(WaitUntil([&] { return servers[0].forwarder->taken_bytes() == 0; }));
  EXPECT_TRUE(HasChannels(servers[0], 1));
}

TEST(PeerConnections, AnAnswerThatComesSoonAfterThePeerLeftIsDelivered) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  WaitingCaller caller(servers[0].caller, WaitingAt("t1", 10));
  ASSERT_TRUE(Waiting(servers[1], 1));
  servers.LeaveMembership(1);
  ASSERT_TRUE(HasConnections(servers[0], 0));
  servers.Advance(absl::Seconds(1));
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[1].permits(), 2U);
  EXPECT_TRUE(HasChannels(servers[0], 0));
  EXPECT_EQ(servers[1].permits(), 2U);
}

TEST(PeerConnections, WhoWaitsAtAPeerThatLeftIsToldSoAndLeavesItsLine) {
  Servers servers(2);
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  WaitingCaller caller(servers[0].caller, WaitingAt("t1", 50));
  ASSERT_TRUE(Waiting(servers[1], 1));
  servers.LeaveMembership(1);
  ASSERT_TRUE(HasConnections(servers[0], 0));
  ASSERT_TRUE(servers.GivesUp(0));
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(caller.Status()).reason, "OWNER_LOST");
  EXPECT_TRUE(Waiting(servers[1], 0));
  EXPECT_EQ(servers[1].permits(), 1U);
  EXPECT_TRUE(HasChannels(servers[0], 0));
}

}  // namespace
}  // namespace headgate::peers
