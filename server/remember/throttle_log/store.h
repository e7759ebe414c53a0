// Where the throttle log is kept: SQLite (sqlite_store.h), or a PostgreSQL database
// (server/observe/postgres/log_store.h).
//
// Thread-safe. Append and Maintain are called by the log's writer alone; Scan by anybody, and it
// sees whole batches.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/decide/engine/answer.h"
#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

// What is kept of the counts, in which steps, and how long.
struct Retention {
  absl::Duration step = absl::Seconds(10);         // whole seconds; divides coarse_step
  absl::Duration coarse_step = absl::Minutes(5);   // of what is older than coarsen_after
  absl::Duration coarsen_after = absl::Hours(24);  //
  absl::Duration keep_for = absl::Hours(24 * 30);
  int64_t max_bytes = int64_t{1} << 30;  // beyond it the oldest goes first
};

// What to read. All that is set must hold; empty lists take everything.
struct ScanFilter {
  int64_t from_s = 0;    // steps that begin at or after
  int64_t to_s = 0;      // and before
  std::string identity;  // selector: this level and everything below it
  std::string segment;   // any identity that has this segment
  std::string target;
  std::string server;
  std::vector<Outcome> outcomes;
  std::vector<engine::Reason> reasons;
  std::vector<std::string> budgets;
  std::vector<std::string> signals;  // instances; a signal's name alone takes all its instances
  // Rows of one key are added up over steps of so long, which the store does faster than its
  // caller; 0: as they are. A multiple of the log's steps, or more than to_s - from_s for one sum.
  int64_t sum_over_s = 0;
};

struct StoreState {
  absl::Status status;  // of the newest write
  int64_t rows = 0;     // estimated
  int64_t bytes = 0;    // on disk
  absl::Time oldest = absl::InfiniteFuture();
  std::string set_aside = {};  // where the newest damaged file of this run is now; empty: none
  std::string note = {};       // what is worth knowing of how it is reached; empty: nothing
};

class Store {
 public:
  virtual ~Store() = default;

  // Adds to what stands under the same step and key: all rows or none. `batch` counts up; the one
  // that was written last is not added again, so that a caller who does not know whether it got
  // through may repeat it. Unavailable, ResourceExhausted (disk full), DataLoss (corrupt).
  virtual absl::Status Append(absl::Span<const Row> rows, int64_t batch) = 0;

  // Calls `visit` with rows in order of time, then identity, until it returns false. The first row
  // of a step that straddles from_s is left out. Unavailable, DataLoss.
  virtual absl::Status Scan(const ScanFilter& filter,
                            absl::FunctionRef<bool(const Row&)> visit) const = 0;

  // Makes old steps coarser and drops what is too old or too much. Some of the work at a time:
  // called once in a while, returns within about a second.
  virtual absl::Status Maintain(absl::Time now) = 0;

  virtual StoreState State() const = 0;
};

}  // namespace headgate::throttle_log
