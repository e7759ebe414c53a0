// The HTTP port of the whole server: when it is ready, and which metrics there are.
//
// It starts before anything else and stops after everything else, so that probes are always
// answered.
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

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/access/access_control.h"
#include "server/app/call_log.h"
#include "server/engine/engine.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/sources.h"
#include "server/throttle_log/recorder.h"
#include "server/transport/calls.h"
#include "server/web/readiness.h"
#include "server/web/web_server.h"

namespace headgate::app {

struct WebOptions {
  std::string address = {};  // "host:port"; empty: there is no port
  std::string port_file = {};
  absl::Duration ready_after = absl::Seconds(30);  // see Readiness
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
  };

  // The clock outlives the Web. Unavailable: the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Web>> Start(const WebOptions& options, Clock& clock);

  // Calls are answered from now on.
  void Serve(const Sources& sources);
  // Called before each change of the configuration; see Readiness.
  void BeforeChange() { readiness_.BeforeChange(); }
  // No more calls are taken; probes and scrapes are answered until the end.
  void Drain() { readiness_.Drain(); }

  // 0: there is none.
  int port() const { return server_ == nullptr ? 0 : server_->port(); }

 private:
  Web(const WebOptions& options, Clock& clock)
      : clock_(clock), readiness_(clock, options.ready_after) {}

  Clock& clock_;
  web::Readiness readiness_;
  std::unique_ptr<web::WebServer> server_;  // null: there is no port
};

}  // namespace headgate::app
