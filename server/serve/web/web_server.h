// What the HTTP ports answer:
//
//   /metrics  for Prometheus; what is told there comes from collectors
//   /healthz  200 for as long as the process answers
//   /readyz   200 if the server should get calls, else 503, with the reason; see readiness.h
//
// and, on the main port alone, whatever the API has. The two probes wait for nobody: no database,
// no disk, and no scrape, be it one that hangs. Metrics are collected at most ten times a second,
// however often they are asked for. A second port for these three, with a thread of its own, may
// speak plaintext where the main one has TLS, and is not held up by whatever floods that.
//
// Thread-safe. Collectors are called until the server is gone.
//
//   auto web = WebServer::Start({.main = {.address = "127.0.0.1:8080"}}, clock, readiness);
//   (*web)->Add([&](Exposition& out) { out.Gauge("headgate_things", "Things.").Set({}, 3); });
//   (*web)->SetApi(&gateway);

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/serve/http/handler.h"
#include "server/serve/http/http_server.h"
#include "server/serve/http/workers.h"
#include "server/serve/web/exposition.h"
#include "server/serve/web/readiness.h"

namespace headgate::web {

struct WebServerOptions {
  std::optional<http::HttpServerOptions> main = {};    // nothing: there is none
  std::optional<http::HttpServerOptions> probes = {};  // likewise
};

class WebServer {
 public:
  // The clock and the readiness outlive the server. Unavailable: an address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const WebServerOptions& options,
                                                          Clock& clock, Readiness& readiness);

  // 0: there is none.
  int port() const { return main_server_ == nullptr ? 0 : main_server_->port(); }
  int probe_port() const { return probe_server_ == nullptr ? 0 : probe_server_->port(); }
  // Of the main port, if there is one.
  void SetLimits(const http::HttpLimits& limits) {
    if (main_server_ != nullptr) main_server_->SetLimits(limits);
  }
  // What it uses outlives the server.
  void Add(Collector collector) ABSL_LOCKS_EXCLUDED(mutex_);
  // It answers what is not answered here. Null: nobody does. When this returns, the one before is
  // not used any more.
  void SetApi(http::Handler* api) ABSL_LOCKS_EXCLUDED(api_mutex_);
  // There was an API, and there is none any more: that is what callers are told.
  void EndApi() ABSL_LOCKS_EXCLUDED(api_mutex_);

 private:
  // What one port answers, on its thread.
  class Port final : public http::Handler {
   public:
    Port(WebServer& server, bool has_api) : server_(server), has_api_(has_api) {}
    bool Handle(const http::Request& request, http::Response& response,
                http::Exchange& exchange) override;
    void OnRefused(int status) override;

   private:
    WebServer& server_;
    const bool has_api_;
  };

  WebServer(Clock& clock, Readiness& readiness) : clock_(clock), readiness_(readiness) {}

  bool HandleByApi(const http::Request& request, http::Response& response, http::Exchange& exchange)
      ABSL_LOCKS_EXCLUDED(api_mutex_);
  // Later, on a thread of its own.
  bool TellMetrics(http::Response& response, http::Exchange& exchange);
  std::string Metrics() ABSL_LOCKS_EXCLUDED(mutex_, requests_mutex_);
  http::Response Ready();
  void Count(std::string_view path, int status) ABSL_LOCKS_EXCLUDED(requests_mutex_);
  void AddRequests(Exposition& out) ABSL_LOCKS_EXCLUDED(requests_mutex_);

  Clock& clock_;
  Readiness& readiness_;
  Mutex api_mutex_;
  http::Handler* api_ ABSL_GUARDED_BY(api_mutex_) = nullptr;
  bool api_has_ended_ ABSL_GUARDED_BY(api_mutex_) = false;
  Mutex mutex_;
  std::vector<Collector> collectors_ ABSL_GUARDED_BY(mutex_);
  Mutex requests_mutex_;
  // By path and status.
  std::map<std::pair<std::string, int>, uint64_t> requests_ ABSL_GUARDED_BY(requests_mutex_);
  // The collecting thread's.
  std::string metrics_;       // as they were collected last
  int64_t collected_ns_ = 0;  // 0: never
  Port main_{*this, /*has_api=*/true};
  Port probes_{*this, /*has_api=*/false};
  http::Workers collecting_{{.threads = 1}};
  // The last: their threads use all above.
  std::unique_ptr<http::HttpServer> probe_server_;
  std::unique_ptr<http::HttpServer> main_server_;
};

}  // namespace headgate::web
