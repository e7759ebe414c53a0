// Rights across forwarding are those of a caller who asks the owner itself, and nobody but a peer
// may say who somebody is.

#include <string>

#include "gtest/gtest.h"
#include "tests/govern/access/literal_evidence.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

constexpr char kToken[] = "auditor-0123456789abcdef0123456789abcdef";

access::PolicySpec Policy() {
  access::PolicySpec spec;
  spec.callers = {{.name = "backfill",
                   .certificate = "URI:spiffe://prod/ns/jobs/sa/backfill",
                   .identities = {"etl", "vip"},
                   .tags = {{"urgent", "true"}},
                   .segments = {"vip"}},
                  {.name = "auditor", .token = "auditor", .identities = {"etl"}},
                  {.name = "rest", .anybody = true, .identities = {"batch"}}};
  spec.protected_tags = {{"urgent", "true"}};
  spec.protected_segments = {"vip"};
  return spec;
}

struct Guarded {
  Guarded() {
    for (int i = 0; i < 2; ++i) {
      servers[i].access.SetTokens(access::BookOf(access::TokenLine("auditor", kToken)));
      servers[i].access.SetPolicy(Policy());
    }
  }
  // The same caller, at one server.
  Peer As(const std::string& who, int server) {
    if (who == "backfill") return servers[server].caller;
    const TestCertificate other = servers.shared().authority.Sign({.uri = {"spiffe://other"}});
    Peer peer = servers[server].Connect(other);
    if (who == "auditor") peer.authorization = access::Bearer(kToken);
    return peer;
  }

  Servers servers{2};
};

TEST(ForwardAccess, MatrixIsThatOfTheOwner) {
  Guarded guarded;
  int refused = 0;
  for (const std::string who : {"backfill", "auditor", "nobody"}) {
    const Peer forwarded = guarded.As(who, 0), direct = guarded.As(who, 1);
    for (const std::string identity : {"job:etl", "vip:batch", "vip:etl", "job:batch", "x:y"}) {
      for (const bool urgent : {false, true}) {
        v1::CheckRequest check = CheckAt("t1", identity, 0.5);
        if (urgent) (*check.mutable_tags())["urgent"] = "true";
        const auto ask = &v1::ThrottlerService::Stub::Check;
        const grpc::Status there = CallRpc(direct, ask, check);
        const grpc::Status here = CallRpc(forwarded, ask, check);
        SCOPED_TRACE(absl::StrCat(who, " ", identity, " ", urgent));
        EXPECT_EQ(here.error_code(), there.error_code());
        EXPECT_EQ(here.error_message(), there.error_message());
        if (!there.ok()) {
          EXPECT_EQ(DetailsOf(here).reason, DetailsOf(there).reason);
          EXPECT_EQ(DetailsOf(here).metadata, DetailsOf(there).metadata);
        }
        refused += here.ok() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_LT(refused, 30);
}

TEST(ForwardAccess, PermitIsItsCallersOnlyWhereverItIsReported) {
  Guarded guarded;
  const auto permit_of = [&](const Peer& peer) {
    return AnswerOf(peer, &v1::ThrottlerService::Stub::Check, CheckAt("t1", "job:etl", 1))
        .decision()
        .permit_id();
  };
  const auto report = [](const Peer& peer, uint64_t permit) {
    v1::ReportRequest request;
    request.add_reports()->set_permit_id(permit);
    return AnswerOf(peer, &v1::ThrottlerService::Stub::Report, request).results(0);
  };
  const uint64_t permit = permit_of(guarded.As("backfill", 0));
  EXPECT_EQ(report(guarded.As("auditor", 0), permit).error().code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(report(guarded.As("backfill", 0), permit).outcome(), v1::REPORT_OUTCOME_SETTLED);
  // Counted once, by the server that the caller called.
  const auto permits = static_cast<size_t>(access::RefusalReason::kPermit);
  EXPECT_EQ(guarded.servers[0].access.refusals()[permits], 1U);
  EXPECT_EQ(guarded.servers[1].access.refusals()[permits], 0U);
}

TEST(ForwardAccess, WhoIsNotKnownIsRefusedBeforeAnythingIsForwarded) {
  Guarded guarded;
  access::PolicySpec strict = Policy();
  strict.callers.pop_back();
  guarded.servers[0].access.SetPolicy(strict);
  EXPECT_EQ(CallRpc(guarded.As("nobody", 0), &v1::ThrottlerService::Stub::Check,
                    CheckAt("t1", "job:batch", 1))
                .error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

TEST(ForwardAccess, CallerThatTheOwnerDoesNotKnowIsRefusedThere) {
  Guarded guarded;
  access::PolicySpec without = Policy();
  without.callers.erase(without.callers.begin());
  guarded.servers[1].access.SetPolicy(without);
  const grpc::Status status = guarded.servers[0].Try(CheckAt("t1", "job:etl", 1));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(DetailsOf(status).reason, "UNKNOWN_CALLER");
}

// Rights that are taken away while a Check waits at the owner.
TEST(ForwardAccess, WhoWaitsIsJudgedAgainWhenAdmitted) {
  Guarded guarded;
  Servers& servers = guarded.servers;
  servers[1].Decide(CheckAt("t1", "job:etl", 100));
  v1::CheckRequest check = rpc::WaitingCheck("job:etl", 50);
  check.set_target("t1");
  rpc::WaitingCaller caller(servers[0].caller, check);
  ASSERT_TRUE(rpc::Waiting(servers[1], 1));
  access::PolicySpec less = Policy();
  less.callers[0].identities = {"other"};
  servers[1].access.SetPolicy(less);
  servers.Advance(absl::Seconds(5));
  EXPECT_EQ(caller.Status().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

// What the stream of somebody who would like to be a peer ends with.
grpc::Status TryAsPeer(const Peer& peer) {
  Context context;
  peer.Fill(context);
  const auto stream = peer::v1::PeerService::Stub(peer.channel).Forward(&context);
  peer::v1::ForwardRequest request;
  request.set_number(1);
  ForwardedCall& call = *request.add_calls();
  call.set_caller("backfill");
  *call.mutable_check() = CheckAt("t1", "job:etl", 1);
  stream->Write(request);
  peer::v1::ForwardResponse response;
  EXPECT_FALSE(stream->Read(&response));
  return stream->Finish();
}

TEST(ForwardAccess, NobodyButAPeerMaySayWhoCalls) {
  Guarded guarded;
  for (const std::string who : {"backfill", "auditor", "nobody"}) {
    const grpc::Status status = TryAsPeer(guarded.As(who, 1));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << who;
    EXPECT_EQ(DetailsOf(status).reason, "NOT_A_PEER") << who;
  }
  EXPECT_EQ(guarded.servers[1].permits(), 0U);
}

TEST(ForwardAccess, NobodyIsAPeerWhereNoneIsConfigured) {
  Servers servers(2);
  servers[1].access.SetPeers({});
  const Peer peer = servers[1].Connect(servers.shared().certificate);
  EXPECT_EQ(TryAsPeer(peer).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace headgate::peers
