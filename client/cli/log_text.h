// What the throttle log holds, for a person and in CSV.
//
// Pure functions; thread-safe.

#ifndef HEADGATE_CLIENT_CLI_LOG_TEXT_H_
#define HEADGATE_CLIENT_CLI_LOG_TEXT_H_

#include <headgate/v1/throttle_log_service.pb.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/cli/log_arguments.h"
#include "client/cli/table.h"

namespace headgate::cli {

// "WOULD_BE_DENIED".
std::string Word(v1::Outcome outcome);

// "94 %" of a whole that is not 0: all and nothing look like it only where it is so.
std::string Percent(int64_t part, int64_t whole);
Paint PaintOfDenied(int64_t denied, int64_t whole);

// What denied: "replication_lag_seconds on standby-2", "budget 'rows': burst".
std::string CauseText(const v1::DenialCause& cause);
// How far it went: "7.1 s over hard 5 s"; empty where there is nothing to compare.
std::string PeakText(const v1::DenialCause& cause);

// A line about Checks that are not counted under their own identity; empty where there are none.
std::string FoldedText(int64_t checks);

// Who is asked about, as the subject of a sentence: "job-7:etl on main", "work".
std::string SubjectText(const PastArguments& past, const std::string& target);

// All that was asked for by whom the question is about.
struct LookedAt {
  absl::Time from;
  absl::Time to;
  v1::LogSum sum = {};      // where reasons, budgets or signals are named, denied by those
  int64_t denied_else = 0;  // by others
};

// Times in which identities were held back, after a sentence about the whole. All intervals are
// summed up, and log.past.limit of them are shown.
std::string IntervalsText(const v1::ListThrottledIntervalsResponse& intervals,
                          const LookedAt& looked_at, const LogArguments& log,
                          const std::string& target, Colours colours);
Table IntervalsCsv(const v1::ListThrottledIntervalsResponse& intervals);

std::string SumsText(const v1::QueryThrottleLogResponse& sums, const LogArguments& log,
                     Colours colours);
Table SumsCsv(const v1::QueryThrottleLogResponse& sums);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_LOG_TEXT_H_
