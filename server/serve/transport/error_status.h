// Errors as callers get them: gRPC statuses with Google's details, google.rpc.ErrorInfo, BadRequest
// and RetryInfo.
//
// Whatever a caller sent that comes back in a message is cut to a few hundred bytes, because gRPC's
// clients refuse larger trailers.
//
// Pure functions.
//
//   if (from >= to) return FieldError("to", "must be later than `from`");

#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace headgate::transport {

inline constexpr size_t kMaxErrorBytes = 400;

// What is wrong, and with which field; empty where it is about none.
struct Fault {
  std::string field;
  std::string what;
};

// "field: what", where there is a field that `what` does not name itself.
std::string Joined(const Fault& fault);
// At most so many bytes, and "..." where that is not all. No character is cut in two.
std::string Clip(std::string_view text, size_t max_bytes = kMaxErrorBytes);

// `reason` is UPPER_SNAKE_CASE, for programs. What is wrong is cut to `max_bytes`, at most 1,500.
grpc::Status MakeStatus(absl::StatusCode code, const std::string& reason, const Fault& fault,
                        size_t max_bytes = kMaxErrorBytes);

// INVALID_ARGUMENT about one field.
grpc::Status FieldError(std::string_view field, std::string_view what,
                        size_t max_bytes = kMaxErrorBytes);

// RESOURCE_EXHAUSTED, try again in a second.
grpc::Status Overloaded(std::string_view reason, std::string_view what);

// For what is wrong with no field; UNAVAILABLE asks to try again in a second.
grpc::Status Failure(absl::StatusCode code, std::string_view reason, std::string_view what);

// RESOURCE_EXHAUSTED, for what is too much however often it is asked for.
grpc::Status TooMuch(std::string_view what);

// PERMISSION_DENIED, for whatever but health is asked on the port for probes.
grpc::Status HealthPortError();

// UNAVAILABLE, for what ends because the server does.
grpc::Status ShuttingDown();

// INVALID_ARGUMENT about bytes that are no such message; it names the first string that is not
// UTF-8, if that is the reason. `partial` is what could be read.
grpc::Status MalformedError(const google::protobuf::Message& partial);

// UNIMPLEMENTED, for a compressed request, as gRPC has it for an encoding that a server lacks.
grpc::Status CompressedError();

// INVALID_ARGUMENT, for a request whose fields are more than `most`.
grpc::Status TooManyPartsError(size_t most);

}  // namespace headgate::transport
