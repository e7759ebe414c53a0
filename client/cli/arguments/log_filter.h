// Which part of the throttle log the arguments mean, as the API takes it.
//
// Pure functions; thread-safe.
//
//   const auto filter = ToFilter(arguments.past, globals.target, now);

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/arguments/log_arguments.h"

namespace headgate::cli {

absl::TimeZone ZoneOf(const PastArguments& past);

// InvalidArgument where what is looked at ends before it begins.
absl::StatusOr<v1::LogFilter> ToFilter(const PastArguments& past, const std::string& target,
                                       absl::Time now);
// The same, with what narrows it down further.
absl::StatusOr<v1::LogFilter> ToFilter(const LogArguments& log, const std::string& target,
                                       absl::Time now);

}  // namespace headgate::cli
