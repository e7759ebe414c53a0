// Forwarder: calls about targets that another server decides for, sent there or held.
//
// A call goes to the owner of its target. While nobody owns that, or the owner cannot be reached,
// the call is held: it needs no thread, and goes on within 20 ms when there is an owner, or ends
// with UNAVAILABLE when its caller has no time left. What all calls that are held or under way take
// is bounded.
//
// The caller is told who the owner is, in the metadata kOwnerKey of the answer: "ADDRESS TARGET",
// the target as the request had it. Whoever asks there saves the way through this server.
//
// Thread-safe. It is at work from Open on, until the loop's route is drained.
//
//   Forwarder forwarder({.owners = owners, .engine = engine, .clock = clock, .connect = connect});
//   auto server = RpcServer::Start({..., .peers = &peer_service}, {..., .elsewhere = &forwarder});

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/cluster/owners.h"
#include "server/engine/engine.h"
#include "server/peers/decider.h"
#include "server/peers/link.h"
#include "server/peers/outgoing_call.h"
#include "server/rpc/api.h"
#include "server/rpc/elsewhere.h"
#include "server/transport/serving_loop.h"

namespace headgate::peers {

inline constexpr char kOwnerKey[] = "headgate-owner";

// What all that is held or under way may take.
inline constexpr int64_t kMaxForwardedBytes = int64_t{64} << 20;

// UNAVAILABLE: a permit that nobody knows may be with a target that is on its way from one server
// to another.
grpc::Status Moving();

class Forwarder final : public rpc::Elsewhere, private LinkListener {
 public:
  // All outlive the forwarder.
  struct Options {
    cluster::Owners& owners;
    engine::Engine& engine;  // knows what the targets are
    Clock& clock;
    // A channel to this address, which proves who calls.
    std::function<std::shared_ptr<grpc::Channel>(const std::string& address)> connect;
    // The addresses of all other servers.
    std::function<std::vector<std::string>()> others;
    // For how long a call is held whose caller has set no deadline.
    absl::Duration longest_hold = absl::Seconds(30);
  };

  explicit Forwarder(Options options) : options_(std::move(options)) {}

  // What is held while this server becomes the owner is decided by this. Once, before Open.
  void Use(const rpc::Api& api);
  // The links' events are this loop's from now on; those of further loops are not used.
  void Open(transport::ServingLoop& loop) ABSL_LOCKS_EXCLUDED(mutex_);

  cluster::Decisions& decisions() override { return options_.owners.decisions(); }
  bool DecidesHere(std::string_view target) override;
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
  using Held = std::deque<std::shared_ptr<OutgoingCall>>;

  void OnOpen() override { RouteHeld(); }
  void OnReturned(Calls calls) override ABSL_LOCKS_EXCLUDED(mutex_);

  // The target's name in the configuration; nothing: it has none of that name.
  std::optional<std::string> NameOf(std::string_view target) const;
  template <typename Response>
  grpc::Status Forward(Destination to, bool waits, ForwardedCall request,
                       transport::Parking<Response>& parking);
  // The hint for the caller; empty: nobody owns the target now.
  std::string HintFor(const std::string& name, std::string_view target) const;
  // To the owner; false: it cannot go there now.
  bool Route(const std::shared_ptr<OutgoingCall>& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void Hold(std::shared_ptr<OutgoingCall> call) ABSL_LOCKS_EXCLUDED(mutex_);
  void RouteHeld() ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a call that was held: this server has become the owner.
  void DecideHere(const std::shared_ptr<OutgoingCall>& call) ABSL_LOCKS_EXCLUDED(here_mutex_);
  // To a server, null: there is none any more.
  std::shared_ptr<Link> LinkTo(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);
  // Fifty times a second: whose time is up, and who may go on.
  void Tick();
  // Nobody who hands a target over, or asks for one that was, waits for a handshake.
  void KeepLinksOpen() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndLoop() ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  std::atomic<int64_t> taken_{0};  // relaxed: a bound that a few threads may pass by one call each
  std::atomic<int64_t> returned_{0};  // relaxed: a number that orders nothing
  Mutex here_mutex_;
  std::unique_ptr<Decider> here_ ABSL_GUARDED_BY(here_mutex_);
  mutable Mutex mutex_;
  transport::ServingLoop* loop_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null: not yet, or no longer
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Link>, std::less<>> links_ ABSL_GUARDED_BY(mutex_);
  Held held_ ABSL_GUARDED_BY(mutex_);
  int64_t ticks_ = 0;  // of the loop's thread
};

}  // namespace headgate::peers
