// The whole server: what starts and stops in which order.
//
// Start: HTTP, configuration, overrides, the engine with what was saved of it, throttle log,
// policy, monitors, gRPC, and then it says SERVING. Stop: it says NOT_SERVING, stops watching the
// file, drains calls, then stops the monitors, saves the engine, writes the rest of the log, and
// ends HTTP. The configuration file is watched all the time; a bad one leaves everything as it is.
//
// Thread-safe, but Stop is called once, or left to the destructor.
//
//   SystemClock clock;
//   auto server = Server::Start({.config_path = "headgate.yaml"}, clock);
//   ... (*server)->port() ...
//   (*server)->Stop();

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/file_watcher.h"
#include "server/app/agents.h"
#include "server/app/call_log.h"
#include "server/app/cluster.h"
#include "server/app/configured_access.h"
#include "server/app/state_folder.h"
#include "server/app/targets.h"
#include "server/app/throttle_log.h"
#include "server/app/unmatched_names.h"
#include "server/app/web.h"
#include "server/decide/line/waiting_lines.h"
#include "server/govern/config/config.h"
#include "server/govern/config/reloader.h"
#include "server/govern/tls/server_tls.h"
#include "server/serve/rpc/agent_service.h"
#include "server/serve/rpc/cluster_service.h"
#include "server/serve/rpc/cost_service.h"
#include "server/serve/rpc/override_service.h"
#include "server/serve/rpc/rpc_server.h"
#include "server/serve/rpc/sources.h"
#include "server/serve/rpc/throttle_log_service.h"
#include "server/serve/transport/calls.h"

namespace headgate::app {

inline constexpr char kVersion[] = HEADGATE_VERSION;

// What to do where whoever reaches the network may do everything: a port is in plaintext and not on
// the loopback, and there is no access.
enum class IfExposed { kWarn, kRefuse };

struct ServerOptions {
  std::string config_path = {};  // empty: the defaults, without a target that is measured
  std::optional<std::string> grpc_address = {};  // instead of the configuration's
  std::optional<bool> reflection = {};           // likewise
  std::optional<std::string> state_dir = {};     // likewise
  std::string port_file = {};                    // empty: none
  std::string health_address = {};               // for probes in plaintext; empty: none
  WebOptions web = {};                           // the HTTP port; none by default
  absl::Duration grace = absl::Seconds(10);      // for calls that run when it stops
  // Between NOT_SERVING and the end of serving: for load balancers, which take a while to look.
  absl::Duration pre_stop = absl::ZeroDuration();
  // With `cluster` in the configuration: what this server is called, and "host:port" for the
  // others.
  std::string member = {};
  std::string member_address = {};
  IfExposed if_exposed = IfExposed::kWarn;
};

class Server final : private rpc::StatusSource {
 public:
  // The clock outlives the server. InvalidArgument lists all that is wrong with the configuration;
  // Unavailable: cannot listen.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options, Clock& clock);
  ~Server() override { Stop(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }
  // 0: there is none.
  int health_port() const { return rpc_->health_port(); }
  int http_port() const { return web_->port(); }
  int probe_port() const { return web_->probe_port(); }
  // From now on health says NOT_SERVING; calls are still answered.
  void AnnounceStop();
  void Stop();

 private:
  // What may fail, and has to be there before the rest.
  struct Base {
    absl::Time started_at;
    uint64_t id_seed = 0;  // of request ids, which everybody is told: not the engine's, a secret
    std::unique_ptr<Web> web;
    std::unique_ptr<config::ConfigStore> config;
    std::unique_ptr<StateFolder> state;
    config::ThrottleLogSettings throttle_log;
    line::LineOptions line;
    std::string grpc_address;
    std::unique_ptr<Cluster> cluster;  // null: this server is alone
  };

  // InvalidArgument as well: it would be exposed, and is told to refuse that.
  static absl::StatusOr<Base> MakeBase(const ServerOptions& options, Clock& clock);
  // Nothing: this server is alone.
  static absl::StatusOr<std::unique_ptr<Cluster>> MakeCluster(const ServerOptions& options,
                                                              const config::Config& config,
                                                              Clock& clock);
  Server(const ServerOptions& options, Clock& clock, Base base);

  absl::Status Run();
  // Puts a configuration into force.
  absl::Status Apply(const config::Config& config);
  // A policy into the engine, whose tables nobody is cut for.
  absl::Status Install(const engine::PolicySpec& policy);
  absl::Status OpenTls();
  // The configuration file has this content now, or cannot be read.
  void Update(const absl::StatusOr<std::string>& text);
  // It has not changed: whether it can be put into force now that could not be before.
  void TryAgain();
  // Runs something that may load a configuration, and logs what became of it.
  void Load(absl::FunctionRef<void()> load);
  rpc::RpcServerOptions RpcOptions(const config::ServerSettings& settings);
  absl::Status Listen();

  absl::Time StartedAt() const override { return started_at_; }
  config::LoadStatus Config() const override { return config_->status(); }
  std::shared_ptr<const config::Config> InForce() const override { return config_->current(); }
  std::vector<health::TargetSnapshot> Targets() const override { return targets_.Snapshots(); }
  std::vector<agents::AgentView> Agents() const override { return agents_.Views(); }
  throttle_log::ThrottleLogSnapshot ThrottleLog() const override { return log_.Snapshot(); }
  overrides::OverridesSnapshot Overrides() const override { return state_->OverridesView(); }
  tls::TlsSnapshot Tls() const override;
  access::AccessSnapshot Access() const override;
  snapshot::SnapshotView Snapshot() const override { return state_->SnapshotView(); }
  std::vector<std::string> Warnings() const override { return unmatched_names_.Warnings(); }

  const ServerOptions options_;
  Clock& clock_;
  const absl::Time started_at_;
  const std::unique_ptr<config::ConfigStore> config_;
  const std::string listens_at_;
  const std::unique_ptr<Cluster> cluster_;  // null: this server is alone
  const std::unique_ptr<StateFolder> state_;
  line::WaitingLines line_;
  ConfiguredAccess access_;
  app::Targets targets_;
  app::Agents agents_;
  UnmatchedNames unmatched_names_;
  app::ThrottleLog log_;
  CallLog call_log_;
  transport::Calls calls_;
  rpc::OverrideService override_service_;
  rpc::CostService cost_service_;
  rpc::ThrottleLogService log_service_;
  rpc::ClusterService cluster_service_;
  rpc::AgentService agent_service_;
  std::unique_ptr<tls::ServerTls> tls_;  // null: plaintext
  std::unique_ptr<rpc::RpcServer> rpc_;  // null: not listening yet, or stopped
  int port_ = 0;
  std::unique_ptr<FileWatcher> watcher_;
  std::unique_ptr<Web> web_;  // the last: it reads all above
};

}  // namespace headgate::app
