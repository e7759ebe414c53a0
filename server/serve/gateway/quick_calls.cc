#include "server/serve/gateway/quick_calls.h"

#include <google/protobuf/message.h>

#include <memory>
#include <optional>
#include <utility>

#include "server/serve/gateway/freno.h"
#include "server/serve/gateway/http_answer.h"
#include "server/serve/gateway/http_parking.h"
#include "server/serve/transport/received_bytes.h"

namespace headgate::gateway {
namespace {

using google::protobuf::Message;

// Of messages up to so many bytes the memory is kept.
constexpr size_t kKeptBytes = size_t{1} << 18;

void ClearFor(size_t body_bytes, Message& message) {
  if (body_bytes > kKeptBytes) {
    const std::unique_ptr<Message> fresh(message.New());
    message.GetReflection()->Swap(fresh.get(), &message);
  } else {
    message.Clear();
  }
}

void FillFreno(const grpc::Status& status, const v1::CheckResponse& check,
               http::Response& response) {
  FillFrenoAnswer(status, status.ok() ? check.decision() : v1::Decision(), response);
}

}  // namespace

grpc::Status ReadJson(json::JsonReader& reader, std::string_view body, Message& message) {
  const std::optional<json::JsonFault> fault = reader.Read(body, message);
  return fault.has_value() ? ToStatus(*fault) : grpc::Status();
}

QuickCalls::QuickCalls(const rpc::Api& api)
    : thread_(api.AddThread()),
      reader_(transport::kMaxParts),
      check_(api.calls(), "Check"),
      batch_check_(api.calls(), "BatchCheck"),
      report_(api.calls(), "Report") {}

template <typename Method, typename Decide>
bool QuickCalls::Answer(Method& method, IncomingCall& call, http::Response& response,
                        Decide decide) {
  HttpParking<decltype(method.response)> parking(call, method.parked_counts);
  const size_t body_bytes = call.body().size();
  const int64_t started_ns = method.counts.Begin();
  ClearFor(body_bytes, method.request);
  grpc::Status status = ReadJson(reader_, call.body(), method.request);
  if (status.ok()) status = decide(parking);
  if (parking.parked()) {
    method.counts.EndParked(started_ns);
    return false;
  }
  if (status.ok() && started_ns == 0) [[likely]] {
    method.counts.EndOk();
  } else {
    HttpCall context = call.Context();
    method.counts.End(context, started_ns, status);
    response.request_id = context.answered_id();
  }
  FillAnswer(status, method.response, writer_, response);
  if (body_bytes > kKeptBytes) ClearFor(body_bytes, method.response);
  return true;
}

bool QuickCalls::Answer(QuickMethod method, IncomingCall& call, http::Response& response) {
  switch (method) {
    case QuickMethod::kCheck:
      return Answer(check_, call, response, [&](auto& parking) {
        return thread_->Check(call.evidence(), check_.request, check_.response, parking);
      });
    case QuickMethod::kBatchCheck:
      return Answer(batch_check_, call, response, [&](auto& parking) {
        return thread_->BatchCheck(call.evidence(), batch_check_.request.checks(),
                                   batch_check_.response, parking);
      });
    case QuickMethod::kReport:
      break;
  }
  return Answer(report_, call, response, [&](auto& parking) {
    return thread_->Report(call.evidence(), report_.request, report_.response, parking);
  });
}

void QuickCalls::CountGone(QuickMethod method) {
  if (method == QuickMethod::kCheck) check_.counts.CountGone();
  if (method == QuickMethod::kBatchCheck) batch_check_.counts.CountGone();
  if (method == QuickMethod::kReport) report_.counts.CountGone();
}

bool QuickCalls::AnswerFreno(const grpc::Status& admitted, const http::Request& request,
                             http::Exchange& exchange, http::Response& response) {
  CallOnPort call(request, exchange);
  HttpParking<v1::CheckResponse> parking(call, check_.parked_counts, &FillFreno);
  const int64_t started_ns = check_.counts.Begin();
  grpc::Status status = admitted;
  if (status.ok()) status = ValidateFreno(check_.request);
  if (status.ok()) {
    status = thread_->Check(call.evidence(), check_.request, check_.response, parking);
  }
  if (parking.parked()) {
    check_.counts.EndParked(started_ns);
    return false;
  }
  HttpCall context = call.Context();
  check_.counts.End(context, started_ns, status);
  response.request_id = context.answered_id();
  FillFreno(status, check_.response, response);
  return true;
}

}  // namespace headgate::gateway
