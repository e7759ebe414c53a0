#include "server/serve/gateway/http_answer.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <algorithm>
#include <optional>

#include "server/serve/transport/error_status.h"

namespace headgate::gateway {
namespace {

constexpr int kOk = 200;
constexpr int kDenied = 429;

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (status.error_details().empty() || !details.ParseFromString(status.error_details())) {
    details.Clear();
    details.set_code(status.error_code());
    details.set_message(status.error_message());
  }
  return details;
}

// When to ask again; nothing: it does not say.
std::optional<int64_t> RetryAfterOf(const google::rpc::Status& details) {
  for (const google::protobuf::Any& detail : details.details()) {
    google::rpc::RetryInfo retry;
    if (detail.UnpackTo(&retry)) return WholeSeconds(retry.retry_delay());
  }
  return std::nullopt;
}

int StatusOfCode(int code, bool may_help_later) {
  switch (static_cast<grpc::StatusCode>(code)) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::OUT_OF_RANGE:
      return 400;
    case grpc::StatusCode::UNAUTHENTICATED:
      return 401;
    case grpc::StatusCode::PERMISSION_DENIED:
      return 403;
    case grpc::StatusCode::NOT_FOUND:
      return 404;
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::ALREADY_EXISTS:
      return 409;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return may_help_later ? 503 : 400;
    case grpc::StatusCode::CANCELLED:
      return 499;
    case grpc::StatusCode::UNIMPLEMENTED:
      return 501;
    case grpc::StatusCode::UNAVAILABLE:
      return 503;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

int64_t WholeSeconds(const google::protobuf::Duration& duration) {
  return std::max<int64_t>(duration.seconds() + (duration.nanos() > 0 ? 1 : 0), 1);
}

int HttpStatusOf(const grpc::Status& status) {
  if (status.ok()) return kOk;
  return StatusOfCode(status.error_code(), RetryAfterOf(DetailsOf(status)).has_value());
}

void FillError(const grpc::Status& status, http::Response& response) {
  const google::rpc::Status details = DetailsOf(status);
  const std::optional<int64_t> retry_after_s = RetryAfterOf(details);
  response.status = StatusOfCode(status.error_code(), retry_after_s.has_value());
  response.retry_after_s = retry_after_s.value_or(0);
  json::JsonWriter().Append(details, response.body);
}

void FillAnswer(const grpc::Status& status, const google::protobuf::Message& message,
                json::JsonWriter& writer, http::Response& response) {
  if (!status.ok()) return FillError(status, response);
  if (message.GetDescriptor() == v1::CheckResponse::descriptor()) {
    const v1::Decision& decision = static_cast<const v1::CheckResponse&>(message).decision();
    if (decision.verdict() == v1::VERDICT_DENIED) {
      response.status = kDenied;
      if (decision.has_retry_after()) response.retry_after_s = WholeSeconds(decision.retry_after());
    }
  }
  writer.Append(message, response.body);
}

grpc::Status ToStatus(const json::JsonFault& fault) {
  if (fault.too_many) {
    return transport::Failure(absl::StatusCode::kInvalidArgument, "TOO_MANY_PARTS", fault.what);
  }
  if (!fault.field.empty()) return transport::FieldError(fault.field, fault.what);
  return transport::Failure(absl::StatusCode::kInvalidArgument, "MALFORMED_MESSAGE", fault.what);
}

}  // namespace headgate::gateway
