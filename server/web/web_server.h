// HTTP for machines, on one port:
//
//   /metrics  for Prometheus; what is told there comes from collectors
//   /healthz  200 for as long as the process answers
//   /readyz   200 if the server should get calls, else 503, with the reason; see readiness.h
//
// The two probes wait for nobody: no database, no disk, and no scrape, be it one that hangs.
//
// Everything else is 404. Metrics are collected at most ten times a second, however often they are
// asked for.
//
// Thread-safe. Collectors are called until the server is gone.
//
//   auto web = WebServer::Start({.address = "127.0.0.1:8080"}, clock, readiness);
//   (*web)->Add([&](Exposition& out) { out.Gauge("headgate_things", "Things.").Set({}, 3); });

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/web/exposition.h"
#include "server/web/http_answer.h"
#include "server/web/http_port.h"
#include "server/web/readiness.h"

namespace headgate::web {

class WebServer {
 public:
  // The clock and the readiness outlive the server. Unavailable: the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const HttpPortOptions& options,
                                                          Clock& clock, Readiness& readiness);

  int port() const { return port_->port(); }
  // What it uses outlives the server.
  void Add(Collector collector) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  WebServer(Clock& clock, Readiness& readiness) : clock_(clock), readiness_(readiness) {}

  // Of what can be told at once; what cannot sets `deferred_`.
  HttpPage PageAtOnce(const std::string& path);
  // A path that is none of ours goes by the name kOther.
  void Count(const std::string& path, int status) ABSL_LOCKS_EXCLUDED(requests_mutex_);
  HttpPage Metrics() ABSL_LOCKS_EXCLUDED(mutex_);
  HttpPage Ready();
  void AddRequests(Exposition& out) ABSL_LOCKS_EXCLUDED(requests_mutex_);

  Clock& clock_;
  Readiness& readiness_;
  Mutex mutex_;
  std::vector<Collector> collectors_ ABSL_GUARDED_BY(mutex_);
  Mutex requests_mutex_;
  // By path and status.
  std::map<std::pair<std::string, int>, uint64_t> requests_ ABSL_GUARDED_BY(requests_mutex_);
  // The port's thread's.
  bool deferred_ = false;
  std::string path_at_once_;  // that the newest response is counted under
  HttpAnswer at_once_{[this](const std::string& path) { return PageAtOnce(path); }};
  // The other one's.
  std::string metrics_;       // as they were collected last
  int64_t collected_ns_ = 0;  // 0: never
  HttpAnswer in_time_{[this](const std::string&) { return Metrics(); }};
  std::unique_ptr<HttpPort> port_;  // the last: its threads use all above
};

}  // namespace headgate::web
