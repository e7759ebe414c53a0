// Between the client's types and the protocol's. Pure functions.

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/check.h>
#include <headgate/transport.h>
#include <headgate/v1/throttler_service.pb.h>

#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headgate::client::internal {

v1::CheckRequest ToProto(const CheckRequest& request);
v1::CheckRequest ToProto(const LeaseWatch& watch);
v1::PermitReport ToProto(const PermitReport& report);

// Internal for an answer without a verdict that this client understands.
absl::StatusOr<Answer> FromProto(const v1::CheckResponse& response);
absl::StatusOr<ReportResult> FromProto(const v1::ReportResult& result);

// With the retry delay that google.rpc.RetryInfo asks for.
absl::Status FromGrpc(const grpc::Status& status);
// The same of a call that ends with CANCELLED once `stop` is requested. Without that the server has
// cut it, as one may that stops: Unavailable, so that it is tried again.
absl::Status FromCall(const grpc::Status& status, const std::stop_token& stop);

}  // namespace headgate::client::internal
