// A real server behind mutual TLS with every service, a policy, and callers of all kinds.
//
//   GuardedServer server;
//   EXPECT_EQ(server.Check(server.Caller("backfill"), "orders:backfill"), '+');

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/govern/access/access_control.h"
#include "tests/govern/access/literal_evidence.h"
#include "tests/govern/tls/tls_fixture.h"
#include "tests/remember/throttle_log/fake_store.h"
#include "tests/testing/http_caller.h"
#include "tests/testing/override_requests.h"
#include "tests/testing/set_control.h"

namespace headgate::security {

inline constexpr char kBackfill[] = "spiffe://prod/ns/jobs/sa/backfill";
inline constexpr char kAuditorToken[] = "auditor-0123456789abcdef0123456789abcdef";
inline constexpr char kPagerToken[] = "pager-0123456789abcdef0123456789abcdef01";
inline constexpr char kSreToken[] = "sre-0123456789abcdef0123456789abcdef0123";

using access::Bearer;
using access::BookOf;
using access::TokenLine;

inline access::PolicySpec MatrixPolicy() {
  access::PolicySpec spec;
  spec.callers = {
      {.name = "backfill",
       .certificate = "URI:spiffe://prod/ns/jobs/sa/backfill",
       .identities = {"backfill"},
       .tags = {{"urgent", "true"}}},
      {.name = "dba",
       .certificate = "DNS:dba.example",
       .identities = {"backfill"},
       .overrides = true,
       .costs = true,
       .forgive = true},
      {.name = "auditor", .token = "auditor", .identities = {"etl"}, .logs = true},
      {.name = "dashboard", .certificate = "URI:spiffe://prod/ns/web/sa/dash", .status = true},
      {.name = "sre",
       .token = "sre",
       .identities = {"*"},
       .overrides = true,
       .exempt_overrides = true,
       .everything = true,
       .costs = true,
       .forgive = true,
       .logs = true,
       .status = true,
       .servers = true,
       .agent = true},
      {.name = "exempter",
       .certificate = "DNS:exempter.example",
       .identities = {"backfill"},
       .exempt_overrides = true},
      {.name = "keeper",
       .certificate = "DNS:keeper.example",
       .identities = {"backfill"},
       .costs = true,
       .forgive = true},
      {.name = "pager", .token = "pager", .everything = true},
  };
  spec.protected_tags = {{"urgent", "true"}};
  spec.protected_segments = {"vip"};
  return spec;
}

// '+' for OK, 'U' for UNAUTHENTICATED, 'P' for PERMISSION_DENIED, 'N' for NOT_FOUND. A refusal
// says who lacks what.
inline char Outcome(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return '+';
    case grpc::StatusCode::NOT_FOUND:
      return 'N';
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      break;
    default:
      ADD_FAILURE() << status.error_code() << ": " << status.error_message();
      return '?';
  }
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.parts, 1);
  const bool known = status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
  EXPECT_EQ(details.metadata.count("caller"), known ? 1U : 0U);
  EXPECT_FALSE(details.metadata.at("missing").empty());
  return known ? 'P' : 'U';
}

// `etl` is charged to `b`, and `backfill` to a budget of its own: without any it had no permits.
inline engine::PolicySpec ChargedPolicy() {
  engine::PolicySpec policy = tls::TlsServer::OneBudget();
  policy.budgets.push_back(engine::RateBudget("copies", 1000, 100'000));
  policy.rules.push_back(engine::ChargeRule("copies", "backfill", {"copies"}));
  return policy;
}

// What is there before the server.
struct RefusalsAndStore {
  void Take(const access::ToldRefusal& refusal) {
    denied.push_back(absl::StrCat(std::string(access::ReasonLabel(refusal.refusal.reason)), " ",
                                  refusal.refusal.caller, " +", refusal.untold_before));
    denied_peers.push_back(refusal.peer);
  }

  std::vector<std::string> denied;        // what was told: "identity backfill +0"
  std::vector<std::string> denied_peers;  // of each
  throttle_log::FakeStore store;
  SetControl control{ViewOfOne};
};

class GuardedServer : public RefusalsAndStore, public tls::TlsServer {
 public:
  explicit GuardedServer(const std::optional<access::PolicySpec>& policy = MatrixPolicy(),
                         size_t max_overrides = 10'000,
                         const engine::EngineOptions& engine = engine::TestEngine::Options())
      : TlsServer(config::ClientCertificates::kOptional, Options(max_overrides, engine),
                  ChargedPolicy()) {
    access.SetTokens(BookOf(TokenLine("auditor", kAuditorToken) + TokenLine("sre", kSreToken) +
                            TokenLine("pager", kPagerToken)));
    access.SetPolicy(policy);
  }

  // Each has a connection of its own.
  Peer Certified(const TestCertificateSpec& spec) {
    return {Connect(Caller(authority.Sign(spec))), ""};
  }
  Peer WithUri(const std::string& uri) { return Certified({.uri = {uri}}); }
  // Without a certificate.
  Peer Bare(const std::string& authorization = "") {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority.certificate();
    return {Connect(options), authorization};
  }

  // The same over HTTP.
  Peer CertifiedOverHttp(const TestCertificateSpec& spec) {
    return OverHttp(authority.Sign(spec), "");
  }
  Peer BareOverHttp(const std::string& authorization = "") { return OverHttp({}, authorization); }

  static char Check(const Peer& peer, const v1::CheckRequest& request,
                    v1::Decision* decision = nullptr) {
    v1::CheckResponse response;
    const grpc::Status status =
        CallRpc(peer, &v1::ThrottlerService::Stub::Check, request, response);
    if (decision != nullptr) *decision = response.decision();
    return Outcome(status);
  }
  static char Check(const Peer& peer, const std::string& identity) {
    return Check(peer, CheckOf(identity, 1));
  }
  static uint64_t PermitOf(const Peer& peer, const std::string& identity) {
    v1::Decision decision;
    EXPECT_EQ(Check(peer, CheckOf(identity, 1), &decision), '+');
    EXPECT_NE(decision.permit_id(), 0U);
    return decision.permit_id();
  }
  // The outcome of the one report: 'N' where no such permit is known to this caller.
  static char Report(const Peer& peer, uint64_t permit, double cost = 1) {
    v1::ReportRequest request;
    request.add_reports()->set_permit_id(permit);
    request.mutable_reports(0)->set_actual_cost(cost);
    v1::ReportResponse response;
    const grpc::Status status =
        CallRpc(peer, &v1::ThrottlerService::Stub::Report, request, response);
    if (!status.ok()) return Outcome(status);
    return OutcomeOf(response.results(0).error());
  }
  static char OutcomeOf(const v1::Error& error) {
    if (error.code() == 0) return '+';
    if (error.code() == static_cast<int>(grpc::StatusCode::NOT_FOUND)) return 'N';
    EXPECT_EQ(error.code(), static_cast<int>(grpc::StatusCode::PERMISSION_DENIED));
    return 'P';
  }

  // A pause of backfill.
  static grpc::Status TryToPause(const Peer& peer, const std::string& actor,
                                 const std::string& reason, v1::Override* made = nullptr) {
    v1::CreateOverrideResponse response;
    grpc::Status status = CallRpc(peer, &v1::OverrideService::Stub::CreateOverride,
                                  Pause("backfill", actor, reason), response);
    if (made != nullptr) *made = response.override();
    return status;
  }

 private:
  Peer OverHttp(const TestCertificate& own, const std::string& authorization) const {
    Peer peer(nullptr, authorization);
    peer.other_way = std::make_shared<HttpCaller>(http_port(), authority.certificate(), own);
    return peer;
  }
  InProcessOptions Options(size_t max_overrides, const engine::EngineOptions& engine) {
    InProcessOptions options{
        .engine = engine,
        .overrides = InProcessOptions::kKept,
        .max_overrides = max_overrides,
        .log_store = &store,
        .on_refused = [this](const access::ToldRefusal& refusal) { Take(refusal); },
        .control = &control};
    options.rpc.streams.of_one_caller = 2;
    options.http = true;
    return options;
  }
};

}  // namespace headgate::security
