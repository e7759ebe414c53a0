// What another configuration would have done, for a person and in CSV.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <string>

#include "client/cli/arguments/log_arguments.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// Those that change most come first, in either direction.
void SortByChange(v1::ReplayThrottleLogResponse& replayed);

// Takes a sorted response. Identities that would not change are only counted.
std::string ReplayText(const v1::ReplayThrottleLogResponse& replayed,
                       const ReplayArguments& arguments, Colours colours);
Table ReplayCsv(const v1::ReplayThrottleLogResponse& replayed);

}  // namespace headgate::cli
