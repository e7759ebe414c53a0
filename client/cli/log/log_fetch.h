// Lists of the throttle log, read page after page.
//
// Errors are Connection's. Thread-safe.
//
//   const auto sums = FetchSums(connection, request, arguments.past.limit);

#ifndef HEADGATE_CLIENT_CLI_LOG_LOG_FETCH_H_
#define HEADGATE_CLIENT_CLI_LOG_LOG_FETCH_H_

#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <optional>

#include "absl/status/statusor.h"
#include "client/cli/connection/connection.h"

namespace headgate::cli {

// All pages in one response, or the first `limit` rows; then next_page_token says if there are
// more.
absl::StatusOr<v1::QueryThrottleLogResponse> FetchSums(Connection& connection,
                                                       v1::QueryThrottleLogRequest request,
                                                       std::optional<int> limit);
absl::StatusOr<v1::ListThrottledIntervalsResponse> FetchIntervals(
    Connection& connection, v1::ListThrottledIntervalsRequest request, std::optional<int> limit);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_LOG_LOG_FETCH_H_
