// Sums over the throttle log, for a person.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <cstdint>
#include <string>

#include "client/cli/arguments/log_arguments.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// A line about Checks that are not counted under their own identity; empty where there are none.
std::string FoldedText(int64_t checks);
// Of Checks that the answer lacks; empty where there are none.
std::string WaitingText(int64_t checks);

std::string SumsText(const v1::QueryThrottleLogResponse& sums, const LogArguments& log,
                     Colours colours);

}  // namespace headgate::cli
