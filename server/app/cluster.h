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
//   (*cluster)->Attach(engine, targets, lines, access);
//   rpc::RpcServer::Start({..., .peers = &(*cluster)->peers()}, {..., .elsewhere = ...});
//   (*cluster)->Start();

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/access/access_control.h"
#include "server/app/protected_targets.h"
#include "server/app/targets.h"
#include "server/cluster/view.h"
#include "server/config/config.h"
#include "server/engine/engine.h"
#include "server/line/waiting_lines.h"
#include "server/membership/bell.h"
#include "server/membership/engine_states.h"
#include "server/membership/member.h"
#include "server/overrides/follower.h"
#include "server/overrides/registry.h"
#include "server/peers/forwarder.h"
#include "server/peers/keep_asker.h"
#include "server/peers/peer_service.h"
#include "server/peers/question_service.h"
#include "server/peers/questioner.h"
#include "server/store/postgres_store.h"

namespace headgate::app {

struct ClusterOptions {
  config::ClusterSettings settings;
  config::TlsSettings tls;
  std::string member;   // its name
  std::string address;  // where the others reach it
};

class Cluster final : public cluster::Control, private cluster::OwnersListener {
 public:
  // Reads the secret; asks nobody yet. The clock outlives it. InvalidArgument names what is wrong.
  static absl::StatusOr<std::unique_ptr<Cluster>> Make(const ClusterOptions& options, Clock& clock);
  ~Cluster() override;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Of the engine and of all that must be alike on all servers.
  uint64_t seed() const { return seed_; }

  // What this works with. All outlive it, or its Stop. Once, before all that follows.
  void Attach(engine::Engine& engine, Targets& targets, line::WaitingLines& lines,
              access::AccessControl& access, overrides::Registry& overrides);
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
  // To another server; this one shows its own certificate.
  std::shared_ptr<grpc::Channel> Connect(const std::string& address) const;
  bool HasJoined() const { return member_->HasJoined(); }
  peers::Questioner& questioner() { return *questioner_; }
  peers::QuestionService& questions() { return *questions_; }

  cluster::ClusterView View() const override { return member_->View(); }
  absl::Status SetDrained(std::string_view member, bool drained) override;
  absl::Status SetPreferred(std::string_view target, std::string_view member) override;
  // Where the overrides are kept, for all servers.
  std::unique_ptr<overrides::Store> OpenOverrides();

 private:
  // Measures what this server owns, beside handing its state over.
  class States;

  Cluster(const ClusterOptions& options, uint64_t seed, uint64_t incarnation, Clock& clock);

  void OwnersChanged() override;
  void AskToKeep(const cluster::AskToKeep& ask, peers::KeepAsker::Then then);
  // Says what has changed since the round before.
  void NoteRound(const absl::StatusOr<cluster::RoundReply>& reply);

  const ClusterOptions options_;
  const uint64_t seed_;
  const uint64_t incarnation_;
  Clock& clock_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;  // shown to the other servers
  ProtectedTargets protected_targets_;
  store::PostgresStore store_;
  engine::Engine* engine_ = nullptr;
  Targets* targets_ = nullptr;
  line::WaitingLines* lines_ = nullptr;
  std::unique_ptr<States> states_;
  std::unique_ptr<membership::Member> member_;
  std::optional<peers::Forwarder> forwarder_;
  std::optional<peers::PeerService> peers_;
  std::optional<peers::Questioner> questioner_;
  std::optional<peers::QuestionService> questions_;
  std::optional<overrides::Follower> follower_;
  peers::KeepAsker keep_asker_;

  // Of the thread that asks for rounds: what was said last.
  bool store_is_away_ = false;
  bool name_is_taken_ = false;

  // The thread that stops measuring what this server owns no longer, and says when it has joined.
  membership::Bell changed_;
  std::atomic<bool> stopping_{false};
  std::thread settler_;
};

}  // namespace headgate::app
