// What an owner knows of one target, as plain data: what the next owner has to know before it may
// decide.
//
// Every budget has a ledger of its own on each target, and with it its own buckets; so what one
// target's debts are is never mixed with another's. Times are spans from the moment of saving, each
// on the clock that it belongs to: nothing depends on where the clocks of two servers stand. Tags
// and keys are hashes under `seed`, which both engines have to have.
//
// Not in it: request ids (a Check that is repeated to the next owner is a new one), learnt costs,
// and which Report left a bucket in debt.
//
// Thread-compatible, like any struct. What comes from outside is looked at by Validate.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/decide/engine/cost_model.h"
#include "server/decide/engine/permit.h"
#include "server/decide/engine/saved_state.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

// What one budget is owed.
struct SavedDebts {
  std::string budget;
  double ns_per_unit = 0;
  bool is_auto = false;
  BudgetUnit unit = BudgetUnit::kCost;
  std::string split;
  int64_t owed_ns = 0;  // by the one bucket of a budget that is not split
  SavedTable table;     // times are what is owed; without lines: it is not split
};

struct SavedTargetCharge {
  static constexpr uint32_t kNoDebts = 0xffffffff;

  uint64_t tag = 0;  // 0: it has no place any more
  // From now to where the charge ends on its budget's clock; below 0: it has drained.
  int64_t ends_in_ns = 0;
  int64_t refunded_since_ns = 0;  // in front of it
  double cost = 0;
  uint32_t debts = kNoDebts;     // place in SavedTarget::debts
  uint64_t concurrency_key = 0;  // 0: it holds none
};

struct SavedTargetPermit {
  PermitId id = 0;
  int64_t expires_in_ns = 0;  // below 0: it has
  int64_t issued_before_ns = 0;
  CostSubject subject;
  double estimate = 0;
  uint8_t teaches = 0;
  uint16_t busy_charges = 0;
  std::vector<SavedTargetCharge> charges;
};

struct SavedTarget {
  uint64_t seed = 0;
  std::string target;
  std::vector<SavedDebts> debts;
  std::vector<SavedTargetPermit> permits;
  std::vector<SavedSafeRate> safe_rates;
  // What the controller of its auto budgets learnt, which the engine does not read; empty: nothing.
  std::string control;
};

// Ok, or InvalidArgument with the first thing that no engine would have saved.
absl::Status Validate(const SavedTarget& saved);

}  // namespace headgate::engine
