#include "server/app/server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random_seed.h"
#include "server/app/exposed.h"
#include "server/app/port_file.h"
#include "server/app/server_log.h"
#include "server/remember/sqlite/database.h"
#include "server/serve/transport/process_memory.h"

namespace headgate::app {
namespace {

// What is said of gRPC's connections and messages is so over HTTP, too.
http::HttpLimits HttpLimitsOf(const config::ServerSettings& settings) {
  return {.max_connections = static_cast<size_t>(settings.max_connections),
          .max_body_bytes = static_cast<size_t>(settings.max_message_bytes),
          .max_age = settings.max_connection_age};
}

void LogCertificates(const tls::TlsSnapshot& state) {
  if (!state.status.ok()) {
    LogError("certificates refused", {{"error", std::string(state.status.message())}});
  } else {
    const std::string end =
        absl::FormatTime(absl::RFC3339_sec, state.expires_at, absl::UTCTimeZone());
    LogInfo("certificates loaded", {{"expires_at", end}});
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Clock& clock) {
  absl::StatusOr<Base> base = MakeBase(options, clock);
  if (!base.ok()) return base.status();
  std::unique_ptr<Server> server(new Server(options, clock, *std::move(base)));
  if (absl::Status running = server->Run(); !running.ok()) return running;
  return server;
}

absl::StatusOr<Server::Base> Server::MakeBase(const ServerOptions& options, Clock& clock) {
  Base base;
  base.started_at = clock.Read().wall();
  absl::StatusOr<std::unique_ptr<Web>> web = Web::Start(options.web, clock);
  if (!web.ok()) return web.status();
  base.web = *std::move(web);
  base.config = std::make_unique<config::ConfigStore>(options.config_path, clock);
  const absl::StatusOr<const config::Config*> config = base.config->Load();
  if (!config.ok()) return config.status();
  base.grpc_address = options.grpc_address.value_or((*config)->server.grpc_address);
  if (options.if_exposed == IfExposed::kRefuse) {
    absl::Status refused = RefuseExposed(**config, options.web.address, base.grpc_address);
    if (!refused.ok()) return refused;
  }
  const absl::StatusOr<uint64_t> seed = RandomSeed();
  const absl::StatusOr<uint64_t> id_seed = RandomSeed();
  if (!seed.ok() || !id_seed.ok()) return seed.ok() ? id_seed.status() : seed.status();
  base.id_seed = *id_seed;
  engine::EngineOptions engine = (*config)->engine;
  engine.seed = *seed;
  absl::StatusOr<std::unique_ptr<Cluster>> cluster = MakeCluster(options, **config, clock);
  if (!cluster.ok()) return cluster.status();
  base.cluster = *std::move(cluster);
  const std::string folder = options.state_dir.value_or((*config)->server.state_dir);
  if (base.cluster != nullptr) {
    engine.permit_seed = *seed;
    engine.seed = base.cluster->seed();
  }
  absl::StatusOr<std::unique_ptr<StateFolder>> state =
      base.cluster == nullptr
          ? StateFolder::Open(folder, engine, clock)
          : StateFolder::Shared(folder, engine, base.cluster->OpenOverrides(), clock);
  if (!state.ok()) return base.config->InFile(state.status());
  base.state = *std::move(state);
  base.throttle_log = (*config)->throttle_log;
  const config::LineSettings& line = (*config)->server.line;
  base.line = {.max_waiting = static_cast<size_t>(line.max_waiting),
               .max_waiting_share = line.max_waiting_share,
               .priority_floor = line.priority_floor};
  return base;
}

absl::StatusOr<std::unique_ptr<Cluster>> Server::MakeCluster(const ServerOptions& options,
                                                             const config::Config& config,
                                                             Clock& clock) {
  const bool is_named = !options.member.empty() || !options.member_address.empty();
  if (!config.cluster.has_value()) {
    if (!is_named) return nullptr;
    return absl::InvalidArgumentError(
        "--member and --member-address go with cluster in the configuration: without it this "
        "server is alone");
  }
  if (options.member.empty() || options.member_address.empty()) {
    return absl::InvalidArgumentError(
        "cluster in the configuration takes --member, this server's name among the others, and "
        "--member-address, the host:port where they reach it");
  }
  return Cluster::Make({.settings = *config.cluster,
                        .tls = *config.tls,
                        .member = options.member,
                        .address = options.member_address},
                       clock);
}

Server::Server(const ServerOptions& options, Clock& clock, Base base)
    : options_(options),
      clock_(clock),
      started_at_(base.started_at),
      config_(std::move(base.config)),
      listens_at_(std::move(base.grpc_address)),
      cluster_(std::move(base.cluster)),
      state_(std::move(base.state)),
      line_(base.line,
            [&engine = state_->engine(), cluster = cluster_.get()](
                const engine::CheckRequest& request, Now now, engine::CheckAnswer& answer) {
              return cluster == nullptr ? engine.Check(request, now, answer)
                                        : cluster->Check(request, now, answer);
            }),
      access_(state_->seed(), clock),
      targets_(state_->engine(), clock, state_->seed()),
      agents_(clock, [this](const std::string& target, const control::Yielding& yielding,
                            Now now) { targets_.OnYielding(target, yielding, now); }),
      unmatched_names_(clock),
      log_({.settings = std::move(base.throttle_log),
            .state_dir = state_->path(),
            .seed = state_->seed(),
            .server = options.member,
            .on_unmatched = [this](std::string_view identity,
                                   int64_t checks) { unmatched_names_.Note(identity, checks); }},
           clock),
      call_log_(clock),
      calls_(clock, base.id_seed, call_log_),
      override_service_(state_->overrides(), access_.control()),
      cost_service_({.engine = state_->engine(),
                     .clock = clock,
                     .registry = state_->overrides(),
                     .access = access_.control()}),
      log_service_({.store = log_.store(),
                    .recorder = log_.recorder(),
                    .writer = &log_.writer(),
                    .clock = clock,
                    .in_force = [this] { return config_->current(); },
                    .retention = log_.retention(),
                    .seed = state_->seed(),
                    .access = access_.control()}),
      cluster_service_({.control = cluster_.get(),
                        .registry = state_->overrides(),
                        .access = access_.control()}),
      agent_service_({.registry = agents_.registry(),
                      .engine = state_->engine(),
                      .clock = clock,
                      .access = access_.control(),
                      .calls = calls_,
                      .in_force = [this] { return config_->current(); }}),
      web_(std::move(base.web)) {
  state_->engine().AttachLine(&line_);
  log_.recorder().SetWaitSource([this](Now now, auto take) { line_.CollectWaits(now, take); });
  targets_.SetAwaited([this](std::string_view target) { return line_.AnybodyWaitsFor(target); });
  if (cluster_ != nullptr) {
    cluster_->Attach({.engine = state_->engine(),
                      .targets = targets_,
                      .lines = line_,
                      .access = access_.control(),
                      .overrides = *state_->overrides()});
    override_service_.Tell(cluster_->fleet_client());
    cost_service_.Tell(cluster_->fleet_client());
    agent_service_.Use(cluster_->forwarder());
  }
  override_service_.Observe(calls_);
  cost_service_.Observe(calls_);
  log_service_.Observe(calls_);
  cluster_service_.Observe(calls_);
}

absl::Status Server::Run() {
  const auto apply = [this](const config::Config& config) { return Apply(config); };
  if (absl::Status applied = config_->Start(apply); !applied.ok()) return applied;
  for (const std::string& warning : config_->status().warnings) {
    LogWarning("the configuration may not be meant so", {{"what", warning}});
  }
  state_->Keep();
  if (absl::Status opened = OpenTls(); !opened.ok()) return opened;
  if (absl::Status listening = Listen(); !listening.ok()) return listening;
  port_ = rpc_->port();
  if (!options_.config_path.empty()) {
    watcher_ = std::make_unique<FileWatcher>(
        SettledFiles({options_.config_path}),
        FileWatcher::Callbacks{.on_change = [this](const auto& read) { Update(read.front()); },
                               .on_quiet = [this] { TryAgain(); }});
  }
  if (cluster_ == nullptr) {
    rpc_->SetServing(true);
  } else {  // who has not heard of the others can neither decide nor hand on
    cluster_->Start([this] { rpc_->SetServing(true); });
  }
  web_->Serve({.engine = state_->engine(),
               .recorder = log_.recorder(),
               .calls = calls_,
               .call_log = call_log_,
               .status = *this,
               .access = access_.control(),
               .rpc = *rpc_,
               .lines = line_,
               .cluster = cluster_.get(),
               .tls = tls_.get(),
               .limits = HttpLimitsOf(config_->current()->server)});
  LogInfo("serving", {{"version", kVersion},
                      {"port", absl::StrCat(port())},
                      {"http_port", absl::StrCat(web_->port())}});
  if (web_->probe_port() != 0) {
    LogInfo("serving metrics and probes", {{"port", absl::StrCat(web_->probe_port())}});
  }
  if (rpc_->health_port() != 0) {
    LogInfo("serving probes", {{"port", absl::StrCat(rpc_->health_port())}});
  }
  if (options_.port_file.empty()) return absl::OkStatus();
  return WritePort(options_.port_file, port());
}

absl::Status Server::Apply(const config::Config& config) {
  if (cluster_ != nullptr) {
    if (absl::Status accepted = cluster_->AcceptTargets(config); !accepted.ok()) return accepted;
  }
  if (absl::Status prepared = access_.Prepare(config); !prepared.ok()) return prepared;
  if (absl::Status installed = Install(config.policy); !installed.ok()) {
    access_.Revert();
    return installed;
  }
  web_->BeforeChange();
  access_.Apply(config);
  targets_.Apply(config);
  unmatched_names_.Apply(config.identity_names);
  if (cluster_ != nullptr) cluster_->SetTargets(config);
  return absl::OkStatus();
}

absl::Status Server::Install(const engine::PolicySpec& policy) {
  if (rpc_ == nullptr) return state_->Install(policy);
  // Its tables are no callers' doing. While they are made, they may be as large as they may ever
  // be.
  const auto most = static_cast<int64_t>(config_->current()->engine.bucket_bytes);
  const int64_t before = transport::AllocatedBytes();
  rpc_->AllowMemory(most);
  absl::Status installed = state_->Install(policy);
  rpc_->AllowMemory(transport::AllocatedBytes() - before - most);
  return installed;
}

absl::Status Server::OpenTls() {
  const std::optional<config::TlsSettings>& settings = config_->current()->tls;
  if (!settings.has_value()) {
    if (options_.health_address.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--health-address goes with tls in the configuration: without it the gRPC port answers "
        "probes as well");
  }
  absl::StatusOr<std::unique_ptr<tls::ServerTls>> loaded =
      tls::ServerTls::Load(*settings, clock_, [this](const tls::TlsSnapshot& state) {
        LogCertificates(state);
        if (cluster_ != nullptr && state.status.ok()) cluster_->NoteCertificate();
      });
  if (!loaded.ok()) return loaded.status();
  tls_ = *std::move(loaded);
  LogCertificates(tls_->state());
  return absl::OkStatus();
}

access::AccessSnapshot Server::Access() const {
  access::AccessSnapshot access = access_.Snapshot();
  if (!access.is_on && tls_ == nullptr) {
    access.exposed_at = ExposedAt(options_.web.address, listens_at_);
  }
  return access;
}

tls::TlsSnapshot Server::Tls() const {
  return tls_ == nullptr ? tls::TlsSnapshot() : tls_->state();
}

rpc::RpcServerOptions Server::RpcOptions(const config::ServerSettings& settings) {
  rpc::RpcServerOptions options;
  options.address = listens_at_;
  if (tls_ != nullptr) options.credentials = tls_->credentials();
  options.health_address = options_.health_address;
  options.connections.max_open = settings.max_connections;
  options.connections.age = settings.max_connection_age;
  options.reflection = options_.reflection.value_or(settings.reflection);
  options.max_message_bytes = settings.max_message_bytes;
  options.threads = settings.threads;
  options.version = kVersion;
  options.memory_owners = {{"engine", [this] { return state_->engine().held_bytes(); }},
                           {"log_reads", [this] { return log_service_.held_bytes(); }},
                           {"sqlite", sqlite::MemoryBytes}};
  options.guarded_services = {&override_service_, &cost_service_, &log_service_, &cluster_service_};
  options.more_async_services = {&agent_service_};
  if (cluster_ != nullptr) {
    options.peers = &cluster_->peers();
    options.questions = &cluster_->questions();
  }
  return options;
}

absl::Status Server::Listen() {
  rpc::RemoteDecider* const remote_decider = cluster_ == nullptr ? nullptr : &cluster_->forwarder();
  rpc::Fleet* const fleet = cluster_ == nullptr ? nullptr : &cluster_->fleet_client();
  approximate::ApproximateLimits* const approximate =
      cluster_ == nullptr ? nullptr : cluster_->approximate();
  absl::StatusOr<std::unique_ptr<rpc::RpcServer>> server = rpc::RpcServer::Start(
      RpcOptions(config_->current()->server), {.engine = state_->engine(),
                                               .clock = clock_,
                                               .status = *this,
                                               .activity = targets_,
                                               .recorder = log_.recorder(),
                                               .access = access_.control(),
                                               .lines = line_,
                                               .calls = calls_,
                                               .remote_decider = remote_decider,
                                               .fleet = fleet,
                                               .approximate = approximate});
  if (!server.ok()) return server.status();
  rpc_ = *std::move(server);
  if (const std::string exposed_at = Access().exposed_at; !exposed_at.empty()) {
    LogWarning("anybody on the network may do everything",
               {{"address", exposed_at}, {"why", access::ExposedText(exposed_at)}});
  }
  const int64_t max_open = rpc_->connections().max_open;
  if (max_open < config_->current()->server.max_connections) {
    LogWarning("too few open files for server.max_connections",
               {{"connections", absl::StrCat(max_open)}});
  }
  return absl::OkStatus();
}

void Server::Update(const absl::StatusOr<std::string>& text) {
  access_.StopWaiting();
  Load([&] { config_->Update(text); });
}

void Server::TryAgain() {
  if (access_.SeesTokens()) Load([&] { config_->Retry(); });
}

void Server::Load(absl::FunctionRef<void()> load) {
  const config::LoadStatus before = config_->status();
  load();
  const config::LoadStatus after = config_->status();
  if (after.version != before.version) {
    LogInfo("configuration loaded", {{"version", absl::StrCat(after.version)}});
    for (const std::string& warning : after.warnings) {
      LogWarning("the configuration may not be meant so", {{"what", warning}});
    }
    for (const std::string& field : after.pending_restart) {
      LogWarning("a change takes a restart", {{"field", field}});
    }
  } else if (after.refused_at != before.refused_at) {
    for (const std::string& error : after.errors) {
      LogError("configuration refused", {{"error", error}});
    }
    if (after.errors.empty()) {
      LogInfo("configuration restored", {{"version", absl::StrCat(after.version)}});
    }
  }
}

void Server::AnnounceStop() {
  if (rpc_ == nullptr) return;
  rpc_->SetServing(false);
  web_->Drain();
}

void Server::Stop() {
  if (rpc_ == nullptr) return;
  AnnounceStop();
  watcher_ = nullptr;  // no configuration is loaded any more
  if (cluster_ != nullptr) cluster_->Leave(options_.grace);
  web_->EndApi();
  agents_.Stop();
  rpc_->Shutdown(options_.grace);
  if (cluster_ != nullptr) cluster_->Stop();
  access_.Stop();
  targets_.Stop();
  state_->Stop();  // first: the log may have to wait for its store
  log_.Stop();
  web_ = nullptr;  // scrapes ask the others
  rpc_ = nullptr;
}

}  // namespace headgate::app
