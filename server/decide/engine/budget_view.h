// Budgets and buckets as a status page shows them, and as the controller of an auto budget reads
// them.
//
// Plain data, thread-compatible. Costs, debts and bursts are in the budget's unit.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

// What an auto budget's Checks and Reports have come to since the budget was made. Wrong numbers of
// one reading do not matter to a controller, so no two of them are of exactly one instant.
struct AutoActivity {
  uint64_t checks = 0;       // denied ones and explanations included
  uint64_t reports = 0;      // settled permits: about one transaction each
  double reported_cost = 0;  // of those, busy seconds
  int64_t outstanding = 0;   // permits; counted only where max_concurrency is set
};

// One budget on one target.
struct BudgetView {
  std::string target;
  std::string budget;
  Mode mode = Mode::kEnforce;
  SplitSpec split;
  std::string health;          // the profile whose clock its buckets live on; empty: real time
  std::optional<double> rate;  // of its unit a second at speed 1; of an auto budget, what was found
  bool is_auto = false;
  BudgetUnit unit = BudgetUnit::kCost;  // of rate, burst, debt and max_cost
  std::optional<double> burst;
  double debt = 0;   // of its one bucket, or of the fullest
  double speed = 1;  // of its clock; 1 for an auto budget, whose speed is its rate
  size_t buckets_owing = 0;
  size_t buckets = 0;                  // room, of a split budget
  uint64_t live_evictions = 0;         // debts that were inherited, likewise
  std::optional<int64_t> outstanding;  // permits; absent for split budgets and uncounted ones
  std::optional<int64_t> max_concurrency;
  std::optional<double> max_cost;
  uint64_t overruns = 0;   // Reports that were not charged in full (BudgetSpec::max_overrun)
  double overrun_sum = 0;  // what they were not charged, in its unit
  AutoActivity activity;   // of an auto budget that is not split
  bool is_charged = true;  // by some rule, on this target, as things are
};

// One bucket of a split budget that owes something.
struct FullBucket {
  std::string target;
  std::string budget;
  std::string bucket;  // level or tag value; empty where the name is not known
  BudgetUnit unit = BudgetUnit::kCost;
  double debt = 0;
  double fill = 0;          // debt / burst
  absl::Duration empty_in;  // at the present speed; infinite: never
};

}  // namespace headgate::engine
