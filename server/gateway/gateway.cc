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
// Of messages up to so many bytes the memory is kept.
constexpr size_t kKeptBytes = size_t{1} << 18;

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

// As it is read; else what is wrong.
grpc::Status Read(json::JsonReader& reader, std::string_view body, Message& message) {
  const std::optional<json::JsonFault> fault = reader.Read(body, message);
  return fault.has_value() ? ToStatus(*fault) : grpc::Status();
}

void ClearFor(size_t body_bytes, Message& message) {
  if (body_bytes > kKeptBytes) {
    const std::unique_ptr<Message> fresh(message.New());
    message.GetReflection()->Swap(fresh.get(), &message);
  } else {
    message.Clear();
  }
}

// For calls that never wait.
class NoParking final : public transport::Parking<v1::CheckResponse> {
 public:
  std::shared_ptr<transport::ParkedCall<v1::CheckResponse>> Park(
      std::shared_ptr<transport::ParkListener> /*listener*/) override {
    return nullptr;
  }
};

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
      thread_(api.AddThread()),
      reader_(transport::kMaxParts),
      check_(api.calls(), "Check"),
      batch_check_(api.calls(), "BatchCheck"),
      report_(api.calls(), "Report"),
      quick_({{"/v1/check", &Gateway::Check},
              {"/v1/batch_check", &Gateway::BatchCheck},
              {"/v1/report", &Gateway::Report}}),
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
  if (ReadFrenoPath(request.path, check_.request)) return AnswerFreno(request, response);
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
  return quick == quick_.end() ? RunSlow(slow->second, request, response, exchange)
                               : (this->*quick->second)(request, response, exchange);
}

template <typename Method, typename Decide>
bool Gateway::Answer(Method& method, const http::Request& request, http::Response& response,
                     http::Exchange& exchange, Decide decide) {
  HttpParking<decltype(method.response)> parking(request, exchange, method.parked_counts);
  const int64_t started_ns = method.counts.Begin();
  ClearFor(request.body.size(), method.request);
  grpc::Status status = Read(reader_, request.body, method.request);
  if (status.ok()) status = decide(parking);
  if (parking.parked()) {
    method.counts.EndParked(started_ns);
    return false;
  }
  if (status.ok() && started_ns == 0) [[likely]] {
    method.counts.EndOk();
  } else {
    HttpCall call(request);
    method.counts.End(call, started_ns, status);
    response.request_id = call.answered_id();
  }
  FillAnswer(status, method.response, writer_, response);
  if (request.body.size() > kKeptBytes) ClearFor(request.body.size(), method.response);
  return true;
}

bool Gateway::Check(const http::Request& request, http::Response& response,
                    http::Exchange& exchange) {
  return Answer(check_, request, response, exchange, [&](auto& parking) {
    return thread_->Check(HttpEvidence(request), check_.request, check_.response, parking);
  });
}

bool Gateway::BatchCheck(const http::Request& request, http::Response& response,
                         http::Exchange& exchange) {
  return Answer(batch_check_, request, response, exchange, [&](auto& parking) {
    return thread_->BatchCheck(HttpEvidence(request), batch_check_.request.checks(),
                               batch_check_.response, parking);
  });
}

bool Gateway::Report(const http::Request& request, http::Response& response,
                     http::Exchange& exchange) {
  return Answer(report_, request, response, exchange, [&](auto& /*parking*/) {
    return thread_->Report(HttpEvidence(request), report_.request, report_.response);
  });
}

void Gateway::TellOpenApi(const http::Request& request, http::Response& response) const {
  grpc::Status may = Admit(request);
  if (may.ok()) may = api_.MayCall(HttpEvidence(request));
  if (!may.ok()) return FillError(may, response);
  response.body = OpenApi();
}

bool Gateway::AnswerFreno(const http::Request& request, http::Response& response) {
  if (!request.reads()) {
    response.allow = "GET, HEAD";
    Refuse(405, absl::StatusCode::kUnimplemented, "METHOD",
           "freno's checks are read by GET or HEAD", response);
    return true;
  }
  const int64_t started_ns = check_.counts.Begin();
  grpc::Status status = Admit(request);
  if (status.ok()) {
    NoParking nowhere;
    status = thread_->Check(HttpEvidence(request), check_.request, check_.response, nowhere);
  }
  HttpCall call(request);
  check_.counts.End(call, started_ns, status);
  response.request_id = call.answered_id();
  if (!status.ok()) check_.response.Clear();
  FillFrenoAnswer(status, check_.response.decision(), response);
  return true;
}

bool Gateway::RunSlow(const Slow& slow, const http::Request& request, http::Response& response,
                      http::Exchange& exchange) {
  const std::shared_ptr<http::Deferred> deferred = exchange.Defer(nullptr);
  if (deferred == nullptr) {
    FillError(transport::Overloaded("TOO_MANY_CALLS", "too many calls wait for an answer"),
              response);
    return true;
  }
  // Over HTTP nothing of a call is left when it is answered later.
  struct Kept {
    HttpCall call;
    rpc::KeptEvidence evidence;
    std::string body;
  };
  const auto kept =
      std::make_shared<Kept>(Kept{.call = HttpCall(request, deferred),
                                  .evidence = rpc::KeptEvidence(HttpEvidence(request)),
                                  .body = std::string(request.body)});
  const auto run = [this, slow, deferred, kept] {
    if (deferred->gone()) return slow.counts->CountGone();
    const int64_t started_ns = slow.counts->Begin();
    const std::unique_ptr<Message> message(slow.method->request->New());
    const std::unique_ptr<Message> answer(slow.method->response->New());
    json::JsonReader reader(transport::kMaxParts);
    grpc::Status status = ending_.load(std::memory_order_relaxed)
                              ? transport::ShuttingDown()
                              : Read(reader, kept->body, *message);
    if (status.ok()) status = slow.method->run(kept->call, kept->evidence, *message, *answer);
    slow.counts->End(kept->call, started_ns, status);
    // Nobody waits for it, if not.
    (void)deferred->Respond([&] {
      http::Response late{.request_id = kept->call.answered_id()};
      json::JsonWriter writer;
      FillAnswer(status, *answer, writer, late);
      return late;
    });
  };
  if (workers_.Run(run)) return false;
  FillError(transport::Overloaded("TOO_MANY_CALLS", "too many calls wait for a thread"), response);
  (void)deferred->Respond([&] { return response; });
  return false;
}

}  // namespace headgate::gateway
