#include "server/serve/gateway/worker_calls.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/serve/gateway/http_answer.h"
#include "server/serve/gateway/page_rules.h"
#include "server/serve/gateway/quick_calls.h"
#include "server/serve/gateway/run_on_worker.h"
#include "server/serve/json/json_calls.h"
#include "server/serve/transport/error_status.h"
#include "server/serve/transport/received_bytes.h"

namespace headgate::gateway {
namespace {

using google::protobuf::Message;

// What is asked at once is short.
constexpr size_t kMostBatchBytes = http::kMaxBodyText;
constexpr char kNoRead[] =
    "is no method that reads: those of get_, list_, query_ and replay_, and explain";

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

WorkerCalls::WorkerCalls(const rpc::Api& api, const http::WorkersOptions& workers,
                         const std::atomic<bool>& ending)
    : api_(api), ending_(ending), workers_(workers) {
  for (const rpc::Method& method : api.methods()) {
    const std::string path = PathOf(method.path);
    methods_.emplace(
        path, Method{.path = path,
                     .rpc = &method,
                     .counts = &api.calls().Shared(transport::Calls::MethodOf(method.path))});
  }
}

bool WorkerCalls::Has(std::string_view path) const {
  return path == kBatchPath || methods_.contains(Sv(path));
}

bool WorkerCalls::Answer(const http::Request& request, http::Response& response,
                         http::Exchange& exchange) {
  const auto asked = std::make_shared<Questions>();
  asked->asked_ns = api_.clock().Read().monotonic_ns;
  if (!Read(request, *asked, response) || !TakeShared(request, *asked, response)) return true;
  if (std::all_of(asked->all.begin(), asked->all.end(),
                  [](const Question& question) { return question.is_answered; })) {
    Tell(*asked, response);
    return true;
  }
  return RunOnWorker(workers_, request, response, exchange,
                     [this, asked](CallOnWorker& call) { Work(*asked, call); });
}

bool WorkerCalls::Read(const http::Request& request, Questions& asked,
                       http::Response& response) const {
  if (request.path != kBatchPath) {
    asked.changes = !IsRead(request.path);
    asked.all.push_back({.method = &methods_.find(Sv(request.path))->second});
    return true;
  }
  asked.is_batch = true;
  std::vector<json::JsonCall> calls;
  std::optional<json::JsonFault> fault;
  if (request.has_long_body) {
    fault = {.what = absl::StrCat("a batch has at most ", kMostBatchBytes, " bytes")};
  } else {
    fault = json::SplitCalls(request.body, kMostCalls, calls);
  }
  for (size_t i = 0; i < calls.size() && !fault.has_value(); ++i) {
    const std::string path = absl::StrCat("/v1/", calls[i].name);
    const auto found = methods_.find(path);
    if (found == methods_.end() || !IsRead(path)) {
      fault = {.field = absl::StrCat("calls[", i, "]"), .what = kNoRead};
    } else {
      asked.all.push_back({.method = &found->second, .body = std::string(calls[i].request)});
    }
  }
  if (fault.has_value()) FillError(ToStatus(*fault), response);
  return !fault.has_value();
}

bool WorkerCalls::TakeShared(const http::Request& request, Questions& asked,
                             http::Response& response) {
  if (!request.has_origin || asked.changes || request.has_long_body) return true;
  const HttpEvidence evidence(request);
  access::Asker asker;
  if (const grpc::Status known = rpc::Identify(api_.access(), evidence, asker); !known.ok()) {
    transport::MethodCalls& counts = *asked.all.front().method->counts;
    HttpCall call(request);
    counts.End(call, counts.Begin(), known);
    response.request_id = call.answered_id();
    FillError(known, response);
    return false;
  }
  std::string_view rights;  // the caller's, which outlives this
  if (asker.caller != nullptr) rights = asker.caller->rights();
  for (Question& question : asked.all) {
    const std::string_view body = asked.is_batch ? question.body : request.body;
    question.shared_as = SharedAnswers::KeyOf(question.method->path, body, rights);
    question.is_answered = !question.shared_as.empty() &&
                           shared_.Find(question.shared_as, asked.asked_ns, question.answer.body);
  }
  return true;
}

void WorkerCalls::Work(Questions& asked, const CallOnWorker& call) {
  for (Question& question : asked.all) {
    if (call.deferred().gone()) return question.method->counts->CountGone();
    if (question.is_answered) continue;
    question.answer = Run(*question.method, asked.is_batch ? question.body : call.body(), call);
    if (question.answer.status == 200 && !question.shared_as.empty()) {
      shared_.Keep(question.shared_as, asked.asked_ns, question.answer.body);
    }
  }
  if (asked.changes) shared_.Clear(api_.clock().Read().monotonic_ns);
  (void)call.deferred().Respond([&] {
    http::Response late;
    Tell(asked, late);
    return late;
  });
}

http::Response WorkerCalls::Run(const Method& method, std::string_view body,
                                const CallOnWorker& call) const {
  HttpCall context = call.Context();
  const int64_t started_ns = method.counts->Begin();
  const std::unique_ptr<Message> request(method.rpc->request->New());
  const std::unique_ptr<Message> answer(method.rpc->response->New());
  json::JsonReader reader(transport::kMaxParts);
  grpc::Status status = ending_.load(std::memory_order_relaxed) ? transport::ShuttingDown()
                                                                : ReadJson(reader, body, *request);
  if (status.ok()) status = method.rpc->run(context, call.evidence(), *request, *answer);
  method.counts->End(context, started_ns, status);
  http::Response response{.request_id = context.answered_id()};
  json::JsonWriter writer;
  FillAnswer(status, *answer, writer, response);
  return response;
}

// As each would be told by itself: {"answers": [{"status": 200, "body": {}}, ...]}.
void WorkerCalls::Tell(Questions& asked, http::Response& response) {
  if (!asked.is_batch) {
    response = std::move(asked.all.front().answer);
    return;
  }
  const char* before = "{\"answers\":[";
  for (const Question& question : asked.all) {
    const http::Response& answer = question.answer;
    absl::StrAppend(&response.body, before, "{\"status\":", answer.status);
    if (answer.retry_after_s > 0) {
      absl::StrAppend(&response.body, ",\"retry_after\":", answer.retry_after_s);
    }
    if (!answer.request_id.empty()) {
      response.body += ",\"request_id\":";
      json::AppendText(answer.request_id, response.body);
    }
    absl::StrAppend(&response.body, ",\"body\":", answer.body, "}");
    before = ",";
  }
  response.body += "]}";
}

}  // namespace headgate::gateway
