// What is reserved for the holder of one lease, for when it can reach nobody: see safe_rates.h.
//
// Plain data, thread-compatible.

#pragma once

#include <cstdint>
#include <vector>

#include "server/decide/engine/permit.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

// One bucket's part of a reservation.
struct SafeCharge {
  uint64_t bucket = 0;  // which all reservations in it know it by: see ConcurrencyKeyOf
  uint64_t tag = 0;     // in its ledger
  uint32_t ledger = 0;  // slot in the policy's list
  double per_unit = 0;  // of its budget's unit for one of the estimate's
  BudgetUnit unit = BudgetUnit::kCost;
};

// Times are monotonic.
struct SafeReservation {
  uint64_t target_key = 0;
  uint64_t subject_key = 0;     // as lines know it: see Permit::KeepCharges
  uint64_t policy_version = 0;  // that its places are of
  double rate = 0;              // of the estimate's unit, in a second
  double charged = 0;           // of the estimate's unit, until now
  int64_t charged_until_ns = 0;
  int64_t until_ns = 0;
  std::vector<SafeCharge> charges;
};

// As it is saved, with the lease's permit. In what is saved of a target, times are spans from now
// and ledgers are places in SavedTarget::debts.
struct SavedSafeRate {
  PermitId permit = 0;
  SafeReservation reservation;
};

}  // namespace headgate::engine
