#include "server/rpc/throttler_service.h"

#include <headgate/v1/throttler_service.pb.h>

#include <memory>

#include "server/rpc/access_status.h"
#include "server/rpc/peer_addresses.h"
#include "server/rpc/throttler.h"
#include "server/rpc/unary_route.h"

namespace headgate::rpc {
namespace {

// Calls that wait for callers, on each loop. More callers at once wait in gRPC for a moment.
constexpr int kWaitingChecks = 128;
constexpr int kWaitingBatches = 32;

// What the routes of one loop share.
struct Lane : Route {
  Lane(engine::Engine& engine, Clock& clock, DemandListener* demand,
       throttle_log::Recorder* recorder, access::AccessGuard* the_guard, Calls* calls)
      : guard(the_guard),
        throttler(engine, clock, demand, recorder == nullptr ? nullptr : &recorder->AddLane(),
                  the_guard, calls == nullptr ? nullptr : &calls->AddDecisionLane()) {}

  grpc::Status FindCaller(grpc::ServerContext& context, const access::Caller*& caller) {
    return Identify(guard, context, &callers, caller);
  }
  // Ok, with who asks.
  grpc::Status FindAsker(grpc::ServerContext& context, Asker& asker) {
    grpc::Status status = FindCaller(context, asker.caller);
    if (status.ok()) asker.address = peers.Find(context.peer());
    return status;
  }

  grpc::Status BatchCheck(grpc::ServerContext& context, const Throttler::Checks& checks,
                          Throttler::Results& results) {
    Asker asker;
    grpc::Status known = FindAsker(context, asker);
    if (!known.ok()) [[unlikely]]
      return known;
    return throttler.BatchCheck(checks, asker, results);
  }

  access::AccessGuard* const guard;
  access::CallerCache callers;

  Throttler throttler;
  PeerAddresses peers;
};

}  // namespace

ThrottlerService::ThrottlerService(engine::Engine& engine, Clock& clock, DemandListener* demand,
                                   throttle_log::Recorder* recorder, access::AccessGuard* guard,
                                   StreamLimits streams, Calls* calls)
    : engine_(engine),
      clock_(clock),
      demand_(demand),
      recorder_(recorder),
      guard_(guard),
      calls_(calls),
      streams_(streams, calls == nullptr ? nullptr : &calls->streams_open()),
      check_(AddAsync("/headgate.v1.ThrottlerService/Check", Kind::NORMAL_RPC)),
      batch_check_(AddAsync("/headgate.v1.ThrottlerService/BatchCheck", Kind::NORMAL_RPC)),
      check_stream_(AddAsync("/headgate.v1.ThrottlerService/CheckStream", Kind::BIDI_STREAMING)),
      report_(AddAsync("/headgate.v1.ThrottlerService/Report", Kind::NORMAL_RPC)) {
  AddSync<v1::ExplainRequest, v1::ExplainResponse>(
      "/headgate.v1.ThrottlerService/Explain",
      [this](grpc::ServerContext& context, const v1::ExplainRequest& request,
             v1::ExplainResponse& response) {
        const access::Caller* caller = nullptr;
        grpc::Status known = Identify(guard_, context, nullptr, caller);
        if (!known.ok()) return known;
        if (guard_ != nullptr) {
          const v1::CheckRequest& check = request.check();
          const auto refused = guard_->MayCheck(caller, check.identity(), check.tags());
          if (refused.has_value()) return ToGrpcStatus(*refused);
        }
        const std::optional<engine::IpAddress> address = ParsePeer(context.peer());
        return Throttler::Explain(engine_, clock_, request,
                                  address.has_value() ? &*address : nullptr, response);
      });
}

void ThrottlerService::Open(ServingLoop& loop) {
  auto owned = std::make_unique<Lane>(engine_, clock_, demand_, recorder_, guard_, calls_);
  const auto counted = [this](const char* method) {
    return calls_ == nullptr ? nullptr : &calls_->AddLane(method);
  };
  Lane* const lane = owned.get();
  loop.Own(std::move(owned));
  loop.Own(std::make_unique<UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
      *this, check_, loop, kWaitingChecks,
      [lane](auto& context, auto& request, auto& response) {
        Asker asker;
        grpc::Status known = lane->FindAsker(context, asker);
        if (!known.ok()) [[unlikely]]
          return known;
        return lane->throttler.Check(request, asker, *response.mutable_decision());
      },
      counted("Check")));
  loop.Own(std::make_unique<UnaryRoute<v1::BatchCheckRequest, v1::BatchCheckResponse>>(
      *this, batch_check_, loop, kWaitingBatches,
      [lane](auto& context, auto& request, auto& response) {
        return lane->BatchCheck(context, request.checks(), *response.mutable_results());
      },
      counted("BatchCheck")));
  loop.Own(std::make_unique<CheckStreams>(
      *this, check_stream_, loop, streams_,
      [lane](auto& context, auto& name) {
        const access::Caller* caller = nullptr;
        grpc::Status known = lane->FindCaller(context, caller);
        if (caller != nullptr && !caller->is_anybody()) name = caller->name();
        return known;
      },
      [lane](auto& context, auto& request, auto& response) {
        return lane->BatchCheck(context, request.checks(), *response.mutable_results());
      },
      counted("CheckStream")));
  loop.Own(std::make_unique<UnaryRoute<v1::ReportRequest, v1::ReportResponse>>(
      *this, report_, loop, kWaitingBatches,
      [lane](auto& context, auto& request, auto& response) {
        const access::Caller* caller = nullptr;
        grpc::Status known = lane->FindCaller(context, caller);
        if (!known.ok()) [[unlikely]]
          return known;
        return lane->throttler.Report(request, caller, response);
      },
      counted("Report")));
}

}  // namespace headgate::rpc
