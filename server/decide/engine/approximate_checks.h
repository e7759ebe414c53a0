// May this work be done now, where nobody who knows the buckets can be asked?
//
// Rules, dice, health gates, max_cost and costs above a burst are examined as ever. What a bucket
// owes is not known, nor which permits are out: in their place somebody else is asked
// (ApproximateBuckets), who knows no more than each budget's rate. Where max_concurrency is set, or
// the rate of an auto budget was never known here, the Check is denied.
//
// An admitted Check charges no bucket of the engine and has no permit. Its reason is kApproximate,
// unless there is no limit that it could have met. What was admitted is charged to the buckets
// later, by whoever decides for the target then: as if it had been at that time, and at most until
// the bucket is full.
//
// Thread-safe.
//
//   ApproximateChecks checks(core);
//   absl::Status status = checks.Check({request, buckets}, now, answer);

#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/resolve.h"

namespace headgate::engine {

// One bucket that a Check would be charged to.
struct ApproximateBucket {
  std::string_view budget;
  uint64_t key = 0;     // of target, budget and bucket
  uint64_t bucket = 0;  // within the budget; the same at all servers of one seed
  double cost = 0;      // in the budget's unit
  double rate = 0;      // of the budget, in units a second as things are; above 0
  bool warn = false;    // its budget only warns
  // What is said of it.
  bool refuses = false;
  double share = 0;                 // units a second that are this server's
  absl::Duration retry_after = {};  // above zero, where it refuses
};

// A Check that has met no other limit.
struct ApproximateCheck {
  std::string_view target;
  absl::Span<ApproximateBucket> buckets;
  double luck = 0;         // from [0, 1); the same at all servers within a second of wall time
  bool only_asks = false;  // and is not admitted
  Now now;
};

class ApproximateBuckets {
 public:
  virtual ~ApproximateBuckets() = default;
  // Says of each bucket whether it refuses. A Check that none of those refuses which deny counts as
  // admitted. Called by any thread.
  virtual void Examine(const ApproximateCheck& check) = 0;
};

// What was admitted of one bucket of a target.
struct ApproximateCharge {
  std::string_view budget;
  uint64_t bucket = 0;
  double cost = 0;            // in the budget's unit
  double undrained = 0;       // of it, at the rate at which it was admitted
  absl::Duration since = {};  // the first of it
};

class ApproximateChecks {
 public:
  explicit ApproximateChecks(EngineCore& core) : core_(core) {}

  struct Asked {
    const CheckRequest& request;
    ApproximateBuckets& buckets;
    bool only_asks = false;
  };
  // Errors are those of Checks::Check, but for ResourceExhausted.
  absl::Status Check(const Asked& asked, Now now, CheckAnswer& answer);

  // Returns how many of them meant nothing here: the budget is gone, or has no rate any more.
  // NotFound: the target.
  absl::StatusOr<int> Charge(std::string_view target, absl::Span<const ApproximateCharge> charges,
                             Now now);

 private:
  absl::Status Decide(const Asked& asked, const PolicyRef& policy, Now now, CheckAnswer& answer);
  double LuckOf(const CheckRequest& request, Now now);

  EngineCore& core_;
};

}  // namespace headgate::engine
