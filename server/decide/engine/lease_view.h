// Leases as operators see them: who holds how much, until when.
//
// Plain data, thread-compatible. Amounts are as the holders' Checks estimate them; costs in the
// unit of their budget.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

// What leases were charged to one budget.
struct LeaseCharge {
  std::string budget;
  BudgetUnit unit = BudgetUnit::kCost;
  double cost = 0;
};

// One lease.
struct LeaseView {
  double amount = 0;  // that was granted
  absl::Duration granted_ago;
  absl::Duration ends_in;  // below 0: its time is over, and it was not returned
  std::vector<LeaseCharge> charges;

  bool is_overdue() const { return ends_in <= absl::ZeroDuration(); }
};

// Leases together. One that is overdue was not returned in its time: it counts as used, unless it
// is returned late.
struct LeaseSums {
  int64_t holders = 0;  // of those that are not overdue
  int64_t leases = 0;   // likewise
  double amount = 0;    // of those
  int64_t overdue = 0;
  double overdue_amount = 0;
};

// All leases of one identity on one target.
struct LeaseHolderView {
  std::string target;
  // Empty: not known, as of leases from before a restart or a move; those are one of these
  // together.
  std::string identity;
  LeaseSums sums;
  absl::Duration latest_end;         // of those that are not overdue
  std::vector<LeaseCharge> charges;  // of those together
  std::vector<LeaseView> leases;     // those that end last, first
};

struct LeasesOfTarget {
  std::string target;
  LeaseSums sums;
};

struct LeasesView {
  std::vector<LeaseHolderView> holders;  // who holds most, first
  size_t holders_in_all = 0;             // that fit the query
  std::vector<LeasesOfTarget> targets;   // all that the query takes, in the policy's order
};

// Which leases to read.
struct LeaseQuery {
  // How long a lease that was not returned is shown after its end.
  static constexpr absl::Duration kOverdueShown = absl::Minutes(10);

  std::string_view target = {};    // empty: all
  std::string_view identity = {};  // this one's, and those of all below it; empty: all
  uint64_t subject_key = 0;        // as in CheckAnswer; 0: all
  // Targets that another server decides for: what this one knows of their leases is out of date.
  std::vector<std::string> not_on = {};
  size_t most_holders = 0;
  size_t most_leases = 0;  // of each holder
};

}  // namespace headgate::engine
