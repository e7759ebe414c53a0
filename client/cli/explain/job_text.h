// What the server knows of the job itself, beside an Explain: how its newest Checks asked, and what
// became of them in the last hour.
//
// Pure functions but for FetchLastHour, which asks the throttle log.
//
//   const std::optional<v1::LogSum> hour = FetchLastHour(connection, check, now);
//   text += JobText({explanation, check, hour, now}, colours);

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// Absent where it cannot be known, such as without the grant to read the log.
std::optional<v1::LogSum> FetchLastHour(Connection& connection, const v1::CheckRequest& check,
                                        absl::Time now);

struct JobOfExplain {
  const v1::ExplainResponse& explanation;
  const v1::CheckRequest& check;
  const std::optional<v1::LogSum>& last_hour;
  absl::Time now;
};
// Empty where nothing is known.
std::string JobText(const JobOfExplain& job, Colours colours);

}  // namespace headgate::cli
