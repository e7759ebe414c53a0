// The throttle log for programs: the same columns whatever is asked.
//
// Pure functions; thread-safe.

#ifndef HEADGATE_CLIENT_CLI_LOG_LOG_CSV_H_
#define HEADGATE_CLIENT_CLI_LOG_LOG_CSV_H_

#include <headgate/v1/throttle_log_service.pb.h>

#include "client/cli/output/table.h"

namespace headgate::cli {

Table IntervalsCsv(const v1::ListThrottledIntervalsResponse& intervals);
Table SumsCsv(const v1::QueryThrottleLogResponse& sums);
Table DenialsCsv(const v1::ListDenialsResponse& denials);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_LOG_LOG_CSV_H_
