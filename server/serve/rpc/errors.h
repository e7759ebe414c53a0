// The engine's errors as callers get them: gRPC statuses, and the Error of one item of several.
//
// The engine's messages name the field that is wrong: "target: no target 'x' is configured". Here
// that becomes a google.rpc.BadRequest. Errors that are not the engine's: transport/error_status.h.
//
// Pure functions.
//
//   if (absl::Status status = engine.Check(...); !status.ok()) return ToGrpcStatus(status, {});

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/decide/engine/rule_set.h"

namespace headgate::rpc {

// Which Check or report an error is about.
struct Subject {
  std::string_view path = {};  // such as "checks[3]"; empty: the request itself
  // The Check's, since the engine knows tags by their place only, and callers by their key.
  absl::Span<const engine::Tag> tags = {};
};

grpc::Status ToGrpcStatus(const absl::Status& status, const Subject& subject);
// Why a change that is written down failed: where it cannot be written, the reason is STORE.
grpc::Status ChangeToGrpcStatus(const absl::Status& status);
// The same for one item of several.
void FillError(const absl::Status& status, const Subject& subject, v1::Error& error);

// UNAVAILABLE: whoever waited here for a target that another server decides for by now has to ask
// again.
grpc::Status OwnerChanged();
bool IsOwnerChanged(const grpc::Status& status);

}  // namespace headgate::rpc
