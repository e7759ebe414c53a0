// Heat strips: for each identity a line over time, darker where more of it was denied.
//
// Pure functions; thread-safe.
//
//   const absl::Duration step = HeatStep(to - from, to - from > absl::Hours(24), columns);
//   console.out << HeatText(sums, {.step = step, .columns = columns}, colours);

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

struct HeatOptions {
  absl::Duration step;
  absl::TimeZone zone;
  size_t columns = 80;
  int most = 40;  // lines
};

// The shortest usual step with which so much time fits into a window of so many columns. A log
// keeps what is older than a day in coarser steps, and shorter ones would only show its gaps.
enum class LogAge { kFresh, kCoarse };
absl::Duration HeatStep(absl::Duration span, LogAge age, size_t columns);

// InvalidArgument where steps make lines that nobody could look at; it says which would fit.
absl::Status CheckHeat(absl::Duration span, LogAge age, const HeatOptions& options);

// `sums` are by identity and step. Lines with the most denials come first.
std::string HeatText(const v1::QueryThrottleLogResponse& sums, const HeatOptions& options,
                     Colours colours);

}  // namespace headgate::cli
