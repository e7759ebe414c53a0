// Budgets whose rate is `auto`: what their controller reads and sets.
//
// Pure functions of a policy and its ledgers; thread-safe.
//
//   absl::StatusOr<const Budget*> budget = FindAutoBudget(policy, "orders", "batch");

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/decide/engine/budget_view.h"
#include "server/decide/engine/decision.h"
#include "server/decide/engine/policy.h"

namespace headgate::engine {

// What was found for a budget whose rate is `auto`.
struct AutoRateSetting {
  double rate = 0;    // busy seconds a second, 0 to 1024
  bool shut = false;  // deny every Check: the foreground is being measured alone
  // Monotonic; when the controller will think again, so that no denial is told to wait for
  // longer. 0: not known.
  int64_t next_change_at_ns = 0;
  double chunk_seconds = 0;  // busy time that a chunk should take; 0: as usual, 5 to 50 ms
  // Busy seconds that may be owed where a Check begins. Below the burst it makes chunks start one
  // after another, at the rate, also after a pause in which all has drained.
  double start_level = std::numeric_limits<double>::infinity();
  // Permits that may be out at once, where that is less than max_concurrency: at least 1.
  int64_t most_permits = std::numeric_limits<int64_t>::max();
  // What the rate comes to over time, for those who look; absent: as it is now.
  std::optional<double> shown_rate = {};
  // Reports say less than what is seen at work: busy time is the time since the permit was
  // issued, where that is more.
  bool distrusts_reports = false;
};

// NotFound names what is unknown: the target, or a budget of that name with an auto rate.
absl::StatusOr<const Budget*> FindAutoBudget(const Policy& policy, std::string_view target,
                                             std::string_view budget);
// What happened at an auto budget, as its ledger counts it.
AutoActivity ActivityOf(const Tables& tables, const Budget& budget, const Now& now);

}  // namespace headgate::engine
