// What becomes of callers while servers die, stop and come back: three headgateds that share
// targets through a PostgreSQL, and callers that count.
//
// Times are of one round each, in milliseconds.
//
//   const Failovers found = MeasureFailovers(20);

#pragma once

#include <cstdint>
#include <vector>

namespace headgate::bench {

struct Failovers {
  std::vector<double> crash_ms;  // from SIGKILL to the owner to the next decision, asked elsewhere
  std::vector<double> planned_ms;  // the longest that a Check took while the owner stopped
  int64_t failed_planned = 0;      // Checks that failed meanwhile, without a second try
  // What callers were admitted beyond what one server promises.
  double over_admitted = 0;
  double store_statements_per_server_s = 0;
  double state_bytes_per_s = 0;  // of a target with 10,000 buckets that change all the time
};

enum class FailoverParts : uint8_t {
  kAll = 1,
  kHandovers,  // the owner stops, and nothing else
};

Failovers MeasureFailovers(int rounds, FailoverParts parts = FailoverParts::kAll);

}  // namespace headgate::bench
