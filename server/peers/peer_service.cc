#include "server/peers/peer_service.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "server/peers/report_poll.h"
#include "server/rpc/access_status.h"
#include "server/rpc/call_evidence.h"
#include "server/transport/error_status.h"
#include "server/transport/stream_route.h"

namespace headgate::peers {
namespace {

// One for each of the others, and some for those that begin anew.
constexpr transport::StreamLimits kStreams{.all = 256, .of_one_caller = 256};
// Of one stream, that wait: what bounds them is the lines.
constexpr size_t kMaxParked = size_t{1} << 20;

struct LoopThreads : transport::Route {
  explicit LoopThreads(const rpc::Api& api) {
    for (auto& thread : threads) thread = std::make_unique<Decider>(api);
  }
  Decider& operator[](size_t thread) { return *threads[thread]; }

  std::array<std::unique_ptr<Decider>, transport::ServingLoop::kThreads> threads;
};

int64_t TimeLeftNs(const ForwardedCall& call) {
  if (!call.has_time_left()) return INT64_MAX;
  return call.time_left().seconds() * 1'000'000'000 + call.time_left().nanos();
}

// Parks the only call of a message.
class MessageParking final : public ForwardParking {
 public:
  using Message = transport::Parking<peer::v1::ForwardResponse>;

  MessageParking(Message& message, std::shared_ptr<PeerStream> stream, uint64_t number,
                 int64_t time_left_ns)
      : message_(message),
        stream_(std::move(stream)),
        number_(number),
        time_left_ns_(time_left_ns) {}

  std::shared_ptr<ParkedForward> Park(std::shared_ptr<transport::ParkListener> listener) override {
    if (stream_ == nullptr) return nullptr;
    const std::weak_ptr<PeerStream> stream = stream_;
    auto wait = std::make_shared<ForwardedWait>(std::move(listener), time_left_ns_,
                                                [stream, number = number_] {
                                                  const auto open = stream.lock();
                                                  if (open != nullptr) open->Forget(number);
                                                });
    stream_->Add(number_, wait);
    wait->SetParked(message_.Park(wait));
    return wait;
  }

 private:
  Message& message_;
  const std::shared_ptr<PeerStream> stream_;
  const uint64_t number_;
  const int64_t time_left_ns_;
};

}  // namespace

PeerService::PeerService(Forwarder& forwarder, OnGiven on_given)
    : forwarder_(forwarder),
      on_given_(std::move(on_given)),
      forward_(AddAsync("/headgate.peer.v1.PeerService/Forward", Kind::BIDI_STREAMING)),
      streams_count_(kStreams, streams_gauge_) {}

void PeerService::Use(const rpc::Api& api) {
  api_ = &api;
  forwarder_.Use(api);
}

void PeerService::Open(transport::ServingLoop& loop) {
  auto owned = std::make_unique<LoopThreads>(*api_);
  LoopThreads& threads = *owned;
  loop.Own(std::move(owned));
  loop.Own(
      std::make_unique<transport::StreamRoute<peer::v1::ForwardRequest, peer::v1::ForwardResponse>>(
          *this, forward_, loop, streams_count_,
          [this](size_t /*thread*/, auto& context, auto& /*name*/) { return MustBePeer(context); },
          [this, &threads](size_t thread, auto& context, auto& request, auto& response,
                           auto& parking) {
            return Forward(threads[thread], context, request, response, parking);
          },
          api_->calls(), "Forward", kMaxParked));
  forwarder_.Open(loop);
}

grpc::Status PeerService::MustBePeer(grpc::ServerContext& context) const {
  const auto refused = api_->access().MustBePeer(rpc::CallEvidence(context));
  return refused.has_value() ? rpc::ToGrpcStatus(*refused) : grpc::Status();
}

grpc::Status PeerService::Forward(Decider& decider, grpc::ServerContext& context,
                                  const peer::v1::ForwardRequest& request,
                                  peer::v1::ForwardResponse& response, Parking& parking) {
  if (request.opening()) {
    OpenStream(context, parking);
    return grpc::Status();
  }
  std::shared_ptr<PeerStream> stream;
  if (request.calls_size() <= 1) stream = StreamOf(context);
  if (stream != nullptr) {
    for (const uint64_t number : request.delivered()) stream->CallerEnded(number, true);
    for (const uint64_t number : request.gone()) stream->CallerEnded(number, false);
  }
  if (on_given_) {
    for (const peer::v1::GivenTarget& given : request.given()) on_given_(given);
  }
  response.clear_answers();
  const cluster::DecisionScope scope(forwarder_.decisions());
  for (const ForwardedCall& call : request.calls()) {
    // One that may wait is alone in its message; others are answered at once.
    MessageParking waits(parking, stream, request.number(), TimeLeftNs(call));
    if (!Decide(decider, call, *response.add_answers(), waits)) return grpc::Status();
  }
  return grpc::Status();
}

void PeerService::OpenStream(const grpc::ServerContext& context, Parking& parking) {
  auto stream = std::make_shared<PeerStream>([this, key = &context] {
    const MutexLock lock(&mutex_);
    streams_.erase(key);
  });
  {
    const MutexLock lock(&mutex_);
    streams_[&context] = stream;
  }
  stream->SetParked(parking.Park(stream));
}

std::shared_ptr<PeerStream> PeerService::StreamOf(const grpc::ServerContext& context) {
  const MutexLock lock(&mutex_);
  const auto found = streams_.find(&context);
  return found == streams_.end() ? nullptr : found->second;
}

bool PeerService::Decide(Decider& decider, const ForwardedCall& call, ForwardedAnswer& answer,
                         ForwardParking& parking) {
  if (call.has_report()) return DecideReport(decider, call, answer, parking);
  if (DecidesAllHere(call)) return decider.Decide(call, answer, parking);
  answer.set_not_the_owner(true);
  return true;
}

// Of a permit that is unknown here the other servers are asked as well, at about this time: what is
// being taken over here must not be denied by all.
bool PeerService::DecideReport(Decider& decider, const ForwardedCall& call, ForwardedAnswer& answer,
                               ForwardParking& parking) {
  const bool decided = decider.Decide(call, answer, parking);
  if (!decided || !answer.has_report() || forwarder_.AllAreSettled()) return decided;
  const auto& results = answer.report().results();
  if (std::any_of(results.begin(), results.end(), ReportPoll::IsUnknown))
    SetError(Moving(), answer);
  return true;
}

bool PeerService::DecidesAllHere(const ForwardedCall& call) {
  if (call.has_check()) return forwarder_.DecidesHere(call.check().target());
  // Those of a batch are all about one target.
  if (call.has_batch() && call.batch().checks_size() > 0) {
    return forwarder_.DecidesHere(call.batch().checks(0).target());
  }
  return true;
}

}  // namespace headgate::peers
