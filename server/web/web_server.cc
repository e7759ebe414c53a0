#include "server/web/web_server.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/strings.h"

namespace headgate::web {
namespace {

constexpr absl::Duration kBetweenCollections = absl::Milliseconds(100);
constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kMetrics[] = "/metrics";
constexpr char kOther[] = "other";

// Of a response, which begins with "HTTP/1.1 200 ".
int StatusOf(std::string_view response) {
  int status = 0;
  const bool is_number = absl::SimpleAtoi(Sv(response).substr(9, 3), &status);
  return is_number ? status : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const HttpPortOptions& options,
                                                            Clock& clock, Readiness& readiness) {
  std::unique_ptr<WebServer> server(new WebServer(clock, readiness));
  absl::StatusOr<std::unique_ptr<HttpPort>> port = HttpPort::Listen(
      options, clock,
      [web = server.get()](std::string_view request) -> std::optional<std::string> {
        web->deferred_ = false;
        web->path_at_once_ = kOther;
        std::string response = web->at_once_.To(request);
        if (web->deferred_) return std::nullopt;
        web->Count(web->path_at_once_, StatusOf(response));
        return response;
      },
      [web = server.get()](std::string_view request) {
        std::string response = web->in_time_.To(request);
        web->Count(kMetrics, StatusOf(response));
        return response;
      },
      [web = server.get()](int status) { web->Count(kOther, status); });
  if (!port.ok()) return port.status();
  server->port_ = *std::move(port);
  return server;
}

void WebServer::Add(Collector collector) {
  MutexLock lock(&mutex_);
  collectors_.push_back(std::move(collector));
}

HttpPage WebServer::PageAtOnce(const std::string& path) {
  deferred_ = path == kMetrics;
  if (deferred_) return {};
  const bool is_probe = path == "/healthz" || path == "/readyz";
  if (!is_probe) return {404, kPlainText, "there are /metrics, /healthz and /readyz\n"};
  path_at_once_ = path;
  return path == "/readyz" ? Ready() : HttpPage{200, kPlainText, "ok\n"};
}

void WebServer::Count(const std::string& path, int status) {
  MutexLock lock(&requests_mutex_);
  ++requests_[{path, status}];
}

void WebServer::AddRequests(Exposition& out) {
  auto requests =
      out.Counter("headgate_http_requests_total", "Requests that the HTTP port has answered.");
  MutexLock lock(&requests_mutex_);
  for (const auto& [key, count] : requests_) {
    requests.Set({{"path", key.first}, {"code", absl::StrCat(key.second)}},
                 static_cast<double>(count));
  }
}

HttpPage WebServer::Ready() {
  const Readiness::View view = readiness_.Read();
  const std::string_view state = NameOf(view.state);
  return {view.ready() ? 200 : 503, kPlainText,
          absl::StrCat(std::string(state), view.why.empty() ? "" : ": ", view.why, "\n")};
}

HttpPage WebServer::Metrics() {
  const int64_t now_ns = clock_.Read().monotonic_ns;
  if (collected_ns_ != 0 &&
      now_ns - collected_ns_ < absl::ToInt64Nanoseconds(kBetweenCollections)) {
    return {200, kMetricsText, metrics_};
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
  return {200, kMetricsText, metrics_};
}

}  // namespace headgate::web
