// What is told of refusals, and how often.

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "tests/security/access_fixture.h"

namespace headgate::security {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(RefusalsTold, AreFewAndCountedAll) {
  GuardedServer server;
  const Peer backfill = server.WithUri(kBackfill);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(GuardedServer::Check(backfill, "etl"), 'P');
  EXPECT_THAT(server.denied,
              ElementsAre("identity backfill +0", "identity backfill +0", "identity backfill +0",
                          "identity backfill +0", "identity backfill +0"));
  server.clock.Advance(absl::Seconds(1));
  EXPECT_EQ(GuardedServer::Check(server.Bare(), "etl"), 'U');
  EXPECT_EQ(server.denied.back(), "unauthenticated  +15");
  EXPECT_EQ(server.access.refusals()[static_cast<size_t>(access::RefusalReason::kIdentity)], 20U);
  EXPECT_EQ(server.access.refusals()[static_cast<size_t>(access::RefusalReason::kUnauthenticated)],
            1U);
}

class PeersTold : public testing::Test {
 protected:
  // Of the one refusal that the call leads to.
  std::string PeerOf(const std::function<void()>& call) {
    server_.clock.Advance(absl::Seconds(1));
    server_.denied_peers.clear();
    call();
    EXPECT_EQ(server_.denied_peers.size(), 1U);
    return server_.denied_peers.empty() ? "" : server_.denied_peers.front();
  }

  GuardedServer server_;
  const Peer backfill_ = server_.WithUri(kBackfill);
};

TEST_F(PeersTold, AreThoseOfEveryKindOfRefusal) {
  const std::string peer = PeerOf([&] { GuardedServer::Check(backfill_, "etl"); });
  EXPECT_THAT(peer, StartsWith("ipv4:127.0.0.1:"));
  EXPECT_EQ(PeerOf([&] { GuardedServer::Check(backfill_, "vip:backfill"); }), peer);
  EXPECT_EQ(PeerOf([&] { GuardedServer::Report(backfill_, 4711); }), peer);
  EXPECT_EQ(PeerOf([&] { GuardedServer::TryToPause(backfill_, "ann", "stuck"); }), peer);
  EXPECT_EQ(PeerOf([&] { CallRpc(backfill_, &v1::StatusService::Stub::GetStatus); }), peer);
  EXPECT_EQ(PeerOf([&] { CallRpc(backfill_, &v1::ThrottleLogService::Stub::ListDenials); }), peer);
  v1::CheckRequest urgent = CheckOf("backfill", 1);
  (*urgent.mutable_tags())["urgent"] = "true";
  const Peer dba = server_.Certified({.dns = {"dba.example"}});
  const std::string other = PeerOf([&] { GuardedServer::Check(dba, urgent); });
  EXPECT_THAT(other, StartsWith("ipv4:127.0.0.1:"));
  EXPECT_NE(other, peer);
}

TEST_F(PeersTold, AreThoseOfBatchesStreamsAndStrangers) {
  const std::string peer = PeerOf([&] { GuardedServer::Check(backfill_, "etl"); });
  EXPECT_EQ(PeerOf([&] {
              v1::BatchCheckRequest request;
              *request.add_checks() = CheckOf("etl", 1);
              CallRpc(backfill_, &v1::ThrottlerService::Stub::BatchCheck, request);
            }),
            peer);
  EXPECT_EQ(PeerOf([&] {
              OpenStream open(backfill_);
              EXPECT_TRUE(open.Exchange());
              open.Close();
            }),
            peer);
  const std::string stranger = PeerOf([&] { GuardedServer::Check(server_.Bare(), "etl"); });
  EXPECT_THAT(stranger, StartsWith("ipv4:127.0.0.1:"));
  EXPECT_NE(stranger, peer);
}

}  // namespace
}  // namespace headgate::security
