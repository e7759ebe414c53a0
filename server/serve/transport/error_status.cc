#include "server/serve/transport/error_status.h"

#include <google/protobuf/stubs/common.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::transport {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kDomain[] = "headgate";
constexpr char kTooMuch[] = "TOO_MUCH";
constexpr int64_t kRetrySeconds = 1;

bool MayHelpLater(absl::StatusCode code, const std::string& reason) {
  return code == absl::StatusCode::kUnavailable ||
         (code == absl::StatusCode::kResourceExhausted && reason != kTooMuch);
}

bool IsUtf8(const std::string& text) {
  return google::protobuf::internal::IsStructurallyValidUTF8(text.data(),
                                                             static_cast<int>(text.size()));
}

std::string FindBadText(const Message& message);

// Whether one value of a field is, or holds, a string that is not UTF-8; `inner` is its path within
// the value.
bool IsBad(const Message& message, const FieldDescriptor* field, int place, std::string& inner) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return !IsUtf8(field->is_repeated() ? reflection.GetRepeatedString(message, field, place)
                                        : reflection.GetString(message, field));
  }
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return false;
  inner = FindBadText(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, place)
                                           : reflection.GetMessage(message, field));
  return !inner.empty();
}

// Path of the first string that is not UTF-8; empty if there is none. Maps are not looked at: an
// entry that cannot be parsed is not in them.
std::string FindBadText(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_map()) continue;
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      std::string inner;
      if (!IsBad(message, field, i, inner)) continue;
      return absl::StrCat(field->name(), field->is_repeated() ? absl::StrCat("[", i, "]") : "",
                          inner.empty() ? "" : ".", inner);
    }
  }
  return "";
}

}  // namespace

std::string Clip(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes;
  const auto inside_a_character = [&] { return (text[end] & 0xc0) == 0x80; };
  while (end > 0 && inside_a_character()) --end;
  return absl::StrCat(Sv(text.substr(0, end)), "...");
}

std::string Joined(const Fault& fault) {
  if (fault.field.empty() || fault.what.starts_with("identity ")) return fault.what;
  return absl::StrCat(fault.field, ": ", fault.what);
}

grpc::Status MakeStatus(absl::StatusCode code, const std::string& reason, const Fault& fault,
                        size_t max_bytes) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(code));
  status.set_message(Clip(Joined(fault), max_bytes));
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kDomain);
  status.add_details()->PackFrom(info);
  if (!fault.field.empty()) {
    google::rpc::BadRequest bad;
    auto& violation = *bad.add_field_violations();
    violation.set_field(fault.field);
    violation.set_description(Clip(fault.what, max_bytes));
    status.add_details()->PackFrom(bad);
  }
  if (MayHelpLater(code, reason)) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(kRetrySeconds);
    status.add_details()->PackFrom(retry);
  }
  // Abseil's codes are gRPC's.
  return {static_cast<grpc::StatusCode>(code), status.message(), status.SerializeAsString()};
}

grpc::Status FieldError(std::string_view field, std::string_view what, size_t max_bytes) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                    {std::string(field), std::string(what)}, max_bytes);
}

grpc::Status Overloaded(std::string_view reason, std::string_view what) {
  return MakeStatus(absl::StatusCode::kResourceExhausted, std::string(reason),
                    {"", std::string(what)});
}

grpc::Status Failure(absl::StatusCode code, std::string_view reason, std::string_view what) {
  return MakeStatus(code, std::string(reason), {"", std::string(what)});
}

grpc::Status TooMuch(std::string_view what) {
  return MakeStatus(absl::StatusCode::kResourceExhausted, kTooMuch, {"", std::string(what)});
}

grpc::Status HealthPortError() {
  return Failure(absl::StatusCode::kPermissionDenied, "HEALTH_PORT",
                 "this port answers grpc.health.v1 only; the others are called over TLS");
}

grpc::Status ShuttingDown() {
  return Failure(absl::StatusCode::kUnavailable, "SHUTTING_DOWN", "the server is shutting down");
}

grpc::Status MalformedError(const Message& partial) {
  const std::string field = FindBadText(partial);
  if (!field.empty()) return FieldError(field, "is not UTF-8");
  return MakeStatus(
      absl::StatusCode::kInvalidArgument, "MALFORMED_MESSAGE",
      {"", absl::StrCat("the request's bytes are no ", partial.GetDescriptor()->full_name(),
                        ": cut short, compressed, or a text in it is not UTF-8")});
}

grpc::Status CompressedError() {
  return Failure(absl::StatusCode::kUnimplemented, "COMPRESSED_MESSAGE",
                 "the server takes no compressed messages: send them without compression "
                 "(grpc-encoding: identity)");
}

grpc::Status TooManyPartsError(size_t most) {
  return Failure(
      absl::StatusCode::kInvalidArgument, "TOO_MANY_PARTS",
      absl::StrCat("the request has more than ", most,
                   " fields, those of messages within it counted: send fewer at a time"));
}

}  // namespace headgate::transport
