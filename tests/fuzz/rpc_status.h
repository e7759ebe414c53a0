// What every RPC error promises: a code that callers know, details that can be read and say the
// same, a trailer that clients take, and, for a bad field, a path that exists in the request.
// Pure, but that it ends the program where that does not hold.
//
//   RequireAnswerable(status, *v1::CheckRequest::descriptor());

#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/fuzz/require.h"
#include "tests/testing/error_details.h"

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
  const auto details = ReadDetails(status);
  Require(details.has_value(), "details that cannot be read, or say something else: ", message);
  for (const std::string& field : details->fields) {
    Require(IsFieldOf(field, &request), "no field: ", field, " of ", request.full_name(), ": ",
            message);
  }
  Require(!details->reason.empty(), "an error without a reason: ", message);
}

}  // namespace headgate::fuzz
