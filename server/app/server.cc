#include "server/app/server.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random_seed.h"
#include "server/app/log.h"

namespace headgate::app {
namespace {

// A Check takes no time, and meanwhile nobody can connect.
constexpr absl::Duration kGraceToListenAnew = absl::Seconds(1);

// A reader never sees a half-written port.
absl::Status WritePort(const std::string& path, int port) {
  const std::string draft = absl::StrCat(path, ".new");
  std::ofstream file(draft);
  file << port << '\n';
  file.close();
  if (!file || std::rename(draft.c_str(), path.c_str()) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot write the port to ", path, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Clock& clock) {
  std::unique_ptr<Server> server(new Server(options, clock));
  if (absl::Status running = server->Run(); !running.ok()) return running;
  return server;
}

absl::Status Server::Run() {
  config_ = std::make_unique<config::ConfigStore>(
      options_.config_path, clock_, [this](const config::Config& config) { return Apply(config); });
  if (absl::Status loaded = config_->Start(); !loaded.ok()) return loaded;
  override_service_ = std::make_unique<rpc::OverrideService>(overrides_.get());
  log_service_ = std::make_unique<rpc::ThrottleLogService>(
      rpc::ThrottleLogSources{.store = log_->store(),
                              .recorder = &log_->recorder(),
                              .clock = clock_,
                              .keeping = log_->keeping(),
                              .seed = seed_});
  if (state_ != nullptr) state_->Keep(*engine_);
  rpc_options_ = RpcOptions(config_->current()->server);
  if (absl::Status listening = Listen(); !listening.ok()) return listening;
  port_ = rpc_->port();
  if (!options_.config_path.empty()) {
    watcher_ = std::make_unique<config::FileWatcher>(
        options_.config_path, [this](const absl::StatusOr<std::string>& text) { Update(text); });
  }
  rpc_->SetServing(true);
  LogInfo("serving", {{"version", kVersion}, {"port", absl::StrCat(port())}});
  if (options_.port_file.empty()) return absl::OkStatus();
  return WritePort(options_.port_file, port());
}

absl::Status Server::Apply(const config::Config& config) {
  if (engine_ == nullptr) {
    if (absl::Status made = Make(config); !made.ok()) return made;
  }
  absl::Status installed = overrides_ != nullptr ? overrides_->Install(config.policy)
                                                 : engine_->Install(config.policy, clock_.Read());
  if (!installed.ok()) return installed;
  targets_->Apply(config);
  return absl::OkStatus();
}

absl::Status Server::Make(const config::Config& config) {
  const absl::StatusOr<uint64_t> seed = RandomSeed();
  if (!seed.ok()) return seed.status();
  seed_ = *seed;
  state_dir_ = options_.state_dir.value_or(config.server.state_dir);
  engine::EngineOptions options = config.engine;
  options.seed = seed_;
  if (state_dir_.empty()) {
    engine_ = std::make_unique<engine::Engine>(options);
  } else {
    state_ = std::make_unique<StateFile>(state_dir_, clock_);
    engine_ = state_->MakeEngine(options);
    seed_ = options.seed;
  }
  targets_ = std::make_unique<app::Targets>(*engine_, clock_, seed_);
  if (absl::Status opened = OpenOverrides(); !opened.ok()) return opened;
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

rpc::OverridesSnapshot Server::Overrides() const {
  if (overrides_ == nullptr) return {};
  const overrides::Registry::State state = overrides_->GetState();
  return {.is_kept = true, .in_force = state.in_force, .status = state.status};
}

rpc::SnapshotView Server::Snapshot() const {
  return state_ == nullptr ? rpc::SnapshotView{} : state_->View();
}

rpc::RpcServerOptions Server::RpcOptions(const config::ServerSettings& settings) const {
  rpc::RpcServerOptions options;
  options.address = options_.grpc_address.value_or(settings.grpc_address);
  options.reflection = options_.reflection.value_or(settings.reflection);
  options.max_message_bytes = settings.max_message_bytes;
  options.threads = settings.threads;
  options.version = kVersion;
  options.recorder = &log_->recorder();
  options.more_services = {override_service_.get(), log_service_.get()};
  return options;
}

absl::Status Server::Listen() {
  absl::StatusOr<std::unique_ptr<rpc::RpcServer>> server =
      rpc::RpcServer::Start(rpc_options_, *engine_, clock_, *this, targets_.get());
  if (!server.ok()) return server.status();
  rpc_ = *std::move(server);
  return absl::OkStatus();
}

absl::Status Server::ListenAnew() {
  rpc_->SetServing(false);
  rpc_->Shutdown(std::min(options_.grace, kGraceToListenAnew));
  rpc_ = nullptr;
  // The file may have changed meanwhile; what only a restart changes stays, and so does the port.
  std::string& address = rpc_options_.address;
  address = absl::StrCat(address.substr(0, address.rfind(':')), ":", port_);
  if (absl::Status listening = Listen(); !listening.ok()) return listening;
  rpc_->SetServing(true);
  LogInfo("listening anew", {{"port", absl::StrCat(port_)}});
  return absl::OkStatus();
}

void Server::Update(const absl::StatusOr<std::string>& text) {
  const config::LoadStatus before = config_->status();
  config_->Update(text);
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
  if (rpc_ != nullptr) rpc_->SetServing(false);
}

void Server::Stop() {
  if (rpc_ == nullptr) return;
  AnnounceStop();
  watcher_ = nullptr;  // no target is started any more
  rpc_->Shutdown(options_.grace);
  targets_->Stop();
  if (state_ != nullptr) state_->Stop();  // first: the log may have to wait for its store
  log_->Stop();
  rpc_ = nullptr;
}

}  // namespace headgate::app
