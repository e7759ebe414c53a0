#include "server/serve/web/web_server.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace headgate::web {
namespace {

constexpr absl::Duration kBetweenCollections = absl::Milliseconds(100);
constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kMetrics[] = "/metrics";
constexpr char kHealthz[] = "/healthz";
constexpr char kReadyz[] = "/readyz";
constexpr char kOther[] = "other";

http::Response Text(int status, std::string text) {
  return {.status = status, .content_type = kPlainText, .body = std::move(text)};
}

http::Response Unknown() { return Text(404, "there are /metrics, /healthz and /readyz\n"); }

// As the API says it, once it is there: a google.rpc.Status in JSON.
http::Response Unavailable(const char* why) {
  return {.status = 503,
          .body = absl::StrCat("{\"code\":14,\"message\":\"", why, "\"}"),
          .retry_after_s = 1};
}

}  // namespace

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const WebServerOptions& options,
                                                            Clock& clock, Readiness& readiness) {
  std::unique_ptr<WebServer> server(new WebServer(clock, readiness));
  const auto listen = [&](const std::optional<http::HttpServerOptions>& port, Port& handler,
                          std::unique_ptr<http::HttpServer>& started) -> absl::Status {
    if (!port.has_value()) return absl::OkStatus();
    auto listening = http::HttpServer::Start(*port, clock, handler);
    if (!listening.ok()) return listening.status();
    started = *std::move(listening);
    return absl::OkStatus();
  };
  absl::Status status = listen(options.main, server->main_, server->main_server_);
  status.Update(listen(options.probes, server->probes_, server->probe_server_));
  if (!status.ok()) return status;
  return server;
}

void WebServer::Add(Collector collector) {
  MutexLock lock(&mutex_);
  collectors_.push_back(std::move(collector));
}

void WebServer::SetApi(http::Handler* api) {
  MutexLock lock(&api_mutex_);
  api_ = api;
}

void WebServer::EndApi() {
  MutexLock lock(&api_mutex_);
  api_ = nullptr;
  api_has_ended_ = true;
}

bool WebServer::Port::Handle(const http::Request& request, http::Response& response,
                             http::Exchange& exchange) {
  const std::string_view path = request.path;
  const bool is_metrics = path == kMetrics;
  if (!is_metrics && path != kHealthz && path != kReadyz) {
    if (has_api_) return server_.HandleByApi(request, response, exchange);
    response = Unknown();
    server_.Count(kOther, response.status);
    return true;
  }
  if (!request.reads()) {
    response = Text(405, "only GET and HEAD\n");
    response.allow = "GET, HEAD";
    server_.Count(kOther, response.status);
    return true;
  }
  if (is_metrics) return server_.TellMetrics(response, exchange);
  response = path == kReadyz ? server_.Ready() : Text(200, "ok\n");
  server_.Count(path, response.status);
  return true;
}

void WebServer::Port::OnRefused(int status) { server_.Count(kOther, status); }

bool WebServer::HandleByApi(const http::Request& request, http::Response& response,
                            http::Exchange& exchange) {
  {
    MutexLock lock(&api_mutex_);
    if (api_ != nullptr) return api_->Handle(request, response, exchange);
    response = api_has_ended_ ? Unavailable("the server is shutting down")
                              : Unavailable("the server is starting");
  }
  Count(kOther, response.status);
  return true;
}

bool WebServer::TellMetrics(http::Response& response, http::Exchange& exchange) {
  const std::shared_ptr<http::Deferred> deferred = exchange.Defer(nullptr);
  const bool will_be = deferred != nullptr && collecting_.Run(0, [this, deferred] {
    if (deferred->gone()) return;
    Count(kMetrics, 200);
    const std::string metrics = Metrics();
    // Nobody waits for them any more, if not.
    (void)deferred->Respond(
        [&] { return http::Response{.content_type = kMetricsText, .body = metrics}; });
  });
  if (will_be) return false;
  response = Unavailable("too many scrapes wait");
  Count(kOther, response.status);
  if (deferred == nullptr) return true;
  (void)deferred->Respond([&] { return response; });
  return false;
}

void WebServer::Count(std::string_view path, int status) {
  MutexLock lock(&requests_mutex_);
  ++requests_[{std::string(path), status}];
}

void WebServer::AddRequests(Exposition& out) {
  auto requests = out.Counter("headgate_http_requests_total",
                              "Requests for metrics and probes, and those that were refused before "
                              "the API has seen them.");
  MutexLock lock(&requests_mutex_);
  for (const auto& [key, count] : requests_) {
    requests.Set({{"path", key.first}, {"code", absl::StrCat(key.second)}},
                 static_cast<double>(count));
  }
}

http::Response WebServer::Ready() {
  const Readiness::View view = readiness_.Read();
  const std::string_view state = NameOf(view.state);
  return Text(view.ready() ? 200 : 503,
              absl::StrCat(std::string(state), view.why.empty() ? "" : ": ", view.why, "\n"));
}

std::string WebServer::Metrics() {
  const int64_t now_ns = clock_.Read().monotonic_ns;
  if (collected_ns_ != 0 &&
      now_ns - collected_ns_ < absl::ToInt64Nanoseconds(kBetweenCollections)) {
    return metrics_;
  }
  collected_ns_ = std::max<int64_t>(now_ns, 1);
  Exposition out;
  {
    MutexLock lock(&mutex_);
    for (const Collector& collect : collectors_) collect(out);
  }
  readiness_.Collect(out);
  AddRequests(out);
  out.Gauge("headgate_scrape_duration_seconds", "How long it took to collect these metrics.")
      .Set({}, static_cast<double>(clock_.Read().monotonic_ns - now_ns) * 1e-9);
  metrics_ = out.Text();
  return metrics_;
}

}  // namespace headgate::web
