// How the throttle log fares, for whoever shows it: GetStatus and /metrics.
//
// ThrottleLogStatus in status_service.proto says what each field means. Plain data.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::throttle_log {

struct ThrottleLogSnapshot {
  std::string store;    // "memory", "sqlite" or "postgres"
  absl::Status status;  // of the newest write
  int64_t rows_written = 0;
  int64_t rows_buffered = 0;
  int64_t rows_dropped = 0;
  int64_t dropped_checks = 0;
  int64_t folded_checks = 0;
  int64_t bytes = 0;
  absl::Time oldest = absl::InfiniteFuture();  // infinite: nothing is kept
  std::string set_aside = {};                  // a damaged file; empty: none
  std::string note = {};                       // of how the store is reached; empty: nothing
};

}  // namespace headgate::throttle_log
