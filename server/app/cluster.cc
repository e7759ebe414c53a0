#include "server/app/cluster.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>
#include <openssl/sha.h>

#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file_text.h"
#include "common/random_seed.h"
#include "server/app/connection_string.h"
#include "server/app/health_handover.h"
#include "server/app/peer_certificate.h"
#include "server/app/server_log.h"
#include "server/share/store/override_store.h"

namespace headgate::app {
namespace {

// For what an operator orders: less than the command line waits for the answer.
constexpr absl::Duration kOrderTimeout = absl::Milliseconds(1500);
constexpr size_t kMinSecretBytes = 16;
constexpr size_t kMaxSecretBytes = 4096;
constexpr unsigned int kCertificateRefreshSeconds = 5;
// Between two attempts to reach another server.
constexpr int kReconnectMs = 500;
// How often the thread that settles looks at what nobody notifies it of.
constexpr int64_t kLookNs = int64_t{100} * 1'000'000;

absl::StatusOr<uint64_t> SeedOf(const std::string& path) {
  const absl::StatusOr<std::string> secret = ReadFileText(path, kMaxSecretBytes);
  if (!secret.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster.secret_file ", path, " ", secret.status().message()));
  }
  if (secret->size() < kMinSecretBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster.secret_file ", path, " has fewer than ", kMinSecretBytes, " bytes"));
  }
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(secret->data()), secret->size(), digest.data());
  uint64_t seed = 0;
  std::memcpy(&seed, digest.data(), sizeof(seed));
  return seed;
}

// The files are read again while the server runs, by gRPC.
std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const config::TlsSettings& tls) {
  namespace tls_api = grpc::experimental;
  tls_api::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls_api::FileWatcherCertificateProvider>(
      tls.key_file, tls.certificate_file, tls.client_ca_file, kCertificateRefreshSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls_api::TlsCredentials(options);
}

store::TransactorOptions StoreOptionsOf(const config::ClusterSettings& settings, uint64_t seed,
                                        ProtectedTargets& protected_targets, StoreNote& note) {
  return {.dsn = [source = settings.store] { return ReadConnectionString(source); },
          .statement_timeout = settings.lease / 2,
          .seed = seed,
          .accept =
              [&protected_targets](const store::DatabaseIdentity& database) {
                return protected_targets.Accept(database);
              },
          .on_note = [&note](const std::string& text) { note.Set(text); }};
}

cluster::OnStoreLoss PolicyOf(const config::ClusterSettings& settings) {
  switch (settings.on_store_loss) {
    case config::OnStoreLoss::kKeep:
      return cluster::OnStoreLoss::kKeep;
    case config::OnStoreLoss::kApproximate:
      return cluster::OnStoreLoss::kApproximate;
    case config::OnStoreLoss::kStop:
      break;
  }
  return cluster::OnStoreLoss::kStop;
}

PeerCertificateNeeds NeedsOf(const ClusterOptions& options) {
  return {
      .tls = options.tls, .names = options.settings.peer_certificates, .address = options.address};
}

cluster::KeepQuestion QuestionIn(const peer::v1::KeepRequest& request) {
  cluster::KeepQuestion question{
      .to = request.to(), .name = request.member(), .incarnation = request.incarnation()};
  for (const peer::v1::KeptTarget& target : request.targets()) {
    question.held.push_back({target.target(), target.generation()});
  }
  return question;
}

}  // namespace

class Cluster::States final : public membership::EngineStates {
 public:
  States(const Parts& parts, Clock& clock)
      : EngineStates(parts.engine, clock,
                     [](std::string_view target, const absl::Status& why) {
                       LogError("a target's state cannot be read: nothing is admitted at first",
                                {{"target", target}, {"why", std::string(why.message())}});
                     }),
        targets_(parts.targets),
        overrides_(parts.overrides) {}

  // Measuring has begun, as the protocol wanted it before: nothing is decided with the health of
  // nobody's database.
  absl::Status Prepare(absl::Span<const cluster::Held> /*targets*/) override {
    // Who has been paused is not known before the overrides were read: nothing is decided so far.
    if (!overrides_.GetState().is_loaded) {
      absl::Status read = overrides_.Follow(0);  // which no store has that was written to
      if (!read.ok()) return read;
    }
    targets_.Settle();
    return absl::OkStatus();
  }
  absl::Status Adopt(std::string_view target, cluster::Takeover takeover,
                     const std::optional<cluster::StoredState>& state) override {
    absl::Status adopted = EngineStates::Adopt(target, takeover, state);
    if (adopted.ok() && state.has_value() && !state->health.empty()) {
      targets_.Adopt(target, DecodeHealth(state->health, state->age));
    }
    if (adopted.ok()) {
      LogInfo("decides for a target", {{"target", target}, {"from", NameOf(takeover)}});
    }
    return adopted;
  }
  std::string Health(const std::string& target) override {
    return EncodeHealth(targets_.Hand(target));
  }
  void Forget(std::string_view target) override {
    EngineStates::Forget(target);
    LogInfo("decides for a target no longer", {{"target", target}});
  }

 private:
  static const char* NameOf(cluster::Takeover takeover) {
    switch (takeover) {
      case cluster::Takeover::kFresh:
        return "nobody before";
      case cluster::Takeover::kHandedOver:
        return "its owner, who handed it over";
      case cluster::Takeover::kLearning:
        return "an owner who died; buckets start full";
    }
    return "";
  }

  Targets& targets_;
  overrides::Registry& overrides_;
};

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Make(const ClusterOptions& options,
                                                       Clock& clock) {
  const absl::StatusOr<uint64_t> seed = SeedOf(options.settings.secret_file);
  if (!seed.ok()) return seed.status();
  if (absl::Status shown = CheckPeerCertificate(NeedsOf(options)); !shown.ok()) return shown;
  absl::StatusOr<uint64_t> incarnation = RandomSeed();
  if (!incarnation.ok()) return incarnation.status();
  // make_unique cannot call the private constructor.
  return std::unique_ptr<Cluster>(
      new Cluster(options, *seed, *incarnation == 0 ? 1 : *incarnation, clock));
}

Cluster::Cluster(const ClusterOptions& options, uint64_t seed, uint64_t incarnation, Clock& clock)
    : options_(options),
      seed_(seed),
      incarnation_(incarnation),
      clock_(clock),
      credentials_(CredentialsOf(options.tls)),
      log_(options.member, options.settings.on_store_loss),
      protected_targets_(clock),
      store_(StoreOptionsOf(options.settings, incarnation, protected_targets_, store_note_),
             clock) {}

Cluster::~Cluster() { Stop(); }

std::unique_ptr<overrides::Store> Cluster::OpenOverrides() {
  return std::make_unique<store::OverrideStore>(
      StoreOptionsOf(options_.settings, ~incarnation_, protected_targets_, store_note_), clock_,
      kOrderTimeout);
}

absl::Status Cluster::SetDrained(std::string_view member, bool drained) {
  return store_.SetDrained(member, drained, kOrderTimeout);
}

absl::Status Cluster::SetPreferred(std::string_view target, std::string_view member) {
  return store_.SetPreferred(target, member, kOrderTimeout);
}

absl::StatusOr<cluster::Offer> Cluster::TryToMeasure(std::string_view target,
                                                     std::string_view member) {
  if (member == options_.member) return targets_->Try(target);
  return fleet_client_->TryToMeasure(std::string(target), std::string(member));
}

void Cluster::Attach(const Parts& parts) {
  engine_ = &parts.engine;
  targets_ = &parts.targets;
  lines_ = &parts.lines;
  parts.targets.MeasureNone(
      [this](const std::string& target, cluster::Measures measures, const std::string& why) {
        member_->OnMeasured(target, measures, why);
      });
  parts.access.SetPeers(options_.settings.peer_certificates);
  states_ = std::make_unique<States>(parts, clock_);
  member_ = std::make_unique<membership::Member>(
      membership::MemberOptions{
          .protocol = {.name = options_.member,
                       .incarnation = incarnation_,
                       .address = options_.address,
                       .lease = options_.settings.lease,
                       .on_store_loss = PolicyOf(options_.settings)},
          .on_round = [this](const auto& reply) { NoteRound(reply); },
          .tell =
              [this](const cluster::Tell& tell) {
                peer::v1::GivenTarget given;
                given.set_target(tell.held.target);
                given.set_generation(tell.held.generation);
                given.set_incarnation(tell.owner_incarnation);
                forwarder_->Tell(tell.to.address, given);
              },
          .ask_to_keep = [this](const auto& ask, auto then) { AskToKeep(ask, std::move(then)); },
          // It begins and ends beside, since a poll of a database that hangs takes a while.
          .measure =
              [this](const cluster::Measure& measure) {
                targets_->SetMeasured(measure.target, measure.wanted);
                changed_.Notify();
              }},
      store_, *states_, clock_);
  connections_.emplace(peers::PeerConnections::Options{
      .connect = [this](const std::string& address) { return Connect(address); },
      .addresses = [this] { return member_->Addresses(); }});
  if (options_.settings.on_store_loss == config::OnStoreLoss::kApproximate) {
    approximate_.emplace(ApproximateDecisions::Options{.engine = parts.engine,
                                                       .targets = parts.targets,
                                                       .clock = clock_,
                                                       .incarnation = incarnation_});
  }
  forwarder_.emplace(peers::Forwarder::Options{
      .owners = *member_,
      .engine = parts.engine,
      .clock = clock_,
      .connections = *connections_,
      .approximation = approximate_.has_value() ? &*approximate_ : nullptr});
  peers_.emplace(*forwarder_, [this](const peer::v1::GivenTarget& given) {
    member_->OnTold(given.incarnation(), {given.target(), given.generation()});
  });
  fleet_client_.emplace(
      peers::FleetClient::Options{.control = *this, .connections = *connections_});
  keep_client_.emplace(*connections_);
  questions_.emplace(peers::QuestionService::Answers{
      .follow = [&overrides =
                     parts.overrides](uint64_t revision) { return overrides.Follow(revision); },
      .agree =
          [this](const peer::v1::KeepRequest& request) {
            return member_->Agree(QuestionIn(request));
          },
      .try_to_measure = [this](const std::string& target) { return targets_->Try(target); }});
  follower_.emplace(parts.overrides);
}

void Cluster::NoteCertificate() const {
  const absl::Status shown = CheckPeerCertificate(NeedsOf(options_));
  if (shown.ok()) return;
  LogError("the other servers refuse this one's certificate",
           {{"why", std::string(shown.message())}});
}

std::shared_ptr<grpc::Channel> Cluster::Connect(const std::string& address) const {
  grpc::ChannelArguments arguments;
  // The answers to as many Checks as a message may have are larger than they are.
  arguments.SetMaxReceiveMessageSize(-1);
  // A server that comes back is reached at once; gRPC by itself waits for up to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
  // An attempt, too: what is sent to an address that nobody has any more is lost without a word.
  // And the server may have come back with another one.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2 * kReconnectMs);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 2 * kReconnectMs);
  return grpc::CreateCustomChannel(address, credentials_, arguments);
}

absl::Status Cluster::AcceptTargets(const config::Config& config) {
  return protected_targets_.Update(config.targets);
}

void Cluster::AskToKeep(const cluster::AskToKeep& ask, peers::KeepClient::Then then) {
  peer::v1::KeepRequest request;
  request.set_to(ask.to.name);
  request.set_member(options_.member);
  request.set_incarnation(incarnation_);
  for (const cluster::Held& held : ask.held) {
    peer::v1::KeptTarget& target = *request.add_targets();
    target.set_target(held.target);
    target.set_generation(held.generation);
  }
  keep_client_->Ask({.address = ask.to.address,
                     .request = std::move(request),
                     .patience = ask.patience,
                     .then = std::move(then)});
}

void Cluster::SetTargets(const config::Config& config) {
  if (approximate_.has_value()) approximate_->SetConfig(config);
  std::map<std::string, uint64_t> targets;
  for (const config::TargetSettings& target : config.targets) {
    targets.emplace(target.name, target.fingerprint);
  }
  member_->SetTargets(targets);
}

void Cluster::Start(std::function<void()> joined) {
  member_->Listen(this);
  member_->Start();
  settler_ = std::thread([this, joined = std::move(joined)] {
    bool has_joined = false;
    // acquire: Stop notifies after it.
    while (!stopping_.load(std::memory_order_acquire)) {
      const uint64_t seen = changed_.count();
      targets_->Settle();
      if (!has_joined && member_->HasJoined()) {
        has_joined = true;
        joined();
      }
      changed_.Wait(seen, has_joined ? 60 * 10 * kLookNs : kLookNs);
    }
  });
}

void Cluster::NoteRound(const absl::StatusOr<cluster::RoundReply>& reply) {
  log_.Note(reply.status(), member_->View());
  if (approximate_.has_value()) approximate_->NoteRound(reply.ok());
  if (reply.ok()) follower_->Notify(reply->overrides_revision);
}

// Who waits in line for a target that has gone is told so when it is next examined.
void Cluster::OwnersChanged() { lines_->Changed(); }

void Cluster::Leave(absl::Duration longest) {
  if (const absl::Status left = member_->Leave(longest); !left.ok()) {
    return LogWarning("not all targets were handed over",
                      {{"why", std::string(left.message())},
                       {"members", absl::StrCat(member_->Addresses().size() + 1)}});
  }
  // Who was given nothing hears of it in a round of its own, and hands calls to this server until
  // then.
  membership::EventCount never_notified;
  never_notified.Wait(never_notified.count(),
                      absl::ToInt64Nanoseconds(options_.settings.lease / 4));
}

void Cluster::Stop() {
  if (stopping_.exchange(true)) return;
  changed_.Notify();
  if (settler_.joinable()) settler_.join();
  if (member_ == nullptr) return;
  if (approximate_.has_value()) approximate_->NoteStop();
  member_->Leave(static_cast<cluster::OwnersListener*>(this));
  store_.Cancel();
  member_->Stop();
  keep_client_->Close();
  follower_.reset();  // it follows with what goes before this does
}

absl::Status Cluster::Check(const engine::CheckRequest& request, Now now,
                            engine::CheckAnswer& answer) {
  const cluster::DecisionScope scope(member_->decisions());
  if (!forwarder_->DecidesHere(request.target)) {
    return absl::AbortedError("another server decides for this target from now on");
  }
  return engine_->Check(request, now, answer);
}

}  // namespace headgate::app
