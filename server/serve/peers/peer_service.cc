#include "server/serve/peers/peer_service.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "server/serve/peers/report_poll.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/call_evidence.h"
#include "server/serve/transport/error_status.h"
#include "server/serve/transport/stream_route.h"

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

// Parks the only call of a message. Without a stream nothing may be parked.
class MessageParking final : public ForwardParking {
 public:
  struct Message {
    transport::Parking<peer::v1::ForwardResponse>& parking;
    std::shared_ptr<PeerStream> stream;
    uint64_t number = 0;
    int64_t time_left_ns = 0;  // of its call
  };
  explicit MessageParking(Message message) : message_(std::move(message)) {}

  std::shared_ptr<ParkedForward> Park(std::shared_ptr<transport::ParkListener> listener) override {
    if (message_.stream == nullptr) return nullptr;
    const std::weak_ptr<PeerStream> stream = message_.stream;
    auto wait = std::make_shared<ForwardedWait>(std::move(listener), message_.time_left_ns,
                                                [stream, number = message_.number] {
                                                  const auto open = stream.lock();
                                                  if (open != nullptr) open->Forget(number);
                                                });
    message_.stream->Add(message_.number, wait);
    wait->SetParked(message_.parking.Park(wait));
    return wait;
  }

 private:
  const Message message_;
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
          *this,
          transport::StreamRouteOptions{
              .method = forward_,
              .loop = loop,
              .count = streams_count_,
              .admission = [this](size_t /*thread*/, auto& context,
                                  auto& /*name*/) { return MustBePeer(context); },
              .calls = api_->calls(),
              .name = "Forward",
              .max_parked = kMaxParked},
          [this, &threads](size_t thread, auto& context, auto& request, auto& response,
                           auto& parking) {
            return Forward(threads[thread], {context, request, response, parking});
          }));
  forwarder_.Open(loop);
}

grpc::Status PeerService::MustBePeer(grpc::ServerContext& context) const {
  const auto refused = api_->access().MustBePeer(rpc::CallEvidence(context));
  return refused.has_value() ? rpc::ToGrpcStatus(*refused) : grpc::Status();
}

grpc::Status PeerService::Forward(Decider& decider, const Message& message) {
  const auto& [context, request, response, parking] = message;
  if (request.opening()) {
    OpenStream(context, parking);
    return grpc::Status();
  }
  // Whatever else a message carries: what it says of callers is told nowhere else.
  const std::shared_ptr<PeerStream> stream = StreamOf(context);
  if (stream != nullptr) {
    for (const uint64_t number : request.delivered()) stream->CallerEnded(number, true);
    for (const uint64_t number : request.gone()) stream->CallerEnded(number, false);
  }
  if (on_given_) {
    for (const peer::v1::GivenTarget& given : request.given()) on_given_(given);
  }
  response.clear_answers();
  const cluster::DecisionScope scope(forwarder_.decisions());
  // One that may wait is alone in its message; others are answered at once.
  const std::shared_ptr<PeerStream> waits_on = request.calls_size() == 1 ? stream : nullptr;
  for (const ForwardedCall& call : request.calls()) {
    MessageParking waits({parking, waits_on, request.number(), TimeLeftNs(call)});
    if (!Decide(decider, {call, *response.add_answers(), waits})) return grpc::Status();
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

size_t PeerService::kept() const {
  const MutexLock lock(&mutex_);
  size_t kept = 0;
  for (const auto& [key, stream] : streams_) kept += stream->size();
  return kept;
}

bool PeerService::Decide(Decider& decider, const Question& question) {
  const auto& [call, answer, parking] = question;
  if (call.has_report()) return DecideReport(decider, question);
  if (DecidesAllHere(call)) return decider.Decide(call, answer, parking);
  answer.set_not_the_owner(true);
  return true;
}

// Of a permit that is unknown here the other servers are asked as well, at about this time: what is
// being taken over here must not be denied by all.
bool PeerService::DecideReport(Decider& decider, const Question& question) {
  const auto& [call, answer, parking] = question;
  const bool decided = decider.Decide(call, answer, parking);
  if (!decided || !answer.has_report() || forwarder_.AllAreSettled()) return decided;
  const auto& results = answer.report().results();
  if (std::any_of(results.begin(), results.end(), ReportPoll::IsUnknown))
    SetError(OwnerIsChanging(), answer);
  return true;
}

bool PeerService::DecidesAllHere(const ForwardedCall& call) {
  if (call.has_check()) return forwarder_.DecidesHere(call.check().target());
  // Those of a batch are all about one target.
  if (call.has_batch() && call.batch().checks_size() > 0) {
    return forwarder_.DecidesHere(call.batch().checks(0).target());
  }
  if (call.has_charges()) return forwarder_.DecidesHere(call.charges().target());
  return true;
}

}  // namespace headgate::peers
