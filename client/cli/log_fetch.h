// Questions to the throttle log, and whole answers.
//
// Thread-compatible.
//
//   const auto filter = ToFilter(arguments.past, globals.target, now);
//   const auto sums = FetchSums(connection, request, arguments.past.limit);

#ifndef HEADGATE_CLIENT_CLI_LOG_FETCH_H_
#define HEADGATE_CLIENT_CLI_LOG_FETCH_H_

#include <google/protobuf/timestamp.pb.h>
#include <headgate/v1/throttle_log_service.pb.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/connection.h"
#include "client/cli/log_arguments.h"

namespace headgate::cli {

absl::TimeZone ZoneOf(const PastArguments& past);

// InvalidArgument where what is looked at ends before it begins.
absl::StatusOr<v1::LogFilter> ToFilter(const PastArguments& past, const std::string& target,
                                       absl::Time now);
// The same, with what narrows it down further.
absl::StatusOr<v1::LogFilter> ToFilter(const LogArguments& log, const std::string& target,
                                       absl::Time now);

// All pages in one response, or the first `limit` rows; then next_page_token says if there are
// more.
absl::StatusOr<v1::QueryThrottleLogResponse> FetchSums(Connection& connection,
                                                       v1::QueryThrottleLogRequest request,
                                                       std::optional<int> limit);
absl::StatusOr<v1::ListThrottledIntervalsResponse> FetchIntervals(
    Connection& connection, v1::ListThrottledIntervalsRequest request, std::optional<int> limit);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_LOG_FETCH_H_
