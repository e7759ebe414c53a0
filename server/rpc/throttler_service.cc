#include "server/rpc/throttler_service.h"

#include <headgate/v1/throttler_service.pb.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
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
// Of all parked calls, on all loops. MemoryLimit ends connections from 192 MiB on. What a call
// takes is nearly all gRPC's own.
constexpr int64_t kBytesOfCall = 15'000;
constexpr int64_t kBytesOfResult = 500;
constexpr int64_t kMaxParkedBytes = static_cast<int64_t>(kMaxParkedCalls) * kBytesOfCall;

// An answer at a call's own deadline would come too late: it has so much time to get there. And the
// caller's deadline is earlier than the one that came here: gRPC sends three digits of what is
// left, rounded up.
absl::Duration WithoutTheWayBack(absl::Duration left) {
  constexpr absl::Duration kLeast = absl::Milliseconds(5), kMost = absl::Milliseconds(100);
  absl::Duration digit = absl::Milliseconds(1);
  while (left >= 1000 * digit) digit *= 10;
  return std::max(left - digit - std::clamp(left / 10, kLeast, kMost), absl::ZeroDuration());
}

// What is decided at once, kept where others of the call wait or where nothing waits after all.
void Keep(WaitingSingleCheck& call, const v1::CheckResponse& response) {
  if (!call.waits()) call.Keep(response);
}
template <typename Response>
void Keep(WaitingBatch<Response>& call, const Response& response) {
  if (response.results_size() > 1 || !call.waits()) call.Keep(response);
}

// Parks a call as `Waiting` when it has to be.
template <typename Waiting, typename Response>
class ParkedOnDemand final : public CallToWait {
 public:
  ParkedOnDemand(const WaitingNeeds& needs, transport::Parking<Response>& parking)
      : needs_(needs), parking_(parking) {}

  WaitingCall* Park(const access::Asker& asker, int checks, Now now) override {
    if (call_ == nullptr) {
      constexpr bool kIsCall = !std::is_same_v<Response, v1::CheckStreamResponse>;
      const int64_t bytes =
          (kIsCall ? kBytesOfCall : 0) + (checks > 1 ? checks * kBytesOfResult : 0);
      // relaxed: a bound that a few threads may pass by one call each.
      const int64_t taken = needs_.parked_bytes.load(std::memory_order_relaxed);
      if (bytes > 0 && taken + bytes > kMaxParkedBytes) return nullptr;
      call_ = std::make_shared<Waiting>(needs_, asker, now);
      auto parked = parking_.Park(call_);
      time_left_ = parked->time_left_ns() == INT64_MAX
                       ? absl::InfiniteDuration()
                       : WithoutTheWayBack(absl::Nanoseconds(parked->time_left_ns()));
      call_->SetParked(std::move(parked));
      call_->CountBytes(bytes);
    }
    return call_.get();
  }
  absl::Duration TimeLeft() const override { return time_left_; }

  // The handler is done, and has said `response` of what does not wait.
  void End(const Response& response) {
    if (call_ == nullptr) [[likely]]
      return;
    Keep(*call_, response);
    call_->AllHaveEntered();
  }

 private:
  const WaitingNeeds& needs_;
  transport::Parking<Response>& parking_;
  absl::Duration time_left_;
  std::shared_ptr<Waiting> call_;
};

// What one thread of a loop has for itself.
struct ServingThread {
  ServingThread(const Dependencies& on, const WaitingNeeds& needs)
      : access(on.access), throttler(on), waiting(needs) {}

  // Ok, with who asks.
  grpc::Status FindAsker(const CallEvidence& call, Asker& asker) {
    grpc::Status known = Identify(access, call, asker);
    if (known.ok()) asker.address = peers.Find(call.Peer());
    return known;
  }

  // What `decide` says to who asks.
  template <typename Decide>
  grpc::Status ForAsker(grpc::ServerContext& context, Decide decide) {
    const CallEvidence call(context, &connections);
    Asker asker;
    grpc::Status known = FindAsker(call, asker);
    if (!known.ok()) [[unlikely]]
      return known;
    return decide(asker);
  }

  grpc::Status Check(grpc::ServerContext& context, const v1::CheckRequest& check,
                     v1::CheckResponse& response, transport::Parking<v1::CheckResponse>& parking) {
    ParkedOnDemand<WaitingSingleCheck, v1::CheckResponse> call(waiting, parking);
    grpc::Status status = ForAsker(context, [&](const Asker& asker) {
      return throttler.Check(check, asker, *response.mutable_decision(), call);
    });
    call.End(response);
    return status;
  }

  template <typename Response>
  grpc::Status BatchCheck(grpc::ServerContext& context, const Throttler::Checks& checks,
                          Response& response, transport::Parking<Response>& parking) {
    ParkedOnDemand<WaitingBatch<Response>, Response> call(waiting, parking);
    grpc::Status status = ForAsker(context, [&](const Asker& asker) {
      return throttler.BatchCheck(checks, asker, *response.mutable_results(), call);
    });
    call.End(response);
    return status;
  }

  grpc::Status Report(grpc::ServerContext& context, const v1::ReportRequest& request,
                      v1::ReportResponse& response) {
    const CallEvidence call(context, &connections);
    access::Asker asker;
    grpc::Status known = Identify(access, call, asker);
    if (!known.ok()) [[unlikely]]
      return known;
    return throttler.Report(request, asker, response);
  }

  // Whether the caller may have a stream, and whom it is counted for: one without a name, for all
  // such at its address.
  grpc::Status AdmitStream(grpc::ServerContext& context, std::string& name) {
    const CallEvidence call(context, &connections);
    Asker asker;
    grpc::Status known = FindAsker(call, asker);
    if (asker.caller != nullptr && !asker.caller->is_anybody()) {
      name = asker.caller->name();
    } else if (asker.address != nullptr) {
      name = absl::StrCat("at ", asker.address->ToString());
    }
    return known;
  }

  access::AccessControl& access;
  CallEvidence::Connections connections;
  Throttler throttler;
  const WaitingNeeds& waiting;
  PeerAddresses peers;
};

// Those of one loop, for all its routes.
struct ServingThreads : transport::Route {
  ServingThreads(const Dependencies& on, const WaitingNeeds& needs) {
    for (auto& thread : threads) thread = std::make_unique<ServingThread>(on, needs);
  }
  ServingThread& operator[](size_t thread) { return *threads[thread]; }

  std::array<std::unique_ptr<ServingThread>, transport::ServingLoop::kThreads> threads;
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
        return Throttler::Explain(on_, request, asker, response);
      });
}

void ThrottlerService::Open(transport::ServingLoop& loop) {
  auto owned = std::make_unique<ServingThreads>(on_, waiting_);
  ServingThreads& threads = *owned;
  loop.Own(std::move(owned));
  loop.Own(std::make_unique<transport::UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
      *this, check_, loop, kWaitingChecks,
      [&threads](size_t thread, auto& context, auto& request, auto& response, auto& parking) {
        return threads[thread].Check(context, request, response, parking);
      },
      &on_.calls, "Check"));
  loop.Own(std::make_unique<transport::UnaryRoute<v1::BatchCheckRequest, v1::BatchCheckResponse>>(
      *this, batch_check_, loop, kWaitingBatches,
      [&threads](size_t thread, auto& context, auto& request, auto& response, auto& parking) {
        return threads[thread].BatchCheck(context, request.checks(), response, parking);
      },
      &on_.calls, "BatchCheck"));
  loop.Own(
      std::make_unique<transport::StreamRoute<v1::CheckStreamRequest, v1::CheckStreamResponse>>(
          *this, check_stream_, loop, streams_,
          [&threads](size_t thread, auto& context, auto& name) {
            return threads[thread].AdmitStream(context, name);
          },
          [&threads](size_t thread, auto& context, auto& request, auto& response, auto& parking) {
            return threads[thread].BatchCheck(context, request.checks(), response, parking);
          },
          on_.calls, "CheckStream"));
  loop.Own(std::make_unique<transport::UnaryRoute<v1::ReportRequest, v1::ReportResponse>>(
      *this, report_, loop, kWaitingBatches,
      [&threads](size_t thread, auto& context, auto& request, auto& response) {
        return threads[thread].Report(context, request, response);
      },
      &on_.calls, "Report"));
}

}  // namespace headgate::rpc
