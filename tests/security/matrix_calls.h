// What the access matrix calls: a function for each kind of call, which says how it ended.
//
//   EXPECT_EQ(Create(Pause("backfill"))(server, peer), 'P');

#pragma once

#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>
#include <headgate/v1/agent_service.grpc.pb.h>
#include <headgate/v1/cluster_service.grpc.pb.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "tests/security/access_fixture.h"

namespace headgate::security {

// The outcome of a call by this caller, as Outcome says it.
using MatrixCall = std::function<char(GuardedServer&, const Peer&)>;

// A unary call by its stub.
template <typename Stub, typename Request, typename Response>
MatrixCall Call(RpcMethod<Stub, Request, Response> method,
                const std::type_identity_t<Request>& request = {}) {
  return [=](GuardedServer&, const Peer& peer) { return Outcome(CallRpc(peer, method, request)); };
}

inline v1::CheckRequest Tagged(const std::string& identity, const std::string& key,
                               const std::string& value) {
  v1::CheckRequest request = CheckOf(identity, 1);
  (*request.mutable_tags())[key] = value;
  return request;
}

inline MatrixCall Check(const v1::CheckRequest& request) {
  return [=](GuardedServer&, const Peer& peer) { return GuardedServer::Check(peer, request); };
}

inline v1::ExplainRequest Explain(const v1::CheckRequest& check) {
  v1::ExplainRequest request;
  *request.mutable_check() = check;
  return request;
}

// One Check of two, the other being one that the caller may or may not ask as well.
inline MatrixCall BatchCheck(const v1::CheckRequest& check) {
  return [=](GuardedServer&, const Peer& peer) {
    v1::BatchCheckRequest request;
    *request.add_checks() = CheckOf("a:etl", 1);
    *request.add_checks() = check;
    v1::BatchCheckResponse response;
    const grpc::Status status =
        CallRpc(peer, &v1::ThrottlerService::Stub::BatchCheck, request, response);
    if (!status.ok()) return Outcome(status);
    return GuardedServer::OutcomeOf(response.results(1).error());
  };
}

inline MatrixCall CheckStream(const v1::CheckRequest& check) {
  return [=](GuardedServer&, const Peer& peer) {
    OpenStream open(peer);
    v1::CheckStreamRequest request;
    *request.add_checks() = check;
    v1::CheckStreamResponse response;
    if (!open.stream->Write(request) || !open.stream->Read(&response)) {
      return Outcome(open.stream->Finish());
    }
    EXPECT_TRUE(open.Close().ok());
    return GuardedServer::OutcomeOf(response.results(0).error());
  };
}

inline char WatchAsAgent(GuardedServer&, const Peer& peer) {
  Context context;
  peer.Fill(context);
  const auto stream = v1::AgentService::Stub(peer.channel).Watch(&context);
  v1::WatchRequest request;
  request.mutable_state()->set_yields(true);
  stream->Write(request);
  stream->WritesDone();
  v1::WatchResponse response;
  const bool answered = stream->Read(&response);
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(answered, status.ok());
  // Let in, while the server has not seen yet that the stream of the one before is gone.
  if (status.error_code() == grpc::StatusCode::ALREADY_EXISTS) return '+';
  return Outcome(status);
}

// Of a permit that the first caller was given.
inline char Report(GuardedServer& server, const Peer& peer) {
  const Peer backfill = server.WithUri("spiffe://prod/ns/jobs/sa/backfill");
  return GuardedServer::Report(peer, GuardedServer::PermitOf(backfill, "backfill"));
}

inline v1::CreateOverrideRequest PauseOfSegment(const std::string& segment) {
  v1::CreateOverrideRequest request = Pause("");
  request.mutable_selector()->set_segment(segment);
  return request;
}

inline v1::CreateOverrideRequest OfKind(v1::OverrideKind kind, v1::CreateOverrideRequest request) {
  request.set_kind(kind);
  if (kind == v1::OVERRIDE_KIND_THROTTLE) request.set_ratio(0.5);
  return request;
}

inline v1::CreateOverrideRequest OfEverything(v1::OverrideKind kind) {
  v1::CreateOverrideRequest request = OfKind(kind, Pause(""));
  request.mutable_selector()->set_everything(true);
  return request;
}

inline MatrixCall Create(const v1::CreateOverrideRequest& request) {
  return Call(&v1::OverrideService::Stub::CreateOverride, request);
}

// An override that somebody else has made. Its id.
inline int64_t MadeByBob(GuardedServer& server, overrides::Kind kind,
                         const overrides::Selector& selector) {
  const auto made = server.registry->Create({.kind = kind,
                                             .selector = selector,
                                             .ratio = {},
                                             .actor = "bob",
                                             .reason = "incident",
                                             .expiry = absl::Hours(1)});
  EXPECT_TRUE(made.ok()) << made.status();
  return made->id;
}

// A resume while everything is paused, which it would lift.
inline char ResumeUnderAStop(GuardedServer& server, const Peer& peer) {
  const int64_t stop = MadeByBob(server, overrides::Kind::kPause, {.everything = true});
  const char outcome = Create(OfKind(v1::OVERRIDE_KIND_RESUME, Pause("backfill")))(server, peer);
  EXPECT_TRUE(server.registry->Delete({.id = stop, .actor = "bob", .reason = "over"}).ok());
  return outcome;
}

// Of an override of bob's; or of none.
inline MatrixCall Delete(const std::optional<overrides::Selector>& selector,
                         overrides::Kind kind = overrides::Kind::kPause) {
  return [=](GuardedServer& server, const Peer& peer) {
    const v1::DeleteOverrideRequest request =
        Ending(selector.has_value() ? MadeByBob(server, kind, *selector) : 4711);
    return Call(&v1::OverrideService::Stub::DeleteOverride, request)(server, peer);
  };
}

inline MatrixCall List(const v1::Selector& selector) {
  v1::ListOverridesRequest request;
  *request.mutable_selector() = selector;
  return Call(&v1::OverrideService::Stub::ListOverrides, request);
}

template <typename Request>
Request Filtered(const std::string& identity) {
  Request request;
  request.mutable_filter()->set_identity(identity);
  return request;
}

inline v1::ListCostsRequest CostsOf(const std::string& identity) {
  v1::ListCostsRequest request;
  request.set_identity(identity);
  return request;
}

inline v1::ForgetCostsRequest Forgetting(const std::string& identity,
                                         const std::string& pattern = "") {
  v1::ForgetCostsRequest request;
  if (pattern.empty()) {
    request.set_identity(identity);
  } else {
    request.set_pattern(pattern);
  }
  request.set_actor("ann");
  request.set_reason("units were mixed up");
  return request;
}

inline v1::MoveTargetRequest Moving() {
  v1::MoveTargetRequest request;
  request.set_target("t0");
  request.set_member("s0");
  request.set_actor("ann");
  request.set_reason("nearer");
  return request;
}
inline v1::DrainMemberRequest Draining() {
  v1::DrainMemberRequest request;
  request.set_member("s0");
  request.set_actor("ann");
  request.set_reason("its node goes");
  return request;
}
inline v1::UndrainMemberRequest Undraining() {
  v1::UndrainMemberRequest request;
  request.set_member("s0");
  request.set_actor("ann");
  request.set_reason("it is back");
  return request;
}

inline v1::ForgiveDebtRequest Forgiving(const std::string& identity) {
  v1::ForgiveDebtRequest request;
  request.set_identity(identity);
  request.set_budget("b");
  request.set_actor("ann");
  request.set_reason("units were mixed up");
  return request;
}

inline MatrixCall Query(const std::string& identity) {
  return Call(&v1::ThrottleLogService::Stub::QueryThrottleLog,
              Filtered<v1::QueryThrottleLogRequest>(identity));
}

inline MatrixCall Denials(const std::string& identity) {
  v1::ListDenialsRequest request;
  request.set_identity(identity);
  return Call(&v1::ThrottleLogService::Stub::ListDenials, request);
}

inline MatrixCall Intervals(const std::string& identity) {
  return Call(&v1::ThrottleLogService::Stub::ListThrottledIntervals,
              Filtered<v1::ListThrottledIntervalsRequest>(identity));
}

inline MatrixCall Replay(const std::string& identity) {
  auto request = Filtered<v1::ReplayThrottleLogRequest>(identity);
  request.set_config_yaml("budgets: [{name: rows, rate: 1, burst: 1}]\n");
  return Call(&v1::ThrottleLogService::Stub::ReplayThrottleLog, request);
}

inline char Reflect(GuardedServer&, const Peer& peer) {
  Context context;
  peer.Fill(context);
  namespace reflection = grpc::reflection::v1alpha;
  const auto stream =
      reflection::ServerReflection::NewStub(peer.channel)->ServerReflectionInfo(&context);
  reflection::ServerReflectionRequest request;
  request.set_list_services("");
  reflection::ServerReflectionResponse response;
  const bool told = stream->Write(request) && stream->Read(&response);
  stream->WritesDone();
  const char outcome = Outcome(stream->Finish());
  EXPECT_EQ(told, outcome == '+');
  return outcome;
}

inline char Watch(GuardedServer&, const Peer& peer) {
  Context context;
  peer.Fill(context);
  const auto stream = grpc::health::v1::Health::NewStub(peer.channel)->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  const bool told = stream->Read(&response);
  context.TryCancel();
  const grpc::Status status = stream->Finish();
  return told ? '+' : Outcome(status);
}

}  // namespace headgate::security
