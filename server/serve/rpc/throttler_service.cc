#include "server/serve/rpc/throttler_service.h"

#include <grpcpp/server_context.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "server/decide/engine/ip_prefix.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/call_evidence.h"
#include "server/serve/rpc/fleet_answers.h"
#include "server/serve/rpc/peer_addresses.h"
#include "server/serve/rpc/serving_thread.h"
#include "server/serve/rpc/throttler.h"
#include "server/serve/transport/stream_route.h"
#include "server/serve/transport/unary_route.h"

namespace headgate::rpc {
namespace {

// Calls that wait for callers, on each loop. More callers at once wait in gRPC for a moment.
constexpr int kWaitingChecks = 128;
constexpr int kWaitingBatches = 32;
constexpr char kExplain[] = "/headgate.v1.ThrottlerService/Explain";

// One thread of a loop.
struct LoopThread {
  LoopThread(const Dependencies& on, const WaitingNeeds& waiting) : serving(on, waiting) {}

  CallEvidence EvidenceOf(grpc::ServerContext& context) {
    return CallEvidence(context, &connections);
  }

  CallEvidence::Connections connections;
  ServingThread serving;
};

// Those of one loop, for all its routes.
struct LoopThreads : transport::Route {
  LoopThreads(const Dependencies& on, const WaitingNeeds& needs) {
    for (auto& thread : threads) thread = std::make_unique<LoopThread>(on, needs);
  }
  LoopThread& operator[](size_t thread) { return *threads[thread]; }

  std::array<std::unique_ptr<LoopThread>, transport::ServingLoop::kThreads> threads;
};

}  // namespace

ThrottlerService::ThrottlerService(const Dependencies& on, transport::StreamLimits streams)
    : on_(on),
      waiting_{.engine = on.engine,
               .lines = on.lines,
               .access = on.access,
               .clock = on.clock,
               .counts = on.recorder.AddThread(),
               .parked_bytes = parked_bytes_},
      streams_(streams, on.calls.streams_open()),
      check_(AddAsync("/headgate.v1.ThrottlerService/Check", Kind::NORMAL_RPC)),
      batch_check_(AddAsync("/headgate.v1.ThrottlerService/BatchCheck", Kind::NORMAL_RPC)),
      check_stream_(AddAsync("/headgate.v1.ThrottlerService/CheckStream", Kind::BIDI_STREAMING)),
      report_(AddAsync("/headgate.v1.ThrottlerService/Report", Kind::NORMAL_RPC)) {
  AddSync<v1::ExplainRequest, v1::ExplainResponse>(
      kExplain, [this](grpc::ServerContext& context, const v1::ExplainRequest& request,
                       v1::ExplainResponse& response) {
        return Explain(CallEvidence(context), request, response);
      });
}

Method ThrottlerService::explain() {
  return MakeMethod<v1::ExplainRequest, v1::ExplainResponse>(
      kExplain, [this](transport::CallContext& /*call*/, const access::Evidence& evidence,
                       const v1::ExplainRequest& request, v1::ExplainResponse& response) {
        return Explain(evidence, request, response);
      });
}

grpc::Status ThrottlerService::Explain(const access::Evidence& call,
                                       const v1::ExplainRequest& request,
                                       v1::ExplainResponse& response) {
  Asker asker;
  grpc::Status known = Identify(on_.access, call, asker);
  if (!known.ok()) return known;
  const v1::CheckRequest& check = request.check();
  const auto refused = on_.access.MayCheck(asker, check.identity(), check.tags());
  if (refused.has_value()) return ToGrpcStatus(*refused);
  const auto explained =
      AskOwner(on_.fleet, {asker, kExplain, on_.engine, check.target(), request}, response);
  if (explained.has_value()) return *explained;
  const std::optional<engine::IpAddress> address = ParsePeer(call.Peer());
  if (address.has_value()) asker.address = &*address;
  return Throttler::Explain(on_, request, asker, response);
}

void ThrottlerService::Open(transport::ServingLoop& loop) {
  auto owned = std::make_unique<LoopThreads>(on_, waiting_);
  LoopThreads& threads = *owned;
  loop.Own(std::move(owned));
  loop.Own(std::make_unique<transport::UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
      *this,
      transport::UnaryRouteOptions{.method = check_,
                                   .loop = loop,
                                   .waiting_calls = kWaitingChecks,
                                   .calls = &on_.calls,
                                   .name = "Check"},
      [&threads](size_t thread, auto& context, auto& request, auto& response, auto& parking) {
        LoopThread& on = threads[thread];
        return on.serving.Check(on.EvidenceOf(context), request, response, parking);
      }));
  loop.Own(std::make_unique<transport::UnaryRoute<v1::BatchCheckRequest, v1::BatchCheckResponse>>(
      *this,
      transport::UnaryRouteOptions{.method = batch_check_,
                                   .loop = loop,
                                   .waiting_calls = kWaitingBatches,
                                   .calls = &on_.calls,
                                   .name = "BatchCheck"},
      [&threads](size_t thread, auto& context, auto& request, auto& response, auto& parking) {
        LoopThread& on = threads[thread];
        return on.serving.BatchCheck(on.EvidenceOf(context), request.checks(), response, parking);
      }));
  loop.Own(
      std::make_unique<transport::StreamRoute<v1::CheckStreamRequest, v1::CheckStreamResponse>>(
          *this,
          transport::StreamRouteOptions{.method = check_stream_,
                                        .loop = loop,
                                        .count = streams_,
                                        .admission =
                                            [&threads](size_t thread, auto& context, auto& name) {
                                              LoopThread& on = threads[thread];
                                              return on.serving.AdmitStream(on.EvidenceOf(context),
                                                                            name);
                                            },
                                        .calls = on_.calls,
                                        .name = "CheckStream"},
          [&threads](size_t thread, auto& context, auto& request, auto& response, auto& parking) {
            LoopThread& on = threads[thread];
            return on.serving.BatchCheck(on.EvidenceOf(context), request.checks(), response,
                                         parking);
          }));
  using ReportRoute = transport::UnaryRoute<v1::ReportRequest, v1::ReportResponse>;
  const transport::UnaryRouteOptions of_reports{.method = report_,
                                                .loop = loop,
                                                .waiting_calls = kWaitingBatches,
                                                .calls = &on_.calls,
                                                .name = "Report"};
  if (on_.remote_decider == nullptr) {
    // Nothing is parked, and a route that knows it is cheaper.
    const auto report = [&threads](size_t thread, auto& context, auto& request, auto& response) {
      LoopThread& on = threads[thread];
      return on.serving.Report(on.EvidenceOf(context), request, response);
    };
    loop.Own(std::make_unique<ReportRoute>(*this, of_reports, ReportRoute::Handler(report)));
    return;
  }
  const auto report = [&threads](size_t thread, auto& context, auto& request, auto& response,
                                 auto& parking) {
    LoopThread& on = threads[thread];
    return on.serving.Report(on.EvidenceOf(context), request, response, parking);
  };
  loop.Own(std::make_unique<ReportRoute>(*this, of_reports, ReportRoute::ParkingHandler(report)));
}

}  // namespace headgate::rpc
