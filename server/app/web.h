// The HTTP ports of the whole server: when it is ready, which metrics there are, and the API.
//
// They start before anything else and stop after everything else, so that probes are always
// answered. The API is there from Serve to EndApi.
//
// Thread-safe, but for Serve, which is called once.
//
//   auto web = Web::Start({.address = "127.0.0.1:8080"}, clock);
//   ...
//   (*web)->Serve({.engine = *engine, ...});
//   (*web)->Drain();

#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/app/call_log.h"
#include "server/app/cluster.h"
#include "server/decide/engine/engine.h"
#include "server/govern/access/access_control.h"
#include "server/govern/tls/server_tls.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/serve/gateway/gateway.h"
#include "server/serve/rpc/rpc_server.h"
#include "server/serve/rpc/sources.h"
#include "server/serve/transport/calls.h"
#include "server/serve/web/page.h"
#include "server/serve/web/readiness.h"
#include "server/serve/web/web_server.h"

namespace headgate::app {

struct WebOptions {
  std::string address = {};  // "host:port"; empty: there is no port
  std::string port_file = {};
  std::string probe_address = {};  // of the port for metrics and probes alone, likewise
  std::string probe_port_file = {};
  absl::Duration ready_after = absl::Seconds(30);  // see Readiness
  gateway::PageRules pages = {};
};

class Web {
 public:
  // What metrics are made of. All of it outlives the Web.
  struct Sources {
    const engine::Engine& engine;
    const throttle_log::Recorder& recorder;
    const transport::Calls& calls;
    const CallLog& call_log;
    const rpc::StatusSource& status;
    const access::AccessControl& access;
    const rpc::RpcServer& rpc;
    const line::WaitingLines& lines;
    const Cluster* cluster;     // null: this server is alone
    const tls::ServerTls* tls;  // null: plaintext
    http::HttpLimits limits;
  };

  // The clock outlives the Web. Unavailable: the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Web>> Start(const WebOptions& options, Clock& clock);

  // Calls are answered from now on.
  void Serve(const Sources& sources);
  // Called before each change of the configuration; see Readiness.
  void BeforeChange() { readiness_.BeforeChange(); }
  // No more calls are taken; probes and scrapes are answered until the end.
  void Drain() { readiness_.Drain(); }

  // Calls of the API are refused from now on; those that wait in line are answered when the lines
  // are closed, and those that have threads have ended when this returns.
  void EndApi();

  // 0: there is none.
  int port() const { return server_->port(); }
  int probe_port() const { return server_->probe_port(); }

 private:
  Web(const WebOptions& options, Clock& clock)
      : clock_(clock), readiness_(clock, options.ready_after), pages_(options.pages) {}

  std::shared_ptr<SSL_CTX> TlsContext() ABSL_LOCKS_EXCLUDED(mutex_);

  Clock& clock_;
  web::Readiness readiness_;
  const gateway::PageRules pages_;
  Mutex mutex_;
  const tls::ServerTls* tls_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null: plaintext
  std::unique_ptr<gateway::Gateway> gateway_;                    // null: there is no API
  std::unique_ptr<web::Page> page_;                              // null: there is no page
  std::unique_ptr<web::WebServer> server_;                       // the last: it uses all above
};

}  // namespace headgate::app
