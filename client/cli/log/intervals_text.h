// When identities were held back, for a person.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "client/cli/arguments/log_arguments.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// What the log has of those whom the question is about.
struct LogTotals {
  absl::Time from;
  absl::Time to;
  v1::LogSum sum = {};      // where reasons, budgets or signals are named, denied by those
  int64_t denied_else = 0;  // by others
};

// Times in which identities were held back, after a sentence about the whole. All intervals are
// summed up, and log.past.limit of them are shown.
std::string IntervalsText(const v1::ListThrottledIntervalsResponse& intervals,
                          const LogTotals& totals, const LogArguments& log,
                          const std::string& target, Colours colours);

}  // namespace headgate::cli
