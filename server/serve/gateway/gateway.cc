#include "server/serve/gateway/gateway.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "common/strings.h"
#include "server/serve/gateway/freno.h"
#include "server/serve/gateway/http_answer.h"
#include "server/serve/gateway/openapi.h"
#include "server/serve/gateway/run_on_worker.h"
#include "server/serve/transport/error_status.h"

namespace headgate::gateway {
namespace {

constexpr char kStream[] = "/v1/check_stream";
// Larger ones take so long that others would wait for them.
constexpr size_t kMaxQuickBytes = size_t{8} << 10;

bool IsJson(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ')) content_type.remove_suffix(1);
  return absl::EqualsIgnoreCase(Sv(content_type), http::kJson);
}

void Refuse(int status, absl::StatusCode code, std::string_view reason, std::string_view what,
            http::Response& response) {
  FillError(transport::Failure(code, reason, what), response);
  response.status = status;
}

}  // namespace

Gateway::Gateway(const rpc::Api& api, const GatewayOptions& options)
    : options_(options),
      api_(api),
      quick_({{"/v1/check", QuickMethod::kCheck},
              {"/v1/batch_check", QuickMethod::kBatchCheck},
              {"/v1/report", QuickMethod::kReport}}),
      calls_(api),
      large_worker_({.threads = 1}),
      worker_calls_(api, options.workers, ending_) {}

Gateway::~Gateway() { ending_.store(true, std::memory_order_relaxed); }

grpc::Status Gateway::Admit(const http::Request& request) const {
  if (options_.requires_tls && !request.peer->is_tls) {
    return transport::Failure(absl::StatusCode::kPermissionDenied, "PLAINTEXT",
                              "the API is called over TLS; in plaintext there are only /metrics, "
                              "/healthz and /readyz");
  }
  return AdmitPage(request);
}

grpc::Status Gateway::AdmitPage(const http::Request& request) const {
  if (!request.has_origin) return grpc::Status();
  if (!MayPageCall(options_.pages, request)) {
    return transport::Failure(
        absl::StatusCode::kPermissionDenied, "WEB_PAGE",
        "the API is not for pages of other sites: a request with an Origin is refused, but for "
        "this "
        "server's own page, by an address, as localhost, over TLS, or as --page-origin says");
  }
  if (IsRead(request.path) || options_.pages.changes == PageChanges::kAlways) return grpc::Status();
  if (options_.pages.changes == PageChanges::kWhereCallersAreKnown && api_.AsksWhoCalls()) {
    return grpc::Status();
  }
  return transport::Failure(
      absl::StatusCode::kPermissionDenied, "READ_ONLY",
      options_.pages.changes == PageChanges::kNever
          ? "the page is read-only, as the server was started with --page read-only"
          : "the page is read-only, because the server asks nobody who they are; with `access` in "
            "its configuration, or --page changes, it is not");
}

bool Gateway::Handle(const http::Request& request, http::Response& response,
                     http::Exchange& exchange) {
  if (ReadFrenoPath(request.path, calls_.freno_check())) {
    return AnswerFreno(request, exchange, response);
  }
  if (request.path == "/openapi.json" && request.reads()) {
    TellOpenApi(request, response);
    return true;
  }
  const auto quick = quick_.find(Sv(request.path));
  if (quick == quick_.end() && !worker_calls_.Has(request.path)) {
    const bool is_stream = request.path == kStream;
    Refuse(is_stream ? 501 : 404,
           is_stream ? absl::StatusCode::kUnimplemented : absl::StatusCode::kNotFound,
           is_stream ? "GRPC_ONLY" : "UNKNOWN_PATH",
           is_stream ? "CheckStream is called over gRPC; over HTTP there is /v1/batch_check"
                     : "there is nothing at this path; /openapi.json lists what there is",
           response);
    return true;
  }
  if (const grpc::Status admitted = Admit(request); !admitted.ok()) {
    FillError(admitted, response);
    return true;
  }
  if (request.method == http::Request::Method::kOptions) {
    response.allow = "POST, OPTIONS";
    response.body = "{}";
    return true;
  }
  if (request.method != http::Request::Method::kPost) {
    response.allow = "POST, OPTIONS";
    Refuse(405, absl::StatusCode::kUnimplemented, "METHOD", "the API is called by POST", response);
    return true;
  }
  // Which a page of another site cannot send without being asked first.
  if (!IsJson(request.content_type)) {
    Refuse(415, absl::StatusCode::kInvalidArgument, "CONTENT_TYPE",
           "the request needs Content-Type: application/json (curl --json, or -H)", response);
    return true;
  }
  if (quick == quick_.end()) return worker_calls_.Answer(request, response, exchange);
  if (request.has_long_body || request.body.size() > kMaxQuickBytes) {
    return RunLarge(quick->second, request, response, exchange);
  }
  CallOnPort call(request, exchange);
  return calls_.Answer(quick->second, call, response);
}

void Gateway::TellOpenApi(const http::Request& request, http::Response& response) const {
  grpc::Status may = Admit(request);
  if (may.ok()) may = api_.MayCall(HttpEvidence(request));
  if (!may.ok()) return FillError(may, response);
  response.body = OpenApi();
}

bool Gateway::AnswerFreno(const http::Request& request, http::Exchange& exchange,
                          http::Response& response) {
  if (request.reads()) return calls_.AnswerFreno(Admit(request), request, exchange, response);
  response.allow = "GET, HEAD";
  Refuse(405, absl::StatusCode::kUnimplemented, "METHOD", "freno's checks are read by GET or HEAD",
         response);
  return true;
}

bool Gateway::RunLarge(QuickMethod method, const http::Request& request, http::Response& response,
                       http::Exchange& exchange) {
  return RunOnWorker(large_worker_, request, response, exchange,
                     [this, method](CallOnWorker& call) {
                       if (large_calls_ == nullptr)
                         large_calls_ = std::make_unique<QuickCalls>(api_);
                       if (call.deferred().gone()) return large_calls_->CountGone(method);
                       http::Response answer;
                       if (ending_.load(std::memory_order_relaxed)) {
                         FillError(transport::ShuttingDown(), answer);
                       } else if (!large_calls_->Answer(method, call, answer)) {
                         return;
                       }
                       // Nobody waits for it, if not.
                       (void)call.deferred().Respond([&] { return std::move(answer); });
                     });
}

}  // namespace headgate::gateway
