// An interval in one sentence, for a person:
//
//   07:00–07:25 UTC, waited 82 % of the time (31 s a chunk), by replication_lag_seconds on s1
//   07:00–07:25 UTC, 94 % denied (1,410 of 1,500), by replication_lag_seconds on standby-2, 7.1 s
//   over hard 5 s
//
// Pure functions.

#pragma once

#include <string>

#include "server/remember/throttle_log/intervals.h"

namespace headgate::throttle_log {

std::string Sentence(const Interval& interval);

// What one cause was: "replication_lag_seconds on standby-2, 7.1 s over hard 5 s".
std::string Describe(const CauseCount& cause);

}  // namespace headgate::throttle_log
