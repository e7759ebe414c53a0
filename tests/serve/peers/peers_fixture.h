// Several servers in this process that share their targets, over real connections with mutual TLS,
// with owners that a test sets and one clock that it moves.
//
// Targets are t0, t1 and so on: as many as there are servers, and each is owned by the server of
// its number. Each has a budget `b` of its own.
//
//   Servers servers(2);
//   EXPECT_EQ(servers[0].Decide(CheckAt("t1", "job:etl", 5)).verdict(), v1::VERDICT_ALLOWED);

#pragma once

#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "server/serve/peers/fleet_client.h"
#include "server/serve/peers/forwarder.h"
#include "server/serve/peers/peer_connections.h"
#include "server/serve/peers/peer_service.h"
#include "server/serve/peers/question_service.h"
#include "tests/serve/peers/fixed_owners.h"
#include "tests/serve/rpc/waiting_fixture.h"
#include "tests/testing/certificates.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/set_control.h"

namespace headgate::peers {

inline v1::CheckRequest CheckAt(const std::string& target, const std::string& identity,
                                double cost) {
  v1::CheckRequest check = CheckOf(identity, cost);
  check.set_target(target);
  return check;
}

// A Check that waits in line.
inline v1::CheckRequest WaitingAt(const std::string& target, double cost) {
  v1::CheckRequest check = rpc::WaitingCheck("job:etl", cost);
  check.set_target(target);
  return check;
}

inline constexpr char kPeer[] = "spiffe://prod/headgate";
inline constexpr absl::Duration kPatience = absl::Seconds(30);  // within the 60 s of a call

// Approximates without knowing anything of health, and keeps what it is told. Thread-safe.
class PlainApproximation final : public Approximation {
 public:
  explicit PlainApproximation(uint64_t incarnation) : incarnation_(incarnation), limits_({}) {}

  approximate::ApproximateLimits& limits() override { return limits_; }
  uint64_t incarnation() const override { return incarnation_; }
  void Prepare(const std::string& /*target*/) override { ++prepared; }
  void OnAnswer(const std::string& /*target*/,
                const peer::v1::ForwardedAnswer& /*answer*/) override {
    ++answers;
  }
  void OnCharged(const std::string& /*target*/, size_t buckets) override { charged += buckets; }
  void OnLost(const std::string& /*target*/, size_t buckets, std::string_view /*why*/) override {
    lost += buckets;
  }

  std::atomic<int> prepared{0};
  std::atomic<int> answers{0};
  std::atomic<size_t> charged{0};
  std::atomic<size_t> lost{0};

 private:
  const uint64_t incarnation_;
  approximate::ApproximateLimits limits_;
};

// Who the members are, as every server sees it. Thread-safe.
class FixedMembers {
 public:
  void Join(const std::string& address) {
    const MutexLock lock(&mutex_);
    addresses_.insert(address);
  }
  void Leave(const std::string& address) {
    const MutexLock lock(&mutex_);
    addresses_.erase(address);
  }
  std::vector<std::string> AllBut(const std::string& address) const {
    const MutexLock lock(&mutex_);
    std::vector<std::string> others(addresses_.begin(), addresses_.end());
    std::erase(others, address);
    return others;
  }

 private:
  mutable Mutex mutex_;
  std::set<std::string> addresses_ ABSL_GUARDED_BY(mutex_);
};

// What they share.
struct Shared {
  grpc::SslCredentialsOptions Shown(const TestCertificate& own) const {
    return {.pem_root_certs = authority.certificate(),
            .pem_private_key = own.key,
            .pem_cert_chain = own.certificate};
  }
  TestCertificate PeerCertificate() {
    return authority.Sign({.dns = {"localhost"}, .ip = {"127.0.0.1"}, .uri = {kPeer}});
  }

  CertificateAuthority authority{"authority"};
  TestCertificate certificate = PeerCertificate();
  FakeClock clock;
  engine::PolicySpec policy;
  InProcessOptions options;
  FixedMembers members;
  bool approximates = false;  // all of them, where nobody owns a target and the store is away
  uint64_t next_incarnation = 1;
  // As the one at this address sees all. Those that were killed may be here still.
  std::function<cluster::ClusterView(const std::string& self)> view;
};

// What is there before the server.
struct Parts {
  explicit Parts(Shared& all) : shared(all) {}

  InProcessOptions OptionsOf() {
    InProcessOptions options = shared.options;
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = shared.authority.certificate();
    tls.pem_key_cert_pairs = {{shared.certificate.key, shared.certificate.certificate}};
    options.rpc.credentials = grpc::SslServerCredentials(tls);
    options.clock = &shared.clock;
    options.join = [this](InProcessServer& server) {
      connections.emplace(PeerConnections::Options{
          .connect = [this](const std::string& address) { return ConnectTo(address); },
          .addresses = [this] { return shared.members.AllBut(own_address); }});
      forwarder.emplace(
          Forwarder::Options{.owners = owners,
                             .engine = server.engine,
                             .clock = shared.clock,
                             .connections = *connections,
                             .approximation = shared.approximates ? &approximation : nullptr});
      service.emplace(*forwarder, [this](const peer::v1::GivenTarget& given) {
        const MutexLock lock(&mutex);
        told.push_back(given);
      });
      control.emplace([this] { return shared.view(own_address); });
      // Whoever does not answer here is gone, or never will: a machine that is slow is neither.
      fleet_client.emplace(FleetClient::Options{.control = *control,
                                                .connections = *connections,
                                                .patience = kPatience,
                                                .measuring = kPatience,
                                                .spreading = kPatience});
      questions.emplace(QuestionService::Answers{
          .follow =
              [this](uint64_t /*revision*/) {
                ++followed;
                return absl::OkStatus();
              },
          .agree =
              [](const peer::v1::KeepRequest& request) {
                return request.to() == "agrees"
                           ? absl::OkStatus()
                           : absl::FailedPreconditionError("it does not agree");
              },
          .try_to_measure = [this](const std::string& target) -> absl::StatusOr<cluster::Offer> {
            const MutexLock lock(&mutex);
            tried.push_back(target);
            return measured;
          }});
      server.access.SetPeers({absl::StrCat("URI:", kPeer)});
      return PeerParts{.remote_decider = &*forwarder,
                       .service = &*service,
                       .fleet = &*fleet_client,
                       .approximate = shared.approximates ? &approximation.limits() : nullptr,
                       .questions = &*questions,
                       .control = &*control};
    };
    return options;
  }

  std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) {
    auto channel = OwnChannel(address, grpc::SslCredentials(shared.Shown(shared.certificate)));
    const MutexLock lock(&mutex);
    channels.push_back(channel);
    return channel;
  }
  // To other servers. Each that is alive may be connecting.
  int64_t LiveChannels() {
    const MutexLock lock(&mutex);
    return std::ranges::count_if(channels, [](const auto& channel) { return !channel.expired(); });
  }

  Shared& shared;
  FixedOwners owners;
  PlainApproximation approximation{shared.next_incarnation++};
  std::optional<PeerConnections> connections;
  std::optional<Forwarder> forwarder;
  std::optional<PeerService> service;
  std::optional<SetControl> control;
  std::optional<FleetClient> fleet_client;
  std::optional<QuestionService> questions;
  std::atomic<int> followed{0};  // overrides, as others told
  Mutex mutex;
  std::vector<peer::v1::GivenTarget> told ABSL_GUARDED_BY(mutex);  // by others
  std::vector<std::string> tried ABSL_GUARDED_BY(mutex);           // targets, as others asked
  absl::StatusOr<cluster::Offer> measured ABSL_GUARDED_BY(mutex) = cluster::Offer{
      .measures = cluster::Measures::kAll};
  std::vector<std::weak_ptr<grpc::Channel>> channels ABSL_GUARDED_BY(mutex);  // ever made
  std::string own_address;
};

class OneOfSeveral : public Parts, public InProcessServer {
 public:
  explicit OneOfSeveral(Shared& all) : Parts(all), InProcessServer(all.policy, OptionsOf()) {
    own_address = address();
    caller = Connect(shared.authority.Sign({.uri = {"spiffe://prod/ns/jobs/sa/backfill"}}));
  }
  ~OneOfSeveral() { Stop(); }

  Peer Connect(const TestCertificate& own) const {
    return OwnChannel(address(), grpc::SslCredentials(shared.Shown(own)));
  }
  v1::Decision Decide(const v1::CheckRequest& check) const {
    return AnswerOf(caller, &v1::ThrottlerService::Stub::Check, check).decision();
  }
  grpc::Status Try(const v1::CheckRequest& check) const {
    return CallRpc(caller, &v1::ThrottlerService::Stub::Check, check);
  }

  Peer caller{nullptr};
};

class Servers {
 public:
  enum class OnStoreLoss { kStop, kApproximate };

  explicit Servers(int count, InProcessOptions options = {},
                   OnStoreLoss on_store_loss = OnStoreLoss::kStop) {
    shared_.options = std::move(options);
    shared_.approximates = on_store_loss == OnStoreLoss::kApproximate;
    shared_.policy = engine::OneBudget(engine::RateBudget("b", 10, 100));
    shared_.policy.targets.clear();
    for (int i = 0; i < count; ++i) {
      engine::TargetSpec target;
      target.name = absl::StrCat("t", i);
      shared_.policy.targets.push_back(target);
    }
    shared_.view = [this](const std::string& self) { return ViewOf(self); };
    addresses_.resize(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      servers_.push_back(std::make_unique<OneOfSeveral>(shared_));
      addresses_[static_cast<size_t>(i)] = servers_.back()->own_address;
      shared_.members.Join(servers_.back()->own_address);
    }
    for (int i = 0; i < count; ++i) Give(absl::StrCat("t", i), i);
  }

  OneOfSeveral& operator[](int number) { return *servers_[static_cast<size_t>(number)]; }
  Shared& shared() { return shared_; }

  // The target is this server's from now on; below zero: nobody's.
  void Give(const std::string& target, int number) {
    given_[target] = number;
    using Kind = cluster::Owner::Kind;
    // Whoever loses it hears of it first.
    for (const Kind kind : {Kind::kOther, Kind::kSelf}) {
      for (size_t i = 0; i < servers_.size(); ++i) {
        if (servers_[i] == nullptr) continue;
        const bool self = static_cast<int>(i) == number;
        if (self != (kind == Kind::kSelf)) continue;
        cluster::Owner owner{.kind = number < 0 ? Kind::kNobody : kind};
        if (owner.kind == Kind::kOther) {
          owner.address = servers_[static_cast<size_t>(number)]->own_address;
        }
        servers_[i]->owners.Set(target, owner);
      }
    }
  }
  // All of them, or it is there again: 0.
  void LoseStore(int servers) {
    for (const auto& server : servers_) server->owners.LoseStore(servers);
  }
  // Without a word to anybody, but that the others see it leave the membership.
  void Kill(int number) {
    LeaveMembership(number);
    servers_[static_cast<size_t>(number)] = nullptr;
  }
  // It runs on, and the others do not see it any more.
  void LeaveMembership(int number) {
    shared_.members.Leave(servers_[static_cast<size_t>(number)]->own_address);
  }
  // One that was killed, at another port. It knows who owns what.
  void Start(int number) {
    const auto place = static_cast<size_t>(number);
    servers_[place] = std::make_unique<OneOfSeveral>(shared_);
    addresses_[place] = servers_[place]->own_address;
    shared_.members.Join(addresses_[place]);
    const std::map<std::string, int> given = given_;
    for (const auto& [target, owner] : given) Give(target, owner);
  }

  // Moves the clock of all, and lets those who wait see it.
  void Advance(absl::Duration span) {
    shared_.clock.Advance(span);
    for (const auto& server : servers_) {
      if (server != nullptr) server->lines.Changed();
    }
  }
  // Moves the clock until this server has given up whatever it had sent to others.
  bool GivesUp(int number) {
    return WaitUntil([&] {
      Advance(ForwardStream::kLateTick);
      return servers_[static_cast<size_t>(number)]->forwarder->taken_bytes() == 0;
    });
  }

 private:
  static std::string NameOf(int number) {
    return number < 0 ? std::string() : absl::StrCat("s", number);
  }
  cluster::ClusterView ViewOf(const std::string& self) const {
    cluster::ClusterView view;
    for (size_t i = 0; i < addresses_.size(); ++i) {
      const std::string name = NameOf(static_cast<int>(i));
      const bool is_self = addresses_[i] == self;
      if (is_self) view.self = name;
      view.members.push_back({.row = {.name = name, .incarnation = 1, .address = addresses_[i]},
                              .is_self = is_self,
                              .is_here = true});
    }
    for (const auto& [target, owner] : given_) {
      view.targets.push_back(
          {.target = target, .owner = NameOf(owner), .generation = 1, .is_self = false});
    }
    return view;
  }

  Shared shared_;
  std::vector<std::unique_ptr<OneOfSeveral>> servers_;
  std::vector<std::string> addresses_;  // of those that were killed too
  std::map<std::string, int> given_;
};

}  // namespace headgate::peers
