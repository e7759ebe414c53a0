// Lists of a server's overrides, read to their end, page after page.
//
// Errors are Connection's. Thread-safe.
//
//   Connection connection(globals);
//   absl::StatusOr<v1::ListOverridesResponse> all = ListOverrides(connection, {});

#pragma once

#include <headgate/v1/override_service.grpc.pb.h>

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/connection/connection.h"

namespace headgate::cli {

// Whether the override holds on this target; without one, on any.
bool IsOn(const v1::Override& override, const std::string& target);

absl::StatusOr<v1::ListOverridesResponse> ListOverrides(Connection& connection,
                                                        v1::ListOverridesRequest request);
// The newest `most` events; with a target, only those of overrides that hold there.
absl::StatusOr<v1::ListOverrideEventsResponse> ListEvents(Connection& connection,
                                                          v1::ListOverrideEventsRequest request,
                                                          const std::string& target, int most);

}  // namespace headgate::cli
