#include "server/rpc/throttler_service.h"

#include <headgate/v1/throttler_service.pb.h>

#include <memory>

#include "server/rpc/access_status.h"
#include "server/rpc/peer_addresses.h"
#include "server/rpc/throttler.h"
#include "server/transport/stream_route.h"
#include "server/transport/unary_route.h"

namespace headgate::rpc {
namespace {

// Calls that wait for callers, on each loop. More callers at once wait in gRPC for a moment.
constexpr int kWaitingChecks = 128;
constexpr int kWaitingBatches = 32;

// What the routes of one loop share.
struct ServingThread : transport::Route {
  explicit ServingThread(const Dependencies& on) : access(on.access), throttler(on) {}

  // Ok, with who asks.
  grpc::Status FindAsker(const CallEvidence& call, Asker& asker) {
    grpc::Status known = Identify(access, call, asker);
    if (known.ok()) asker.address = peers.Find(call.Peer());
    return known;
  }

  grpc::Status BatchCheck(grpc::ServerContext& context, const Throttler::Checks& checks,
                          Throttler::Results& results) {
    const CallEvidence call(context, &connections);
    Asker asker;
    grpc::Status known = FindAsker(call, asker);
    if (!known.ok()) [[unlikely]]
      return known;
    return throttler.BatchCheck(checks, asker, results);
  }

  access::AccessControl& access;
  CallEvidence::Connections connections;

  Throttler throttler;
  PeerAddresses peers;
};

}  // namespace

ThrottlerService::ThrottlerService(const Dependencies& on, transport::StreamLimits streams)
    : on_(on),
      streams_(streams, on.calls.streams_open()),
      check_(AddAsync("/headgate.v1.ThrottlerService/Check", Kind::NORMAL_RPC)),
      batch_check_(AddAsync("/headgate.v1.ThrottlerService/BatchCheck", Kind::NORMAL_RPC)),
      check_stream_(AddAsync("/headgate.v1.ThrottlerService/CheckStream", Kind::BIDI_STREAMING)),
      report_(AddAsync("/headgate.v1.ThrottlerService/Report", Kind::NORMAL_RPC)) {
  AddSync<v1::ExplainRequest, v1::ExplainResponse>(
      "/headgate.v1.ThrottlerService/Explain",
      [this](grpc::ServerContext& context, const v1::ExplainRequest& request,
             v1::ExplainResponse& response) {
        const CallEvidence call(context);
        Asker asker;
        grpc::Status known = Identify(on_.access, call, asker);
        if (!known.ok()) return known;
        const v1::CheckRequest& check = request.check();
        const auto refused = on_.access.MayCheck(asker, check.identity(), check.tags());
        if (refused.has_value()) return ToGrpcStatus(*refused);
        const std::optional<engine::IpAddress> address = ParsePeer(context.peer());
        if (address.has_value()) asker.address = &*address;
        return Throttler::Explain(on_.engine, on_.clock, request, asker, response);
      });
}

void ThrottlerService::Open(transport::ServingLoop& loop) {
  auto owned = std::make_unique<ServingThread>(on_);
  const auto counted = [this](const char* method) { return &on_.calls.AddThread(method); };
  ServingThread* const thread = owned.get();
  loop.Own(std::move(owned));
  loop.Own(std::make_unique<transport::UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
      *this, check_, loop, kWaitingChecks,
      [thread](auto& context, auto& request, auto& response) {
        const CallEvidence call(context, &thread->connections);
        Asker asker;
        grpc::Status known = thread->FindAsker(call, asker);
        if (!known.ok()) [[unlikely]]
          return known;
        return thread->throttler.Check(request, asker, *response.mutable_decision());
      },
      counted("Check")));
  loop.Own(std::make_unique<transport::UnaryRoute<v1::BatchCheckRequest, v1::BatchCheckResponse>>(
      *this, batch_check_, loop, kWaitingBatches,
      [thread](auto& context, auto& request, auto& response) {
        return thread->BatchCheck(context, request.checks(), *response.mutable_results());
      },
      counted("BatchCheck")));
  loop.Own(
      std::make_unique<transport::StreamRoute<v1::CheckStreamRequest, v1::CheckStreamResponse>>(
          *this, check_stream_, loop, streams_,
          [thread](auto& context, auto& name) {
            const CallEvidence call(context, &thread->connections);
            access::Asker asker;
            grpc::Status known = Identify(thread->access, call, asker);
            if (asker.caller != nullptr && !asker.caller->is_anybody()) name = asker.caller->name();
            return known;
          },
          [thread](auto& context, auto& request, auto& response) {
            return thread->BatchCheck(context, request.checks(), *response.mutable_results());
          },
          *counted("CheckStream")));
  loop.Own(std::make_unique<transport::UnaryRoute<v1::ReportRequest, v1::ReportResponse>>(
      *this, report_, loop, kWaitingBatches,
      [thread](auto& context, auto& request, auto& response) {
        const CallEvidence call(context, &thread->connections);
        access::Asker asker;
        grpc::Status known = Identify(thread->access, call, asker);
        if (!known.ok()) [[unlikely]]
          return known;
        return thread->throttler.Report(request, asker, response);
      },
      counted("Report")));
}

}  // namespace headgate::rpc
