// Questions to the throttle log, as callers send them, in its own terms.
//
// Everything is validated here: errors are InvalidArgument and name the field.
//
// Pure functions.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/remember/throttle_log/intervals.h"
#include "server/remember/throttle_log/query.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::rpc {

// Ok, or InvalidArgument: empty, "*" (counted under no identity), or an identity.
absl::Status ValidateSelector(const char* field, const std::string& identity);

// Ok, or InvalidArgument: empty, or a segment of an identity.
absl::Status ValidateSegment(const char* field, const std::string& segment);

// The filter, its period widened to whole steps of the log.
absl::StatusOr<throttle_log::ScanFilter> ToScanFilter(const v1::LogFilter& from,
                                                      const throttle_log::Retention& retention,
                                                      absl::Time now);

absl::StatusOr<throttle_log::SumQuery> ToSumQuery(const v1::QueryThrottleLogRequest& from,
                                                  const throttle_log::Retention& retention,
                                                  absl::Time now);

absl::StatusOr<throttle_log::IntervalQuery> ToIntervalQuery(
    const v1::ListThrottledIntervalsRequest& from, const throttle_log::Retention& retention,
    absl::Time now);

}  // namespace headgate::rpc
