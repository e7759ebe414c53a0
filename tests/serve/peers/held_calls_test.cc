// Nobody owns the target, its owner changes, dies, or says nothing any more.

#include <atomic>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

using rpc::WaitingCaller;

bool Holds(OneOfSeveral& server, size_t count) {
  return WaitUntil([&] { return server.forwarder->held() == count; });
}

TEST(Hold, CheckWaitsForAnOwnerAndIsDecidedThere) {
  Servers servers(2);
  servers.Give("t1", -1);
  WaitingCaller caller(servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[0], 1));
  servers.Give("t1", 1);
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(Hold, CheckIsDecidedHereIfThatBecomesTheOwner) {
  Servers servers(2);
  servers.Give("t1", -1);
  WaitingCaller caller(servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[0], 1));
  servers.Give("t1", 0);
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[0].permits(), 1U);
}

TEST(Hold, HeldCheckMayThenWaitInLineHere) {
  Servers servers(2);
  EXPECT_EQ(servers[0].Decide(CheckAt("t0", "job:etl", 100)).verdict(), v1::VERDICT_ALLOWED);
  servers.Give("t0", -1);
  v1::CheckRequest check = rpc::WaitingCheck("job:etl", 50);
  check.set_target("t0");
  WaitingCaller caller(servers[0].caller, check);
  ASSERT_TRUE(Holds(servers[0], 1));
  servers.Give("t0", 0);
  ASSERT_TRUE(rpc::Waiting(servers[0], 1));
  servers.Advance(absl::Seconds(5));
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
}

// A server with an older file takes calls about a newer target all the same.
TEST(Hold, ATargetThatAnotherServerHasIsForwardedThoughThisOneLacksIt) {
  Servers servers(2);
  engine::PolicySpec older = servers.shared().policy;
  older.targets.pop_back();
  ASSERT_TRUE(servers[0].engine.Install(older, servers.shared().clock.Read()).ok());
  EXPECT_EQ(servers[0].Decide(CheckAt("t1", "job:etl", 5)).verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[1].permits(), 1U);
}

// It was somebody's, and those who had it are gone.
TEST(Hold, ATargetThatNobodyHasIsHeldAndOneThatNobodyEverHadIsNotFound) {
  Servers servers(2);
  servers[0].owners.Set("gone", {.kind = cluster::Owner::Kind::kNobody, .generation = 3});
  WaitingCaller caller(servers[0].caller, CheckAt("gone", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[0], 1));
  servers.Advance(absl::Seconds(60));
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(caller.Status()).reason, "NO_OWNER");
  EXPECT_TRUE(DetailsOf(caller.Status()).retry);
  EXPECT_EQ(servers[0].Try(CheckAt("never", "job:etl", 5)).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

// A reload has just lost it, and it is about to be given away.
TEST(Hold, WhatAServerOwnsAndDoesNotHaveAnyMoreIsHeld) {
  Servers servers(2);
  engine::PolicySpec older = servers.shared().policy;
  older.targets.pop_back();
  ASSERT_TRUE(servers[1].engine.Install(older, servers.shared().clock.Read()).ok());
  WaitingCaller here(servers[1].caller, CheckAt("t1", "job:etl", 5));
  WaitingCaller there(servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[1], 1));
  ASSERT_TRUE(WaitUntil([&] { return servers[0].forwarder->returned() > 0; }));
  servers.Give("t1", 0);
  EXPECT_EQ(there.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(here.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[0].permits(), 2U);
}

TEST(Hold, EndsWithUnavailableAndWhenToRetryBeforeTheDeadline) {
  Servers servers(2);
  servers.Give("t1", -1);
  WaitingCaller caller(servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[0], 1));
  servers.Advance(absl::Seconds(60));
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(caller.Status()).reason, "NO_OWNER");
  EXPECT_TRUE(DetailsOf(caller.Status()).retry);
}

TEST(Hold, CallerThatLeavesIsHeldNoLonger) {
  Servers servers(2);
  servers.Give("t1", -1);
  WaitingCaller caller(servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[0], 1));
  caller.context.TryCancel();
  EXPECT_TRUE(Holds(servers[0], 0));
  EXPECT_TRUE(WaitUntil([&] { return servers[0].forwarder->taken_bytes() == 0; }));
}

TEST(Hold, StoppingServerSaysSo) {
  Servers servers(2);
  servers.Give("t1", -1);
  WaitingCaller caller(servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[0], 1));
  servers[0].Stop();
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
}

// It stops while a thread looks where held calls may go, and so has them in its hands.
TEST(Hold, CallThatIsBeingRoutedWhenTheForwarderClosesIsNotHeldAnyMore) {
  Servers servers(2);
  servers.Give("t1", -1);
  WaitingCaller caller(servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[0], 1));
  servers[0].owners.OnNextQuestion([&] { servers[0].forwarder->Close(); });
  // The clock stands still: no other end would come.
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(caller.Status()).reason, "SHUTTING_DOWN");
}

// The owner is found, the forwarder closes, and then the call would be sent to wait there.
TEST(Hold, CallThatWouldWaitIsNotSentOnceTheForwarderIsClosed) {
  Servers servers(2);
  servers[0].Decide(CheckAt("t1", "job:etl", 100));
  const std::string owner = servers[1].own_address;
  const auto stream = servers[0].connections->StreamTo(owner);
  servers[0].forwarder->Close();
  std::atomic<int64_t> bytes{0};
  const auto sent = [&](bool waits) {
    return stream->Send(std::make_shared<OutgoingCallOf<v1::CheckResponse>>(
        Destination{.address = owner}, waits, ForwardedCall(), bytes));
  };
  EXPECT_FALSE(sent(true));
}

// The two do not agree who the owner is, as in the moment of a handover.
TEST(Hold, ForwardIsNeverForwardedAgain) {
  Servers servers(3);
  using Kind = cluster::Owner::Kind;
  servers[1].owners.Set("t1", {.kind = Kind::kOther, .address = servers[2].address()});
  servers[2].owners.Set("t1", {.kind = Kind::kOther, .address = servers[1].address()});
  WaitingCaller caller(servers[0].caller, CheckAt("t1", "job:etl", 5));
  // It goes back and forth between the first two, and no further.
  ASSERT_TRUE(WaitUntil([&] { return servers[0].forwarder->returned() > 3; }));
  EXPECT_EQ(servers[2].permits() + servers[1].permits(), 0U);
  servers[1].owners.Set("t1", {.kind = Kind::kSelf});
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(servers[1].permits(), 1U);
}

TEST(Hold, WaitsForAPeerThatCannotBeReachedYet) {
  Servers servers(2);
  using Kind = cluster::Owner::Kind;
  servers.shared().members.Join("127.0.0.1:1");
  servers[0].owners.Set("t1", {.kind = Kind::kOther, .address = "127.0.0.1:1"});
  WaitingCaller caller(servers[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(Holds(servers[0], 1));
  servers[0].owners.Set("t1", {.kind = Kind::kOther, .address = servers[1].address()});
  EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(Hold, OwnerThatDiesFailsWhatItHasAndOneRetryGoesToTheNext) {
  Servers servers(3);
  EXPECT_EQ(servers[1].Decide(CheckAt("t1", "job:etl", 100)).verdict(), v1::VERDICT_ALLOWED);
  v1::CheckRequest check = rpc::WaitingCheck("job:etl", 50);
  check.set_target("t1");
  WaitingCaller caller(servers[0].caller, check);
  ASSERT_TRUE(rpc::Waiting(servers[1], 1));
  servers.Kill(1);
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(DetailsOf(caller.Status()).retry);
  WaitingCaller again(servers[0].caller, check);
  ASSERT_TRUE(Holds(servers[0], 1));
  servers.Give("t1", 2);
  EXPECT_EQ(again.Decision().verdict(), v1::VERDICT_ALLOWED);
}

TEST(Hold, ReportThatNobodyAnswersEndsWithUnavailable) {
  Servers servers(3);
  const uint64_t permit = servers[0].Decide(CheckAt("t1", "job:etl", 40)).permit_id();
  servers.shared().members.Join("127.0.0.1:1");
  servers.LeaveMembership(2);
  v1::ReportRequest request;
  request.add_reports()->set_permit_id(permit);
  // The one that issued it answers, so that the other does not matter.
  rpc::ThreadedCall<v1::ReportRequest, v1::ReportResponse> settled(
      servers[0].caller, &v1::ThrottlerService::Stub::Report, request);
  ASSERT_TRUE(Holds(servers[0], 1));
  servers.Advance(absl::Seconds(1));
  EXPECT_EQ(settled.Answer().results(0).outcome(), v1::REPORT_OUTCOME_SETTLED);
  request.mutable_reports(0)->set_permit_id(12345);
  rpc::ThreadedCall<v1::ReportRequest, v1::ReportResponse> unknown(
      servers[0].caller, &v1::ThrottlerService::Stub::Report, request);
  ASSERT_TRUE(Holds(servers[0], 1));
  servers.Advance(absl::Seconds(1));
  EXPECT_EQ(unknown.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace headgate::peers
