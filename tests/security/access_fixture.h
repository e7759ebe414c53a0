// A real server behind mutual TLS with every service, a policy, and callers of all kinds.
//
//   GuardedServer server;
//   EXPECT_EQ(server.Check(server.Caller("backfill"), "orders:backfill"), '+');

#pragma once

#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/access/access_control.h"
#include "server/overrides/registry.h"
#include "server/rpc/override_service.h"
#include "server/rpc/throttle_log_service.h"
#include "tests/access/literal_evidence.h"
#include "tests/throttle_log/fake_store.h"
#include "tests/tls/tls_fixture.h"

namespace headgate::security {

inline constexpr char kBackfill[] = "spiffe://prod/ns/jobs/sa/backfill";
inline constexpr char kAuditorToken[] = "auditor-0123456789abcdef0123456789abcdef";
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
       .overrides = true},
      {.name = "auditor", .token = "auditor", .identities = {"etl"}, .logs = true},
      {.name = "dashboard", .certificate = "URI:spiffe://prod/ns/web/sa/dash", .status = true},
      {.name = "sre",
       .token = "sre",
       .identities = {"*"},
       .overrides = true,
       .logs = true,
       .status = true},
  };
  spec.protected_tags = {{"urgent", "true"}};
  spec.protected_segments = {"vip"};
  return spec;
}

// How somebody calls.
struct Peer {
  std::shared_ptr<grpc::Channel> channel;
  std::string authorization = {};  // empty: no such header

  void Fill(rpc::Context& context) const {
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
  }
};

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
  google::rpc::Status decoded;
  google::rpc::ErrorInfo info;
  EXPECT_TRUE(decoded.ParseFromString(status.error_details()));
  EXPECT_TRUE(decoded.details_size() == 1 && decoded.details(0).UnpackTo(&info));
  const bool known = status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
  EXPECT_EQ(info.metadata().count("caller"), known ? 1U : 0U);
  EXPECT_FALSE(info.metadata().at("missing").empty());
  return known ? 'P' : 'U';
}

class GuardedServer {
 public:
  explicit GuardedServer(const std::optional<access::PolicySpec>& policy = MatrixPolicy(),
                         size_t most_overrides = 10'000)
      : registry(OpenRegistry(most_overrides)) {
    access.SetTokens(BookOf(TokenLine("auditor", kAuditorToken) + TokenLine("sre", kSreToken)));
    access.SetPolicy(policy);
    const absl::Status installed = registry->Install({});
    EXPECT_TRUE(installed.ok()) << installed;
  }

  // Each has a connection of its own.
  Peer Certified(const TestCertificateSpec& spec) {
    return {tls.Connect(tls.Caller(tls.authority.Sign(spec))), ""};
  }
  Peer WithUri(const std::string& uri) { return Certified({.uri = {uri}}); }
  // Without a certificate.
  Peer Bare(const std::string& authorization = "") {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = tls.authority.certificate();
    return {tls.Connect(options), authorization};
  }

  static char Check(const Peer& peer, const v1::CheckRequest& request,
                    v1::Decision* decision = nullptr) {
    rpc::Context context;
    peer.Fill(context);
    v1::CheckResponse response;
    const grpc::Status status =
        v1::ThrottlerService::NewStub(peer.channel)->Check(&context, request, &response);
    if (decision != nullptr) *decision = response.decision();
    return Outcome(status);
  }
  static char Check(const Peer& peer, const std::string& identity) {
    return Check(peer, rpc::CheckOf(identity, 1));
  }
  static uint64_t PermitOf(const Peer& peer, const std::string& identity) {
    v1::Decision decision;
    EXPECT_EQ(Check(peer, rpc::CheckOf(identity, 1), &decision), '+');
    EXPECT_NE(decision.permit_id(), 0U);
    return decision.permit_id();
  }
  // The outcome of the one report: 'N' where no such permit is known to this caller.
  static char Report(const Peer& peer, uint64_t permit, double cost = 1) {
    rpc::Context context;
    peer.Fill(context);
    v1::ReportRequest request;
    request.add_reports()->set_permit_id(permit);
    request.mutable_reports(0)->set_actual_cost(cost);
    v1::ReportResponse response;
    const grpc::Status status =
        v1::ThrottlerService::NewStub(peer.channel)->Report(&context, request, &response);
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
    v1::CreateOverrideRequest request;
    request.set_kind(v1::OVERRIDE_KIND_PAUSE);
    request.mutable_selector()->set_identity("backfill");
    request.set_actor(actor);
    request.set_reason(reason);
    request.mutable_expires_in()->set_seconds(60);
    rpc::Context context;
    peer.Fill(context);
    v1::CreateOverrideResponse response;
    grpc::Status status =
        v1::OverrideService::NewStub(peer.channel)->CreateOverride(&context, request, &response);
    if (made != nullptr) *made = response.override();
    return status;
  }

  FakeClock clock;
  std::vector<std::string> denied;        // what was told: "identity backfill +0"
  std::vector<std::string> denied_peers;  // of each
  access::AccessControl access{
      {.seed = 7,
       .on_refused =
           [this](const access::ToldRefusal& denial) {
             denied.push_back(
                 absl::StrCat(absl::string_view(access::ReasonLabel(denial.refusal.reason).data(),
                                                access::ReasonLabel(denial.refusal.reason).size()),
                              " ", denial.refusal.caller, " +", denial.untold_before));
             denied_peers.push_back(denial.peer);
           }},
      clock};
  TempFolder folder;
  engine::Engine overridden{rpc::TestServer::EngineOptions()};
  std::unique_ptr<overrides::Registry> registry;
  rpc::OverrideService override_service{registry.get(), access};
  throttle_log::FakeStore store;
  throttle_log::Recorder recorder{overridden, {.seed = 7}};
  rpc::ThrottleLogService log_service{{.store = store,
                                       .recorder = recorder,
                                       .clock = clock,
                                       .keeping = {},
                                       .seed = 7,
                                       .access = access}};
  tls::TlsServer tls{config::ClientCertificates::kOptional, Options(), &access};

 private:
  std::unique_ptr<overrides::Registry> OpenRegistry(size_t most) {
    auto opened =
        overrides::Registry::Open({.path = folder.File("overrides.db"),
                                   .put =
                                       [this](engine::PolicySpec spec) {
                                         return overridden.Install(std::move(spec), clock.Read());
                                       },
                                   .max_in_force = most},
                                  clock);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  rpc::RpcServerOptions Options() {
    rpc::RpcServerOptions options = rpc::TestServer::Options();
    options.streams.of_one_caller = 2;
    options.more_services = {&override_service, &log_service};
    return options;
  }
};

}  // namespace headgate::security
