#include "server/gateway/gateway.h"

#include <google/protobuf/message.h>

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/gateway/answer.h"
#include "server/gateway/freno.h"
#include "server/gateway/http_parking.h"
#include "server/gateway/openapi.h"
#include "server/rpc/kept_evidence.h"
#include "server/transport/error_status.h"
#include "server/transport/received_bytes.h"

namespace headgate::gateway {
namespace {

using google::protobuf::Message;

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

std::string PathOf(std::string_view method_path) {
  std::string path = "/v1/";
  const std::string_view name = transport::Calls::MethodOf(method_path);
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (absl::ascii_isupper(c) && i > 0) path += '_';
    path += absl::ascii_tolower(c);
  }
  return path;
}

Gateway::Gateway(const rpc::Api& api, const GatewayOptions& options)
    : options_(options),
      api_(api),
      quick_({{"/v1/check", QuickMethod::kCheck},
              {"/v1/batch_check", QuickMethod::kBatchCheck},
              {"/v1/report", QuickMethod::kReport}}),
      calls_(api),
      large_worker_({.threads = 1}),
      workers_(options.workers) {
  for (const rpc::Method& method : api.methods()) {
    slow_.emplace(PathOf(method.path),
                  Slow{.method = &method,
                       .counts = &api.calls().Shared(transport::Calls::MethodOf(method.path))});
  }
}

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
    AnswerFreno(request, response);
    return true;
  }
  if (request.path == "/openapi.json" && request.reads()) {
    TellOpenApi(request, response);
    return true;
  }
  const auto quick = quick_.find(Sv(request.path));
  const auto slow = quick == quick_.end() ? slow_.find(Sv(request.path)) : slow_.end();
  if (quick == quick_.end() && slow == slow_.end()) {
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
  if (quick == quick_.end()) return RunSlow(slow->second, request, response, exchange);
  if (request.body.size() > kMaxQuickBytes) {
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

void Gateway::AnswerFreno(const http::Request& request, http::Response& response) {
  if (request.reads()) return calls_.AnswerFreno(Admit(request), request, response);
  response.allow = "GET, HEAD";
  Refuse(405, absl::StatusCode::kUnimplemented, "METHOD", "freno's checks are read by GET or HEAD",
         response);
}

bool Gateway::RunLarge(QuickMethod method, const http::Request& request, http::Response& response,
                       http::Exchange& exchange) {
  return RunOn(large_worker_, request, response, exchange, [this, method](CallOnWorker& call) {
    if (large_calls_ == nullptr) large_calls_ = std::make_unique<QuickCalls>(api_);
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

bool Gateway::RunSlow(const Slow& slow, const http::Request& request, http::Response& response,
                      http::Exchange& exchange) {
  std::string shared_as = SharedAnswers::KeyOf(request);
  if (!shared_as.empty() &&
      shared_.Find(shared_as, api_.clock().Read().monotonic_ns, response.body)) {
    return true;
  }
  const bool changes = !IsRead(request.path);
  const auto run = [this, slow, shared_as = std::move(shared_as), changes](CallOnWorker& call) {
    if (call.deferred().gone()) return slow.counts->CountGone();
    HttpCall context = call.Context();
    const int64_t started_ns = slow.counts->Begin();
    const std::unique_ptr<Message> message(slow.method->request->New());
    const std::unique_ptr<Message> answer(slow.method->response->New());
    json::JsonReader reader(transport::kMaxParts);
    grpc::Status status = ending_.load(std::memory_order_relaxed)
                              ? transport::ShuttingDown()
                              : ReadJson(reader, call.body(), *message);
    if (status.ok()) status = slow.method->run(context, call.evidence(), *message, *answer);
    slow.counts->End(context, started_ns, status);
    http::Response late{.request_id = context.answered_id()};
    json::JsonWriter writer;
    FillAnswer(status, *answer, writer, late);
    if (changes) shared_.Clear();
    if (status.ok() && !shared_as.empty()) {
      shared_.Keep(shared_as, api_.clock().Read().monotonic_ns, late.body);
    }
    (void)call.deferred().Respond([&] { return std::move(late); });
  };
  return RunOn(workers_, request, response, exchange, run);
}

bool Gateway::RunOn(http::Workers& workers, const http::Request& request, http::Response& response,
                    http::Exchange& exchange, std::function<void(CallOnWorker&)> run) {
  const std::shared_ptr<http::Deferred> deferred = exchange.Defer(nullptr);
  if (deferred == nullptr) {
    FillError(transport::Overloaded("TOO_MANY_CALLS", "too many calls wait for an answer"),
              response);
    return true;
  }
  const size_t bytes = request.body.size();
  const auto call = std::make_shared<CallOnWorker>(request, exchange.TakeBody(), deferred);
  if (workers.Run(bytes, [call, run = std::move(run)] { run(*call); })) return false;
  FillError(transport::Overloaded("TOO_MANY_CALLS", "too many calls wait for a thread"), response);
  (void)deferred->Respond([&] { return response; });
  return false;
}

}  // namespace headgate::gateway
