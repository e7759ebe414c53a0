#include "server/app/web.h"

#include <string>
#include <utility>
#include <vector>

#include "server/app/cluster_monitoring.h"
#include "server/app/port_file.h"
#include "server/app/server.h"
#include "server/decide/engine/policy.h"
#include "server/serve/web/metrics.h"

namespace headgate::app {

namespace {

constexpr size_t kMaxProbes = 64;

absl::Status WriteIfWanted(const std::string& path, int port) {
  return path.empty() || port == 0 ? absl::OkStatus() : WritePort(path, port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Web>> Web::Start(const WebOptions& options, Clock& clock) {
  std::unique_ptr<Web> made(new Web(options, clock));
  web::WebServerOptions ports;
  if (!options.address.empty()) {
    ports.main = {.address = options.address,
                  .tls = [web = made.get()] { return web->TlsContext(); }};
  }
  if (!options.probe_address.empty()) {
    ports.probes = {.address = options.probe_address, .limits = {.max_connections = kMaxProbes}};
  }
  absl::StatusOr<std::unique_ptr<web::WebServer>> server =
      web::WebServer::Start(ports, clock, made->readiness_);
  if (!server.ok()) return server.status();
  made->server_ = *std::move(server);
  absl::Status written = WriteIfWanted(options.port_file, made->port());
  written.Update(WriteIfWanted(options.probe_port_file, made->probe_port()));
  if (!written.ok()) return written;
  return made;
}

std::shared_ptr<SSL_CTX> Web::TlsContext() {
  MutexLock lock(&mutex_);
  return tls_ == nullptr ? nullptr : tls_->context();
}

void Web::EndApi() {
  server_->EndApi();
  page_ = nullptr;
  gateway_ = nullptr;
}

void Web::Serve(const Sources& from) {
  {
    MutexLock lock(&mutex_);
    tls_ = from.tls;
  }
  server_->SetLimits(from.limits);
  server_->Add([from, &clock = clock_](web::Exposition& out) {
    const std::shared_ptr<const engine::Policy> policy = from.engine.policy();
    const Now now = clock.Read();
    web::AddBuild(kVersion, out);
    web::AddChecks(from.recorder.Totals(), *policy, out);
    web::AddWaits(from.recorder.WaitedInAll(), *policy, out);
    web::AddCalls(from.calls, out);
    web::AddHealth(from.status.Targets(), *policy, now, out);
    web::AddAgents(from.status.Agents(), *policy, out);
    std::vector<std::string> elsewhere;
    if (from.cluster != nullptr) elsewhere = cluster::TargetsElsewhere(from.cluster->View());
    web::AddEngine(from.engine, {.now = now, .targets_elsewhere = elsewhere}, out);
    web::AddWaiting(from.lines.ReadStats(now), out);
    if (from.cluster != nullptr) web::AddSharing(SharingOf(from.cluster->View()), out);
    web::AddThrottleLog(from.status.ThrottleLog(), from.recorder.State(), out);
    web::AddConfig(from.status.Config(), out);
    web::AddOverrides(from.status.Overrides(), out);
    web::AddConnections(from.rpc.connections(), out);
    web::AddMemory(from.rpc.ReadMemory(), out);
    web::AddTls(from.status.Tls(), out);
    web::AddAccess(from.access.refusals(), from.status.Access(), out);
    web::AddSnapshot(from.status.Snapshot(), now.wall(), out);
    web::AddProcess(out);
    out.Counter("headgate_log_lines_suppressed_total",
                "Lines of the log that callers caused and that were left out, because there were "
                "too many.")
        .Set({}, from.call_log.suppressed());
  });
  const bool has_tls = from.tls != nullptr;
  gateway_ = std::make_unique<gateway::Gateway>(
      from.rpc.api(), gateway::GatewayOptions{.requires_tls = has_tls, .pages = pages_});
  if (pages_.are_served) {
    page_ = std::make_unique<web::Page>(*gateway_, web::PageOptions{.requires_tls = has_tls});
    server_->SetApi(page_.get());
  } else {
    server_->SetApi(gateway_.get());
  }
  web::Readiness::Sharing sharing;
  if (from.cluster != nullptr)
    sharing = [cluster = from.cluster] {
      return ReadinessOf(cluster->View(), cluster->HasJoined());
    };
  readiness_.Serve([&status = from.status] { return status.Targets(); }, std::move(sharing));
}

}  // namespace headgate::app
