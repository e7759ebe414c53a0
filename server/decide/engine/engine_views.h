// What is shown of an engine: counts, budgets, the fullest buckets, and who holds permits and
// leases.
//
// Reads whole tables: for status pages, metrics and controllers, not for the path of a Check.
//
// Thread-safe. What is read changes meanwhile: figures of one view need not be of one instant.
//
//   for (const BudgetView& budget : EngineViews(core).ReadBudgets(now)) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/decide/engine/budget_view.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/lease_view.h"
#include "server/decide/engine/permit_holders.h"

namespace headgate::engine {

struct EngineStats {
  size_t permits_live = 0;
  size_t buckets = 0;  // room, in split budgets
  size_t buckets_owing = 0;
  uint64_t live_evictions = 0;  // debts that were inherited
  size_t request_ids = 0;
};
struct PermitStats {
  size_t capacity = 0;
  size_t live = 0;
  size_t overdue = 0;           // expired, not reported, and still known
  uint64_t abandoned = 0;       // expired, and forgotten before a Report came
  uint64_t recycled_early = 0;  // lost their place to one of the same holder before their time
  int64_t turned_away = 0;      // Checks, by the share of their holder or a full table
  int64_t without = 0;          // Checks that were charged, and could do without a permit
  double max_share = 0;         // of one holder, alone
  int64_t most_for_one = 0;     // that one who has none could come to now
};

// Which buckets to read: empty names are of all.
struct FullestQuery {
  std::string_view target = {};
  std::string_view budget = {};
  size_t most = 0;
};

class EngineViews {
 public:
  explicit EngineViews(const EngineCore& core) : core_(core) {}

  // Of memory, for what is kept besides the tables that options and policy fix. Two loads.
  int64_t held_bytes() const { return core_.costs.held_bytes() + core_.requests.held_bytes(); }
  EngineStats ReadStats(Now now) const;
  PermitStats ReadPermitStats(Now now) const;
  // Who has permits, or was turned away: most permits first.
  std::vector<PermitHolderView> ReadPermitHolders(size_t most) const {
    return core_.permits.holders().Top(most);
  }
  // All budgets on all targets, in the policy's order.
  std::vector<BudgetView> ReadBudgets(Now now) const;
  // The buckets of split budgets that owe most, fullest first.
  std::vector<FullBucket> ReadFullestBuckets(const FullestQuery& query, Now now) const;
  // Who holds leases, in one walk over the permits.
  LeasesView ReadLeases(const LeaseQuery& query, Now now) const;
  // What the controller of an auto budget reads, many times a second. NotFound as FindAutoBudget.
  absl::StatusOr<AutoActivity> ReadAutoActivity(std::string_view target, std::string_view budget,
                                                Now now) const;

 private:
  const EngineCore& core_;
};

}  // namespace headgate::engine
