// Cluster: this server as one of several: its membership, and the calls that it takes for others or
// hands to them.
//
// A target is measured, and its line worked off, by the server that owns it. What engines know of a
// target goes with it, through the store.
//
// Thread-safe, but for Start, Leave and Stop, which belong to one thread, in this order.
//
//   auto cluster = Cluster::Make(options, clock);
//   ... an engine with (*cluster)->seed() ...
//   (*cluster)->Attach({.engine = engine, .targets = targets, ...});
//   rpc::RpcServer::Start({..., .peers = &(*cluster)->peers()}, {..., .remote_decider = ...});
//   (*cluster)->Start();

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/app/approximate_decisions.h"
#include "server/app/cluster_log.h"
#include "server/app/protected_targets.h"
#include "server/app/store_note.h"
#include "server/app/targets.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "server/govern/access/access_control.h"
#include "server/govern/config/config.h"
#include "server/remember/overrides/follower.h"
#include "server/remember/overrides/registry.h"
#include "server/serve/peers/fleet_client.h"
#include "server/serve/peers/forwarder.h"
#include "server/serve/peers/keep_client.h"
#include "server/serve/peers/peer_connections.h"
#include "server/serve/peers/peer_service.h"
#include "server/serve/peers/question_service.h"
#include "server/share/cluster/view.h"
#include "server/share/membership/engine_states.h"
#include "server/share/membership/event_count.h"
#include "server/share/membership/member.h"
#include "server/share/store/postgres_store.h"

namespace headgate::app {

struct ClusterOptions {
  config::ClusterSettings settings;
  config::TlsSettings tls;
  std::string member;   // its name
  std::string address;  // where the others reach it
};

class Cluster final : public cluster::Control, private cluster::OwnersListener {
 public:
  // Reads the secret and the certificate; asks nobody yet. The clock outlives it. InvalidArgument
  // names what is wrong.
  static absl::StatusOr<std::unique_ptr<Cluster>> Make(const ClusterOptions& options, Clock& clock);
  ~Cluster() override;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Of the engine and of all that must be alike on all servers.
  uint64_t seed() const { return seed_; }

  // What this works with. All outlive it, or its Stop.
  struct Parts {
    engine::Engine& engine;
    Targets& targets;
    line::WaitingLines& lines;
    access::AccessControl& access;
    overrides::Registry& overrides;
  };
  // Once, before all that follows.
  void Attach(const Parts& parts);
  // FailedPrecondition: one of the targets is the store. It may take some seconds.
  absl::Status AcceptTargets(const config::Config& config);
  void SetTargets(const config::Config& config);
  // `joined` is called once, when the store has answered for the first time.
  void Start(std::function<void()> joined);
  // Gives away all that this server owns; meanwhile calls are answered, and handed on. Blocks.
  void Leave(absl::Duration longest);
  void Stop();

  // What is asked of a target that this server decides for is asked of its engine; else Aborted.
  absl::Status Check(const engine::CheckRequest& request, Now now, engine::CheckAnswer& answer);

  peers::Forwarder& forwarder() { return *forwarder_; }
  peers::PeerService& peers() { return *peers_; }
  // The files of the certificate have changed: says what of it the other servers would refuse.
  void NoteCertificate() const;
  // To another server; this one shows its own certificate.
  std::shared_ptr<grpc::Channel> Connect(const std::string& address) const;
  bool HasJoined() const { return member_->HasJoined(); }
  peers::FleetClient& fleet_client() { return *fleet_client_; }
  peers::QuestionService& questions() { return *questions_; }
  // Null: what nobody decides is held.
  approximate::ApproximateLimits* approximate() {
    return approximate_.has_value() ? &approximate_->limits() : nullptr;
  }

  cluster::ClusterView View() const override {
    cluster::ClusterView view = member_->View();
    view.store_note = store_note_.text();
    if (approximate_.has_value()) view.approximation = approximate_->View();
    return view;
  }
  absl::StatusOr<cluster::Offer> TryToMeasure(std::string_view target,
                                              std::string_view member) override;
  absl::Status SetDrained(std::string_view member, bool drained) override;
  absl::Status SetPreferred(std::string_view target, std::string_view member) override;
  // Where the overrides are kept, for all servers.
  std::unique_ptr<overrides::Store> OpenOverrides();

 private:
  // Hands over what is known of a target.
  class States;

  Cluster(const ClusterOptions& options, uint64_t seed, uint64_t incarnation, Clock& clock);

  void OwnersChanged() override;
  void AskToKeep(const cluster::AskToKeep& ask, peers::KeepClient::Then then);
  // Says what has changed since the round before.
  void NoteRound(const absl::StatusOr<cluster::RoundReply>& reply);

  const ClusterOptions options_;
  const uint64_t seed_;
  const uint64_t incarnation_;
  Clock& clock_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;  // shown to the other servers
  ClusterLog log_;
  ProtectedTargets protected_targets_;
  StoreNote store_note_;  // before what reaches the store
  store::PostgresStore store_;
  engine::Engine* engine_ = nullptr;
  Targets* targets_ = nullptr;
  line::WaitingLines* lines_ = nullptr;
  std::unique_ptr<States> states_;
  std::unique_ptr<membership::Member> member_;
  std::optional<ApproximateDecisions> approximate_;
  std::optional<peers::PeerConnections> connections_;
  std::optional<peers::Forwarder> forwarder_;
  std::optional<peers::PeerService> peers_;
  std::optional<peers::FleetClient> fleet_client_;
  std::optional<peers::QuestionService> questions_;
  std::optional<overrides::Follower> follower_;
  std::optional<peers::KeepClient> keep_client_;

  // The thread that stops measuring what this server owns no longer, and says when it has joined.
  membership::EventCount changed_;
  std::atomic<bool> stopping_{false};
  std::thread settler_;
};

}  // namespace headgate::app
