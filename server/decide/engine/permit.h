// One permit: what an admitted Check was charged, and what its Report teaches.
//
// Plain data with few rules of its own. A permit in a table belongs to whoever made its slot kBusy
// (permit_slots.h); meanwhile a saver may read it, so its fields are OwnedFields.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/decide/engine/concurrency_table.h"
#include "server/decide/engine/ledger.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

// Opaque to callers. 0 is never a permit's.
using PermitId = uint64_t;

// A field that only the permit's owner writes, while a saver may be reading it. The saver looks at
// the permit's state before and after, so it must not see a new owner's value with the old owner's
// state: hence release and acquire, which on x86 are plain stores and loads.
template <typename T>
class OwnedField {
 public:
  constexpr OwnedField(T value = {}) : value_(value) {}  // NOLINT(google-explicit-constructor)
  OwnedField(const OwnedField& other) : value_(T{other}) {}
  OwnedField& operator=(const OwnedField& other) { return *this = T{other}; }
  OwnedField& operator=(T value) {
    value_.store(value, std::memory_order_release);
    return *this;
  }
  operator T() const {  // NOLINT(google-explicit-constructor)
    return value_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<T> value_;
};

// One bucket that a permit was charged to.
struct PermitCharge {
  // See Ledger::Charged. Tag 0: it holds concurrency only.
  OwnedField<uint64_t> tag;
  OwnedField<int64_t> ended_at_ns;
  OwnedField<int64_t> refunded_ns;
  OwnedField<double> cost;      // in the unit of its budget
  OwnedField<uint32_t> ledger;  // slot in the policy's list of ledgers
  OwnedField<uint32_t> concurrency = ConcurrencyTable::kNone;  // cell to release

  Ledger::Charged charged() const { return {tag, ended_at_ns, refunded_ns}; }
};

// What a permit's Report teaches: rules charged the Check to budgets of these units; and whether it
// tells of many pieces together, because the permit is a lease's.
inline constexpr uint8_t kTeachesCost = 1, kTeachesBusyTime = 2, kTeachesPieces = 4;
inline constexpr uint8_t kTeachesAll = kTeachesCost | kTeachesBusyTime | kTeachesPieces;
constexpr uint8_t TeachesOf(BudgetUnit unit) {
  return unit == BudgetUnit::kCost ? kTeachesCost : kTeachesBusyTime;
}

struct alignas(64) Permit {
  // See CostSubject.
  OwnedField<uint64_t> target_key;
  OwnedField<uint64_t> root_key;
  OwnedField<uint64_t> caller_key;
  OwnedField<uint64_t> pattern_key;
  OwnedField<uint64_t> policy_version;
  OwnedField<double> estimate;  // CostModel::kNone: the Check had none
  OwnedField<int64_t> issued_at_ns;
  OwnedField<uint16_t> charges_used;
  OwnedField<bool> has_leaf_key;  // see KeepCharges
  OwnedField<bool> holds_concurrency;
  OwnedField<uint8_t> teaches;        // of kTeachesAll
  OwnedField<uint16_t> busy_charges;  // bit i: charge i is one of busy time
  std::array<PermitCharge, kMaxBudgetsPerCheck> charges;

  // With the key that lines know its subject by (Resolved::subject_key), 0 where nobody was in
  // line. It has the place behind the last charge, so it takes no memory; where no place is left it
  // is not kept, and no line is told what the Report changes.
  void KeepCharges(size_t used, uint64_t leaf_key) {
    charges_used = static_cast<uint16_t>(used);
    const bool keeps = leaf_key != 0 && used < charges.size();
    if (keeps) charges[used].tag = leaf_key;
    has_leaf_key = keeps;
  }
  bool IsLease() const { return (teaches & kTeachesPieces) != 0; }

  // 0: not known.
  uint64_t LeafKey() const { return has_leaf_key ? uint64_t{charges[charges_used].tag} : 0; }

  BudgetUnit UnitOf(uint32_t charge) const {
    return (busy_charges >> charge & 1) != 0 ? BudgetUnit::kBusyTime : BudgetUnit::kCost;
  }
};

// Gives back what the permit's charges hold of concurrency, and tells the line, if there is one,
// that room came free.
void ReleaseConcurrency(Permit& permit, ConcurrencyTable& concurrency, LineInterface* line);

}  // namespace headgate::engine
