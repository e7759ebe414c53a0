// How callers of a real server are known, what changes while they are connected, and what they
// cannot pretend. How they are judged: tests/govern/access/access_control_test.cc.

#include "gmock/gmock.h"
#include "tests/security/access_fixture.h"

namespace headgate::security {
namespace {

using ::testing::ElementsAre;

struct Refused : ErrorDetails {
  grpc::Status status;
};

Refused RefusedCheck(const Peer& peer, const v1::CheckRequest& request) {
  const grpc::Status status = CallRpc(peer, &v1::ThrottlerService::Stub::Check, request);
  EXPECT_EQ(DetailsOf(status).domain, "headgate");
  return {DetailsOf(status), status};
}

TEST(Access, ARefusalNamesTheCallerAndWhatIsMissing) {
  GuardedServer server;
  const Refused identity = RefusedCheck(server.WithUri(kBackfill), CheckOf("orders:etl", 1));
  EXPECT_EQ(identity.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(identity.status.error_message(),
            "identity: caller 'backfill' may not speak for 'orders:etl'");
  EXPECT_EQ(identity.reason, "IDENTITY_NOT_GRANTED");
  EXPECT_EQ(identity.metadata.at("caller"), "backfill");
  EXPECT_EQ(identity.metadata.at("missing"), "identity 'orders:etl'");
  v1::CheckRequest tagged = CheckOf("etl", 1);
  (*tagged.mutable_tags())["urgent"] = "true";
  const Refused tag = RefusedCheck(server.Bare(Bearer(kSreToken)), tagged);
  EXPECT_EQ(tag.reason, "TAG_NOT_GRANTED");
  EXPECT_EQ(tag.metadata.at("missing"), "tag 'urgent'='true'");
  const Refused segment = RefusedCheck(server.WithUri(kBackfill), CheckOf("vip:backfill", 1));
  EXPECT_EQ(segment.reason, "SEGMENT_NOT_GRANTED");
  EXPECT_EQ(segment.metadata.at("missing"), "segment 'vip'");
}

TEST(Access, AMalformedIdentityIsBadInputForWhoIsKnown) {
  GuardedServer server;
  const Refused refused = RefusedCheck(server.WithUri(kBackfill), CheckOf("a b", 1));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(RefusedCheck(server.Bare(), CheckOf("a b", 1)).reason, "NO_CALLER");
}

// Not its address, nor its common name.
TEST(Access, ACertificatesNamesAreItsUrisAndThenItsHosts) {
  GuardedServer server;
  const Peer stranger = server.Certified({.name = "not me",
                                          .dns = {"backfill.jobs.example"},
                                          .ip = {"127.0.0.1"},
                                          .uri = {"spiffe://x", "https://jobs.example/"}});
  EXPECT_EQ(RefusedCheck(stranger, CheckOf("a", 1)).status.error_message(),
            "no caller is listed for this certificate, which has 'URI:spiffe://x', "
            "'URI:https://jobs.example/', 'DNS:backfill.jobs.example'");
}

// A name counts only as what the certificate says that it is.
TEST(Access, ANameOfAnotherKindIsAnotherName) {
  GuardedServer server;
  EXPECT_EQ(GuardedServer::Check(server.Certified({.dns = {kBackfill}}), "backfill"), 'U');
  EXPECT_EQ(GuardedServer::Check(server.Certified({.name = kBackfill}), "backfill"), 'U');
  EXPECT_EQ(GuardedServer::Check(server.WithUri("dba.example"), "backfill"), 'U');
  EXPECT_EQ(GuardedServer::Check(server.Certified({.name = "dba.example"}), "backfill"), 'U');
}

TEST(Access, ATokenIsRefusedOverPlaintext) {
  InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)));
  server.access.SetTokens(BookOf(TokenLine("sre", kSreToken)));
  access::PolicySpec spec{.callers = {{.name = "sre", .token = "sre", .identities = {"*"}},
                                      {.name = "any", .anybody = true, .identities = {"adhoc"}}}};
  server.access.SetPolicy(spec);
  const Peer peer{server.channel, Bearer(kSreToken)};
  EXPECT_EQ(RefusedCheck(peer, CheckOf("adhoc", 1)).reason, "TOKEN_WITHOUT_TLS");
  EXPECT_EQ(GuardedServer::Check(Peer{server.channel, ""}, "adhoc"), '+');
  EXPECT_EQ(GuardedServer::Check(Peer{server.channel, ""}, "etl"), 'P');
}

TEST(Access, ANewPolicyIsInForceForTheNextCallOnTheSameConnection) {
  GuardedServer server;
  const Peer backfill = server.WithUri(kBackfill);
  EXPECT_EQ(GuardedServer::Check(backfill, "backfill"), '+');
  EXPECT_EQ(GuardedServer::Check(backfill, "etl"), 'P');
  access::PolicySpec spec = MatrixPolicy();
  spec.callers[0].identities = {"etl"};
  server.access.SetPolicy(spec);
  EXPECT_EQ(GuardedServer::Check(backfill, "backfill"), 'P');
  EXPECT_EQ(GuardedServer::Check(backfill, "etl"), '+');
  spec.callers.erase(spec.callers.begin());
  server.access.SetPolicy(spec);
  EXPECT_EQ(GuardedServer::Check(backfill, "etl"), 'U');
  server.access.SetPolicy(std::nullopt);
  EXPECT_EQ(GuardedServer::Check(backfill, "anything"), '+');
}

TEST(Access, ARunningStreamSeesANewPolicyAtItsNextMessage) {
  GuardedServer server;
  const Peer backfill = server.WithUri(kBackfill);
  const OpenStream open(backfill);
  const auto& stream = open.stream;
  v1::CheckStreamRequest request;
  *request.add_checks() = CheckOf("backfill", 1);
  *request.add_checks() = CheckOf("etl", 1);
  v1::CheckStreamResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_EQ(GuardedServer::OutcomeOf(response.results(0).error()), '+');
  EXPECT_EQ(GuardedServer::OutcomeOf(response.results(1).error()), 'P');
  EXPECT_EQ(response.results(1).error().field(), "checks[1].identity");
  access::PolicySpec spec = MatrixPolicy();
  spec.callers[0].identities = {"etl"};
  server.access.SetPolicy(spec);
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_EQ(GuardedServer::OutcomeOf(response.results(0).error()), 'P');
  EXPECT_EQ(GuardedServer::OutcomeOf(response.results(1).error()), '+');
  spec.callers.erase(spec.callers.begin());
  server.access.SetPolicy(spec);
  ASSERT_TRUE(stream->Write(request));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(Outcome(stream->Finish()), 'U');
}

TEST(Access, WhoIsNotKnownCannotHoldAStream) {
  GuardedServer server;
  const Peer nobody = server.Bare();
  const OpenStream open(nobody);
  const auto& stream = open.stream;
  v1::CheckStreamResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(Outcome(stream->Finish()), 'U');
  EXPECT_EQ(server->streams_open(), 0);
}

TEST(Access, APermitIsItsCallersOnly) {
  GuardedServer server;
  const Peer backfill = server.WithUri(kBackfill);
  const Peer dba = server.Certified({.dns = {"dba.example"}});
  const Peer sre = server.Bare(Bearer(kSreToken));
  const uint64_t permit = GuardedServer::PermitOf(backfill, "backfill");
  EXPECT_EQ(GuardedServer::Report(dba, permit, 0), 'N');
  EXPECT_EQ(GuardedServer::Report(sre, permit, 1e15), 'N');
  for (uint64_t near = 1; near < 100; ++near) {
    EXPECT_EQ(GuardedServer::Report(dba, permit + near), 'N');
    EXPECT_EQ(GuardedServer::Report(dba, permit ^ near << 24), 'N');
  }
  // And is still there: from another connection of the caller's too.
  EXPECT_EQ(server.permits(), 1U);
  EXPECT_EQ(GuardedServer::Report(server.WithUri(kBackfill), permit), '+');
  EXPECT_EQ(server.permits(), 0U);
  EXPECT_EQ(server.access.refusals()[static_cast<size_t>(access::RefusalReason::kPermit)], 200U);
}

TEST(Access, PermitsOfABatchAreItsCallersOnly) {
  GuardedServer server;
  const Peer backfill = server.WithUri(kBackfill);
  v1::BatchCheckRequest request;
  for (int i = 0; i < 300; ++i) {
    *request.add_checks() = CheckOf(i % 100 == 7 ? "etl" : "backfill", 1);
  }
  v1::BatchCheckResponse response;
  ASSERT_TRUE(CallRpc(backfill, &v1::ThrottlerService::Stub::BatchCheck, request, response).ok());
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    const v1::CheckResult& result = response.results(i);
    if (GuardedServer::OutcomeOf(result.error()) == 'P') {
      EXPECT_EQ(i % 100, 7);
      EXPECT_EQ(result.error().field(), absl::StrCat("checks[", i, "].identity"));
      ++refused;
    } else {
      ASSERT_NE(result.decision().permit_id(), 0U);
    }
  }
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(GuardedServer::Report(backfill, response.results(299).decision().permit_id()), '+');
  EXPECT_EQ(GuardedServer::Report(server.Bare(Bearer(kSreToken)),
                                  response.results(298).decision().permit_id()),
            'N');
}

// Whoever knows or guesses another's request_id must not be given its permit.
TEST(Access, ARequestIdIsItsCallersOnly) {
  GuardedServer server;
  const Peer backfill = server.WithUri(kBackfill);
  const Peer sre = server.Bare(Bearer(kSreToken));
  v1::CheckRequest check = CheckOf("backfill", 1);
  check.set_request_id("c1");
  const auto ask = [&](const Peer& peer) {
    v1::Decision decision;
    EXPECT_EQ(GuardedServer::Check(peer, check, &decision), '+');
    return decision;
  };
  const auto ask_in_batch = [&](const Peer& peer) {
    v1::BatchCheckRequest batch;
    *batch.add_checks() = check;
    v1::BatchCheckResponse response;
    EXPECT_TRUE(CallRpc(peer, &v1::ThrottlerService::Stub::BatchCheck, batch, response).ok());
    return response.results(0).decision();
  };
  const uint64_t permit = ask(backfill).permit_id();
  ASSERT_NE(permit, 0U);
  ask(sre);
  EXPECT_EQ(server.permits(), 2U);
  // A retry is one all the same, however it is sent.
  EXPECT_EQ(ask(backfill).permit_id(), permit);
  EXPECT_EQ(ask_in_batch(backfill).permit_id(), permit);
  ask_in_batch(sre);
  EXPECT_EQ(server.permits(), 2U);
  check.set_request_id(std::string(129, 'r'));
  EXPECT_EQ(CallRpc(backfill, &v1::ThrottlerService::Stub::Check, check).error_message(),
            "request_id: has 129 bytes; at most 128");
}

v1::Override CreateAs(const Peer& peer, const std::string& actor, const std::string& reason) {
  v1::Override made;
  const grpc::Status status = GuardedServer::TryToPause(peer, actor, reason, &made);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return made;
}

TEST(Access, TheActorOfAnOverrideIsWhoCalled) {
  GuardedServer server;
  const Peer sre = server.Bare(Bearer(kSreToken));
  const v1::Override made = CreateAs(sre, "ceo", "stuck shard");
  EXPECT_EQ(made.actor(), "sre");
  EXPECT_EQ(made.reason(), "stuck shard (asked by ceo)");
  EXPECT_EQ(CreateAs(sre, "", "why not").actor(), "sre");
  EXPECT_EQ(CreateAs(sre, "sre", "why not").reason(), "why not");
  const v1::DeleteOverrideRequest request = Ending(made.id(), "ceo", "over");
  ASSERT_TRUE(CallRpc(sre, &v1::OverrideService::Stub::DeleteOverride, request).ok());
  const auto events = server.registry->Events({.override_id = made.id(), .most = 1});
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->front().actor, "sre");
  EXPECT_EQ(events->front().reason, "over (asked by ceo)");
}

TEST(Access, LimitsOfAnOverrideAreThoseOfWhatTheCallerSent) {
  GuardedServer server;
  const Peer sre = server.Bare(Bearer(kSreToken));
  v1::Override made;
  const std::string longest(1024, 'r');
  ASSERT_TRUE(GuardedServer::TryToPause(sre, "ann@laptop", longest, &made).ok());
  EXPECT_EQ(made.reason(), longest);
  EXPECT_EQ(GuardedServer::TryToPause(sre, "ann", longest + "r").error_message(),
            "reason: has 1025 bytes; at most 1024");
  EXPECT_EQ(GuardedServer::TryToPause(sre, std::string(257, 'a'), "stuck").error_message(),
            "actor: has 257 bytes; at most 256");
  // What there is room for, in whole characters.
  const std::string reason(1004, 'r');
  ASSERT_TRUE(
      GuardedServer::TryToPause(sre, "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", reason, &made).ok());
  EXPECT_EQ(made.reason(), reason + " (asked by \u00e9\u00e9...)");
}

TEST(Access, ARefusedCheckWakesNoMeasurementAndChargesNothing) {
  GuardedServer server;
  const Peer backfill = server.WithUri(kBackfill);
  EXPECT_EQ(GuardedServer::Check(backfill, "etl"), 'P');
  v1::BatchCheckRequest request;
  *request.add_checks() = CheckOf("etl", 1);
  EXPECT_TRUE(CallRpc(backfill, &v1::ThrottlerService::Stub::BatchCheck, request).ok());
  EXPECT_THAT(server.activity.Take(), ElementsAre());
  EXPECT_EQ(server.permits(), 0U);
}

}  // namespace
}  // namespace headgate::security
