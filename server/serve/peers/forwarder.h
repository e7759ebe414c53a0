// Forwarder: calls about targets that another server decides for, sent there or held.
//
// A call goes to the owner of its target. While nobody owns that, or the owner cannot be reached,
// the call is held: it needs no thread, and goes on within 20 ms when there is an owner, or ends
// with UNAVAILABLE when its caller has no time left. Where `approximation` is given and the store
// is away too, a Check is not held but decided here, approximately. What all calls that are held or
// under way take is bounded.
//
// The caller is told who the owner is, in the metadata kOwnerKey of the answer: "ADDRESS TARGET",
// the target as the request had it. Whoever asks there saves the way through this server.
//
// Thread-safe. It is at work from Open on, until the loop's route is drained.
//
//   Forwarder forwarder({.owners = owners, .engine = engine, .clock = clock, .connections = ...});
//   auto server = RpcServer::Start({..., .peers = &peer_service}, {..., .remote_decider =
//   &forwarder});

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/engine.h"
#include "server/serve/peers/approximation.h"
#include "server/serve/peers/charge_sender.h"
#include "server/serve/peers/decider.h"
#include "server/serve/peers/forward_stream.h"
#include "server/serve/peers/outgoing_call.h"
#include "server/serve/peers/peer_connections.h"
#include "server/serve/rpc/api.h"
#include "server/serve/rpc/remote_decider.h"
#include "server/serve/transport/serving_loop.h"
#include "server/share/cluster/owners.h"

namespace headgate::peers {

using rpc::kOwnerKey;

// What all that is held or under way may take.
inline constexpr int64_t kMaxForwardedBytes = int64_t{64} << 20;

// UNAVAILABLE: a permit that nobody knows may be with a target that is on its way from one server
// to another.
grpc::Status OwnerIsChanging();

class Forwarder final : public rpc::RemoteDecider,
                        private ForwardStreamListener,
                        private AnswerListener {
 public:
  // All outlive the forwarder.
  struct Options {
    cluster::Owners& owners;
    engine::Engine& engine;  // knows what the targets are
    Clock& clock;
    PeerConnections& connections;  // whose streams this opens, and closes
    // What nobody decides while the store is away is decided approximately; null: it is held.
    Approximation* approximation = nullptr;
    // For how long a call is held whose caller has set no deadline.
    absl::Duration longest_hold = absl::Seconds(30);
  };

  explicit Forwarder(const Options& options);

  // What is held while this server becomes the owner is decided by this. Once, before Open.
  void Use(const rpc::Api& api);
  // The streams' events are this loop's from now on; those of further loops are not used.
  void Open(transport::ServingLoop& loop) ABSL_LOCKS_EXCLUDED(mutex_);

  cluster::Decisions& decisions() override { return options_.owners.decisions(); }
  bool DecidesHere(std::string_view target) override;
  std::string OwnerHint(std::string_view target) override;
  grpc::Status Check(const v1::CheckRequest& check, const Caller& caller,
                     transport::Parking<v1::CheckResponse>& parking) override;
  grpc::Status BatchCheck(const v1::BatchCheckRequest& batch, const Caller& caller,
                          transport::Parking<v1::BatchCheckResponse>& parking) override;
  grpc::Status Report(const v1::ReportRequest& reports, const Caller& caller,
                      transport::Parking<v1::ReportResponse>& parking) override;
  void Close() override ABSL_LOCKS_EXCLUDED(mutex_);
  // Says to the server at this address that it was given a target. Never blocks, and may be lost.
  void Tell(const std::string& address, const peer::v1::GivenTarget& given)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a permit that nobody knows now may be known soon: see cluster::Owners.
  bool AllAreSettled() const { return options_.owners.AllAreSettled(options_.clock.Read()); }

  // Calls that are held now.
  size_t held() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls that came back from others, ever.
  int64_t returned() const { return returned_.load(std::memory_order_relaxed); }
  // What all calls take that are held or under way.
  int64_t taken_bytes() const { return taken_.load(std::memory_order_relaxed); }

 private:
  class Ticks;
  class ChargeCall;
  using Held = std::deque<std::shared_ptr<OutgoingCall>>;

  void OnOpen() override { RouteHeld(); }
  void OnReturned(Calls calls) override ABSL_LOCKS_EXCLUDED(mutex_);

  // The target's name: in the configuration here, or at another server that has it, or had it.
  // Nothing: there is none of that name.
  std::optional<std::string> NameOf(std::string_view target) const;
  std::optional<std::string> ConfiguredName(std::string_view target) const;
  template <typename Response>
  grpc::Status Forward(Destination to, bool waits, ForwardedCall request,
                       transport::Parking<Response>& parking);
  // The hint for the caller; empty: nobody owns the target now.
  std::string HintFor(const std::string& name, std::string_view target) const;
  // To the owner; false: it cannot go there now.
  bool Route(const std::shared_ptr<OutgoingCall>& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void Hold(std::shared_ptr<OutgoingCall> call) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers a Check that cannot go to an owner, where that is to be done. False: it is held.
  bool DecideApproximately(const std::shared_ptr<OutgoingCall>& call)
      ABSL_LOCKS_EXCLUDED(here_mutex_);
  void OnAnswer(const std::string& target, const ForwardedAnswer& answer) override;
  void SendCharges(peer::v1::ApproximateCharges charges) ABSL_LOCKS_EXCLUDED(mutex_);
  void RouteHeld() ABSL_LOCKS_EXCLUDED(mutex_);
  // It is at work: somebody routes what is held, or ends it.
  bool MayHold() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a call that was held: this server has become the owner.
  void DecideHere(const std::shared_ptr<OutgoingCall>& call) ABSL_LOCKS_EXCLUDED(here_mutex_);
  // Null: no member has this address, or this forwarder is closed.
  std::shared_ptr<ForwardStream> StreamTo(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);
  // Fifty times a second: whose time is up, and who may go on.
  void Tick();
  // Twice a second.
  void Refresh();
  void EndLoop() ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  std::atomic<int64_t> taken_{0};  // relaxed: a bound that a few threads may pass by one call each
  std::atomic<int64_t> returned_{0};  // relaxed: a number that orders nothing
  Mutex here_mutex_;
  std::unique_ptr<Decider> here_ ABSL_GUARDED_BY(here_mutex_);
  mutable Mutex mutex_;
  transport::ServingLoop* loop_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null: not yet, or no longer
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Held held_ ABSL_GUARDED_BY(mutex_);
  int64_t ticks_ = 0;                    // of the loop's thread
  std::optional<ChargeSender> charges_;  // of who approximates
};

}  // namespace headgate::peers
