// The throttle log for programs: the same columns whatever is asked.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include "client/cli/output/table.h"

namespace headgate::cli {

Table IntervalsCsv(const v1::ListThrottledIntervalsResponse& intervals);
Table SumsCsv(const v1::QueryThrottleLogResponse& sums);
Table DenialsCsv(const v1::ListDenialsResponse& denials);

}  // namespace headgate::cli
