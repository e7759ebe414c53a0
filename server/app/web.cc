#include "server/app/web.h"

#include <utility>

#include "server/app/port_file.h"
#include "server/app/server.h"
#include "server/engine/policy.h"
#include "server/web/metrics.h"

namespace headgate::app {

absl::StatusOr<std::unique_ptr<Web>> Web::Start(const WebOptions& options, Clock& clock) {
  std::unique_ptr<Web> made(new Web(options, clock));
  if (options.address.empty()) return made;
  absl::StatusOr<std::unique_ptr<web::WebServer>> server =
      web::WebServer::Start({.address = options.address}, clock, made->readiness_);
  if (!server.ok()) return server.status();
  made->server_ = *std::move(server);
  if (options.port_file.empty()) return made;
  if (absl::Status written = WritePort(options.port_file, made->port()); !written.ok()) {
    return written;
  }
  return made;
}

void Web::Serve(const Sources& from) {
  if (server_ != nullptr) {
    server_->Add([from, &clock = clock_](web::Exposition& out) {
      const std::shared_ptr<const engine::Policy> policy = from.engine.policy();
      const Now now = clock.Read();
      web::AddBuild(kVersion, out);
      web::AddChecks(from.recorder.Totals(), *policy, out);
      web::AddCalls(from.calls, out);
      web::AddHealth(from.status.Targets(), *policy, now, out);
      web::AddEngine(from.engine, now, out);
      web::AddWaiting(from.lines.ReadStats(now), out);
      web::AddThrottleLog(from.status.ThrottleLog(), from.recorder.State(), out);
      web::AddConfig(from.status.Config(), out);
      web::AddOverrides(from.status.Overrides(), out);
      web::AddConnections(from.rpc.connections(), out);
      web::AddTls(from.status.Tls(), out);
      web::AddAccess(from.access.refusals(), from.status.Access(), out);
      web::AddSnapshot(from.status.Snapshot(), now.wall(), out);
      web::AddProcess(out);
      out.Counter("headgate_log_lines_suppressed_total",
                  "Lines of the log that callers caused and that were left out, because there were "
                  "too many.")
          .Set({}, from.call_log.suppressed());
    });
  }
  readiness_.Serve([&status = from.status] { return status.Targets(); });
}

}  // namespace headgate::app
