// What an RPC error says besides its code and message.
//
//   Require(ReadDetails(status).has_value(), "details that cannot be read");

#pragma once

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headgate {

struct ErrorDetails {
  std::string reason;
  std::string domain;
  std::map<std::string, std::string> metadata;  // what goes with the reason
  std::vector<std::string> fields;
  std::string description;  // of the last field
  bool retry = false;
  int parts = 0;  // this much is said in all
};

// Nothing where they cannot be read, or do not say the same as the status.
inline std::optional<ErrorDetails> ReadDetails(const grpc::Status& status) {
  google::rpc::Status decoded;
  if (!decoded.ParseFromString(status.error_details()) ||
      decoded.code() != static_cast<int>(status.error_code()) ||
      decoded.message() != status.error_message()) {
    return std::nullopt;
  }
  ErrorDetails details;
  details.parts = decoded.details_size();
  for (const google::protobuf::Any& any : decoded.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (any.UnpackTo(&info)) {
      details.reason = info.reason();
      details.domain = info.domain();
      details.metadata = {info.metadata().begin(), info.metadata().end()};
    }
    if (any.UnpackTo(&bad)) {
      for (const auto& violation : bad.field_violations()) {
        details.fields.push_back(violation.field());
        details.description = violation.description();
      }
    }
    details.retry |= any.Is<google::rpc::RetryInfo>();
  }
  return details;
}

}  // namespace headgate
