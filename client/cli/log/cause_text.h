// What denied, and how far it went.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <string>

namespace headgate::cli {

// What denied: "replication_lag_seconds on standby-2", "budget 'rows': burst".
std::string CauseText(const v1::DenialCause& cause);
// How far it went: "7.1 s over hard 5 s"; empty where there is nothing to compare.
std::string PeakText(const v1::DenialCause& cause);

}  // namespace headgate::cli
