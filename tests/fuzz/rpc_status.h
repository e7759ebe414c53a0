// What every RPC error promises: a code that callers know, details that can be read and say the
// same, a trailer that clients take, and, for a bad field, a path that exists in the request.
// Pure, but that it ends the program where that does not hold.
//
//   RequireAnswerable(status, *v1::CheckRequest::descriptor());

#pragma once

#include <google/protobuf/descriptor.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/fuzz/require.h"

namespace headgate::fuzz {

inline bool IsFieldOf(const std::string& path, const google::protobuf::Descriptor* type) {
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    if (type == nullptr) return false;
    const auto* field = type->FindFieldByName(part.substr(0, part.find('[')));
    const auto* oneof = type->FindOneofByName(part);
    if (field == nullptr && oneof == nullptr) return false;
    type = field == nullptr ? nullptr : field->message_type();
  }
  return true;
}

inline void RequireAnswerable(const grpc::Status& status,
                              const google::protobuf::Descriptor& request) {
  if (status.ok()) return;
  const std::string& message = status.error_message();
  const auto code = status.error_code();
  Require(code == grpc::StatusCode::INVALID_ARGUMENT || code == grpc::StatusCode::NOT_FOUND ||
              code == grpc::StatusCode::RESOURCE_EXHAUSTED,
          "code ", static_cast<int>(code), ": ", message);
  Require(!message.empty() && message.size() <= 1600, "a message of ", message.size(), " bytes");
  // gRPC's clients refuse more than 8 kB of metadata.
  Require(status.error_details().size() < 4096, "details of ", status.error_details().size());
  google::rpc::Status decoded;
  Require(decoded.ParseFromString(status.error_details()), "details that cannot be read");
  Require(decoded.code() == static_cast<int>(code) && decoded.message() == message,
          "details that say something else: ", decoded.message());
  bool has_reason = false;
  for (const google::protobuf::Any& any : decoded.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (any.UnpackTo(&info)) has_reason = !info.reason().empty();
    if (!any.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) {
      Require(IsFieldOf(violation.field(), &request), "no field: ", violation.field(), " of ",
              request.full_name(), ": ", message);
    }
  }
  Require(has_reason, "an error without a reason: ", message);
}

}  // namespace headgate::fuzz
