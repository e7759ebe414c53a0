// Errors as callers get them: gRPC statuses with Google's details, and the Error of one item.
//
// The engine's messages name the field that is wrong: "target: no target 'x' is configured". Here
// that becomes a google.rpc.BadRequest. Whatever a caller sent that comes back in a message is cut
// to a few hundred bytes, because gRPC's clients refuse larger trailers.
//
// Pure functions.
//
//   if (absl::Status status = engine.Check(...); !status.ok()) return ToGrpcStatus(status);

#ifndef HEADGATE_SERVER_RPC_ERRORS_H_
#define HEADGATE_SERVER_RPC_ERRORS_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/engine/rule_set.h"

namespace headgate::rpc {

// INVALID_ARGUMENT about one field. What is wrong is cut to `max_bytes`, at most 1,500.
grpc::Status FieldError(std::string_view field, std::string_view what, size_t max_bytes = 400);

// RESOURCE_EXHAUSTED, try again in a second.
grpc::Status Overloaded(std::string_view reason, std::string_view what);

// For what is wrong with neither a field nor the engine; UNAVAILABLE asks to try again in a second.
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

// Which Check or report an error is about.
struct Subject {
  std::string_view path = {};  // such as "checks[3]"; empty: the request itself
  // The Check's, since the engine knows tags by their place only, and callers by their key.
  absl::Span<const engine::Tag> tags = {};
};

// An error of the engine's.
grpc::Status ToGrpcStatus(const absl::Status& status, const Subject& subject);
// The same for one item of several.
void FillError(const absl::Status& status, const Subject& subject, v1::Error& error);

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_ERRORS_H_
