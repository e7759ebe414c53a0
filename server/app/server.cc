#include "server/app/server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random_seed.h"
#include "server/app/log.h"
#include "server/app/port_file.h"

namespace headgate::app {
namespace {

void LogCertificates(const tls::TlsState& state) {
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
  std::unique_ptr<Server> server(new Server(options, clock));
  if (absl::Status running = server->Run(); !running.ok()) return running;
  return server;
}

absl::Status Server::Run() {
  absl::StatusOr<std::unique_ptr<Web>> web = Web::Start(options_.web, clock_);
  if (!web.ok()) return web.status();
  web_ = *std::move(web);
  config_ = std::make_unique<config::ConfigStore>(
      options_.config_path, clock_, [this](const config::Config& config) { return Apply(config); });
  if (absl::Status loaded = config_->Start(); !loaded.ok()) return loaded;
  // Everybody is told request ids: they say nothing of the seed, which is a secret.
  const absl::StatusOr<uint64_t> id_seed = RandomSeed();
  if (!id_seed.ok()) return id_seed.status();
  calls_ = std::make_unique<transport::Calls>(clock_, *id_seed, &call_log_);
  override_service_ = std::make_unique<rpc::OverrideService>(overrides_.get(), &access_->control());
  log_service_ = std::make_unique<rpc::ThrottleLogService>(
      rpc::ThrottleLogSources{.store = log_->store(),
                              .recorder = &log_->recorder(),
                              .clock = clock_,
                              .keeping = log_->keeping(),
                              .seed = seed_,
                              .access = &access_->control()});
  override_service_->Observe(*calls_);
  log_service_->Observe(*calls_);
  if (state_ != nullptr) state_->Keep(*engine_);
  if (absl::Status opened = OpenTls(); !opened.ok()) return opened;
  if (absl::Status listening = Listen(); !listening.ok()) return listening;
  port_ = rpc_->port();
  if (!options_.config_path.empty()) {
    watcher_ = std::make_unique<config::FileWatcher>(
        options_.config_path,
        config::FileWatcher::Callbacks{
            .on_change = [this](const absl::StatusOr<std::string>& text) { Update(text); },
            .on_quiet = [this] { TryAgain(); }});
  }
  rpc_->SetServing(true);
  web_->Serve({.engine = *engine_,
               .recorder = log_->recorder(),
               .calls = *calls_,
               .call_log = call_log_,
               .status = *this,
               .access = access_->control(),
               .rpc = *rpc_});
  LogInfo("serving", {{"version", kVersion},
                      {"port", absl::StrCat(port())},
                      {"http_port", absl::StrCat(web_->port())}});
  if (rpc_->health_port() != 0) {
    LogInfo("serving probes", {{"port", absl::StrCat(rpc_->health_port())}});
  }
  if (options_.port_file.empty()) return absl::OkStatus();
  return WritePort(options_.port_file, port());
}

absl::Status Server::Apply(const config::Config& config) {
  if (engine_ == nullptr) {
    if (absl::Status made = Make(config); !made.ok()) return made;
  }
  if (absl::Status prepared = access_->Prepare(config); !prepared.ok()) return prepared;
  absl::Status installed = overrides_ != nullptr ? overrides_->Install(config.policy)
                                                 : engine_->Install(config.policy, clock_.Read());
  if (!installed.ok()) {
    access_->Revert();
    return installed;
  }
  web_->BeforeChange();
  access_->Apply(config);
  targets_->Apply(config);
  return absl::OkStatus();
}

absl::Status Server::Make(const config::Config& config) {
  const absl::StatusOr<uint64_t> seed = RandomSeed();
  if (!seed.ok()) return seed.status();
  seed_ = *seed;
  state_dir_ = options_.state_dir.value_or(config.server.state_dir);
  // The first: their lock keeps the folder to this process, and what another one keeps there is not
  // to be touched.
  if (absl::Status opened = OpenOverrides(); !opened.ok()) return opened;
  engine::EngineOptions options = config.engine;
  options.seed = seed_;
  if (state_dir_.empty()) {
    engine_ = std::make_unique<engine::Engine>(options);
  } else {
    state_ = std::make_unique<StateFile>(state_dir_, clock_);
    auto engine = state_->MakeEngine(options);
    if (!engine.ok()) return engine.status();
    engine_ = *std::move(engine);
    seed_ = options.seed;
  }
  access_ = std::make_unique<app::Access>(seed_, clock_);
  targets_ = std::make_unique<app::Targets>(*engine_, clock_, seed_);
  log_ = std::make_unique<app::ThrottleLog>(
      ThrottleLogOptions{.settings = config.throttle_log, .state_dir = state_dir_, .seed = seed_},
      *engine_, clock_);
  return absl::OkStatus();
}

// An operator's word must not be forgotten: where it cannot be read the server does not start.
absl::Status Server::OpenOverrides() {
  if (state_dir_.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<overrides::Registry>> opened =
      overrides::Registry::Open({.path = absl::StrCat(state_dir_, "/overrides.db"),
                                 .put =
                                     [this](engine::PolicySpec policy) {
                                       return engine_->Install(std::move(policy), clock_.Read());
                                     }},
                                clock_);
  if (!opened.ok()) return opened.status();
  overrides_ = *std::move(opened);
  const overrides::Registry::State state = overrides_->GetState();
  if (!state.restored.empty()) LogError("the overrides were damaged", {{"why", state.restored}});
  if (!state.status.ok()) {
    LogError("overrides cannot be changed", {{"why", std::string(state.status.message())}});
  }
  return absl::OkStatus();
}

overrides::OverridesSnapshot Server::Overrides() const {
  if (overrides_ == nullptr) return {};
  const overrides::Registry::State state = overrides_->GetState();
  return {.is_kept = true, .in_force = state.in_force, .status = state.status};
}

snapshot::SnapshotView Server::Snapshot() const {
  return state_ == nullptr ? snapshot::SnapshotView{} : state_->View();
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
      tls::ServerTls::Load(*settings, clock_, LogCertificates);
  if (!loaded.ok()) return loaded.status();
  tls_ = *std::move(loaded);
  LogCertificates(tls_->state());
  return absl::OkStatus();
}

tls::TlsSnapshot Server::Tls() const {
  if (tls_ == nullptr) return {};
  const tls::TlsState state = tls_->state();
  return {.is_on = true,
          .expires_at = state.expires_at,
          .loaded_at = state.loaded_at,
          .loads = state.loads,
          .status = state.status};
}

rpc::RpcServerOptions Server::RpcOptions(const config::ServerSettings& settings) const {
  rpc::RpcServerOptions options;
  options.address = options_.grpc_address.value_or(settings.grpc_address);
  if (tls_ != nullptr) options.credentials = tls_->credentials();
  options.health_address = options_.health_address;
  options.connections.most = settings.max_connections;
  options.connections.age = settings.max_connection_age;
  options.reflection = options_.reflection.value_or(settings.reflection);
  options.max_message_bytes = settings.max_message_bytes;
  options.threads = settings.threads;
  options.version = kVersion;
  options.recorder = &log_->recorder();
  options.access = &access_->control();
  options.calls = calls_.get();
  options.more_services = {override_service_.get(), log_service_.get()};
  return options;
}

absl::Status Server::Listen() {
  absl::StatusOr<std::unique_ptr<rpc::RpcServer>> server = rpc::RpcServer::Start(
      RpcOptions(config_->current()->server), *engine_, clock_, *this, targets_.get());
  if (!server.ok()) return server.status();
  rpc_ = *std::move(server);
  const int64_t most = rpc_->connections().most;
  if (most < config_->current()->server.max_connections) {
    LogWarning("too few open files for server.max_connections",
               {{"connections", absl::StrCat(most)}});
  }
  return absl::OkStatus();
}

void Server::Update(const absl::StatusOr<std::string>& text) {
  access_->StopWaiting();
  Load([&] { config_->Update(text); });
}

void Server::TryAgain() {
  if (access_->SeesTokens()) Load([&] { config_->Retry(); });
}

void Server::Load(absl::FunctionRef<void()> load) {
  const config::LoadStatus before = config_->status();
  load();
  const config::LoadStatus after = config_->status();
  if (after.version != before.version) {
    LogInfo("configuration loaded", {{"version", absl::StrCat(after.version)}});
    for (const std::string& field : after.pending_restart) {
      LogWarning("a change takes a restart", {{"field", field}});
    }
  } else if (after.refused_at != before.refused_at) {
    for (const std::string& error : after.errors) {
      LogError("configuration refused", {{"error", error}});
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
  watcher_ = nullptr;  // no target is started any more
  rpc_->Shutdown(options_.grace);
  access_->Stop();
  targets_->Stop();
  if (state_ != nullptr) state_->Stop();  // first: the log may have to wait for its store
  log_->Stop();
  web_ = nullptr;  // scrapes ask the others
  rpc_ = nullptr;
}

}  // namespace headgate::app
