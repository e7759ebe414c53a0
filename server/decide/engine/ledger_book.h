// The clocks and ledgers of an engine, by name: what outlives a policy.
//
// Binding a new policy happens in two steps, so that building is off to the side and failing
// changes nothing. Prepare finds or makes a clock for each (target, profile) and a ledger for each
// (target, budget), and fills in the policy. Commit moves the debt of those whose axis changed;
// from then on Checks under the old policy meet moved buckets, so the new one must be published
// right away.
//
// A ledger whose budget has gone is kept until it owes nothing, and for one more policy, under
// which Checks of the old one have ended: put the budget back, and its debt is still there. A
// health profile that has gone is forgotten.
//
// Thread-compatible: the engine's installer holds a lock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/decide/engine/ledger.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/refund_orders.h"

namespace headgate::engine {

struct SavedCharge;
struct SavedState;

class LedgerBook {
 public:
  // `bucket_bytes`: the most memory that the buckets of split budgets may take. `permits`: how many
  // may be out at a time.
  LedgerBook(size_t bucket_bytes, size_t permits, uint64_t seed);

  struct Change {
    struct Move {
      std::shared_ptr<Ledger> before, after;
      int64_t burst_ns;  // afterwards
    };
    std::vector<Move> moves;
    // What the book will hold.
    absl::flat_hash_map<std::string, std::shared_ptr<VirtualClock>> clocks;
    absl::flat_hash_map<std::string, uint32_t> slots;
    absl::flat_hash_set<std::string> idle;  // of these, the ones that the policy does not name
    std::vector<std::shared_ptr<Ledger>> ledgers;
    uint32_t first_free = 0;  // no slot before this one is free
  };

  // Fills targets, budgets and ledgers of `policy`, whose specs, version and rules are set.
  // ResourceExhausted where the buckets would take more memory than they may.
  absl::StatusOr<Change> Prepare(Policy& policy, Now now);
  // noexcept: once buckets have moved there is no way back, and Checks wait.
  void Commit(Change change, Now now) noexcept;

  void Save(Now now, SavedState& state) const;
  // Of a charge as the permit table saves it, with what had been refunded when it was made.
  int64_t RefundedSince(uint64_t version, const SavedCharge& charge) const;
  // Into a book without a policy; of a state that Validate finds right. The first policy after it
  // may take more memory by what budgets still owe that it has not.
  void Restore(const SavedState& state, Now now, int64_t elapsed_ns);

 private:
  std::shared_ptr<VirtualClock> ClockFor(std::string_view target, std::string_view profile, Now now,
                                         Change& change) const;
  void BindTargets(Policy& policy, Now now, Change& change) const;
  void BindBudget(Policy& policy, uint32_t target, uint32_t spec, Now now, Change& change) const;
  void BindLimits(const BudgetSpec& spec, const TargetSpec& target, Budget& budget) const;
  Ledger::Axis AxisFor(const Policy& policy, uint32_t target, const Budget& budget,
                       const Ledger* before, Now now, Change& change) const;
  uint32_t SlotFor(const std::string& name, Change& change) const;
  // Before anything is allocated: the new policy's buckets, and those of budgets that it has not
  // but which still owe.
  absl::Status CheckMemory(const Policy& policy, Now now) const;
  void KeepOthers(Now now, Change& change) const;

  const size_t bucket_bytes_;
  const std::unique_ptr<RefundOrders> refund_orders_;
  bool restored_ = false;  // and no policy since
  const uint64_t seed_;
  std::shared_ptr<VirtualClock> frozen_;
  absl::flat_hash_map<std::string, std::shared_ptr<VirtualClock>> clocks_;
  absl::flat_hash_map<std::string, uint32_t> slots_;  // by target and budget
  absl::flat_hash_set<std::string> idle_;
  std::vector<std::shared_ptr<Ledger>> ledgers_;
};

}  // namespace headgate::engine
