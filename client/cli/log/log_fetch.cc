#include "client/cli/log/log_fetch.h"

#include <utility>

#include "client/cli/connection/fetch_pages.h"

namespace headgate::cli {
namespace {

using Stub = v1::ThrottleLogService::Stub;

constexpr int kMaxSums = 10'000;
constexpr int kMaxIntervals = 1'000;

}  // namespace

absl::StatusOr<v1::QueryThrottleLogResponse> FetchSums(Connection& connection,
                                                       v1::QueryThrottleLogRequest request,
                                                       std::optional<int> limit) {
  return FetchPages(connection, &Stub::QueryThrottleLog, std::move(request),
                    {.max_in_page = kMaxSums, .limit = limit},
                    [](const auto& response) { return response.sums_size(); });
}

absl::StatusOr<v1::ListThrottledIntervalsResponse> FetchIntervals(
    Connection& connection, v1::ListThrottledIntervalsRequest request, std::optional<int> limit) {
  return FetchPages(connection, &Stub::ListThrottledIntervals, std::move(request),
                    {.max_in_page = kMaxIntervals, .limit = limit},
                    [](const auto& response) { return response.intervals_size(); });
}

}  // namespace headgate::cli
