// Permits of admitted Checks, in fixed memory: what each was charged, until it is reported.
//
//            Claim            Publish
//   kFree ----------> kBusy ----------> kLive --- Sweep, past its time ---> kExpired
//     ^                 ^                 |                                     |
//     |   Settle done   |      Settle     |               Settle                |
//     +-----------------+<----------------+-------------------------------------+
//
// A permit's id is {generation, index}. Generations start at a random number and grow each time a
// slot is taken, so an id of an earlier owner, or of an earlier process, is never mistaken for a
// present one. An expired permit keeps its charge and has given its concurrency back; a late Report
// finds it for as long as its slot is not needed. A slot is taken that is free, else one that has
// expired.
//
// Who may have another permit is for permit_holders.h to say. A holder that may not gets the slot
// of a permit of its own that holds no concurrency, if one is close by (which loses its refund and
// its request id, early); nobody loses one to others. That, and being refused, costs the same
// however large and however full the table is.
//
// Thread-safe and lock-free, but for a permit that two threads end at once: the second waits for
// the first. The body of a permit belongs to whoever made it kBusy.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "server/engine/concurrency_table.h"
#include "server/engine/ledger.h"
#include "server/engine/line_gate.h"
#include "server/engine/permit_holders.h"
#include "server/engine/spec.h"

namespace headgate::engine {

class TimeShift;

// Opaque to callers. 0 is never a permit's.
using PermitId = uint64_t;

struct SavedPermit;
struct SavedState;

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

// What a permit's Report teaches: rules charged the Check to budgets of these units.
inline constexpr uint8_t kTeachesCost = 1, kTeachesBusyTime = 2;
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
  OwnedField<uint8_t> teaches;        // kTeachesCost | kTeachesBusyTime
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
  // 0: not known.
  uint64_t LeafKey() const { return has_leaf_key ? uint64_t{charges[charges_used].tag} : 0; }

  BudgetUnit UnitOf(uint32_t charge) const {
    return (busy_charges >> charge & 1) != 0 ? BudgetUnit::kBusyTime : BudgetUnit::kCost;
  }
};

// Gives back what the permit's charges hold of concurrency, and tells the line, if there is one,
// that room came free.
void ReleaseConcurrency(Permit& permit, ConcurrencyTable& concurrency, LineGate* line);

struct PermitTableOptions {
  double max_share = 1;  // see PermitHolders
  // A refused Claim looks for what has expired, in as many slots as are looked at in microseconds,
  // at most once in this time.
  int64_t least_between_looks_ns = 0;
};

class PermitTable {
 public:
  // Room for `permits` (a power of two is made of it). `concurrency` outlives the table.
  PermitTable(size_t permits, uint64_t seed, ConcurrencyTable& concurrency,
              const PermitTableOptions& options = {});
  PermitTable(const PermitTable&) = delete;
  PermitTable& operator=(const PermitTable&) = delete;

  static constexpr uint32_t kNone = 0xffffffff;

  // A slot for a new permit of this holder, which the caller fills and then publishes or abandons.
  // kNone: the holder may not have another; holders() knows why.
  ABSL_ATTRIBUTE_ALWAYS_INLINE uint32_t Claim(const PermitHolder& holder, int64_t now_ns) {
    const uint32_t stripe = ThreadNumber() % kHands;
    Hand& hand = hands_[stripe];
    // relaxed, and not one step: a hand that two threads share may point both at one slot, where
    // the exchange lets one of them win.
    const uint64_t from = hand.at.load(std::memory_order_relaxed);
    const uint16_t cell = holders_.Take(holder, now_ns, stripe, from);
    if (cell == PermitHolders::kNone) [[unlikely]]
      return ClaimOfItsOwn(holder, now_ns, stripe);
    const auto slot = static_cast<uint32_t>(from & mask_);
    const uint64_t word = heads_[slot].word.load(std::memory_order_relaxed);
    PrefetchBody(static_cast<uint32_t>((from + 2) & mask_));
    if (StateOf(word) == State::kFree && TryClaim(slot, word)) [[likely]] {
      hand.at.store(from + 1, std::memory_order_relaxed);
      holder_of_[slot].store(cell, std::memory_order_relaxed);
      return slot;
    }
    return ClaimAnother(now_ns, stripe, cell);
  }
  Permit& body(uint32_t slot) { return bodies_[slot]; }
  PermitId Publish(uint32_t slot, int64_t expires_at_ns) {
    Head& head = heads_[slot];
    head.expires_at.store(expires_at_ns, std::memory_order_relaxed);
    const uint64_t generation = head.word.load(std::memory_order_relaxed) >> kStateBits;
    const uint64_t holds = bodies_[slot].holds_concurrency ? kHoldsConcurrency : 0;
    // release: whoever takes the permit sees its body.
    head.word.store(With(generation << kStateBits | holds, State::kLive),
                    std::memory_order_release);
    return IdOf(generation, slot);
  }
  void Abandon(uint32_t slot);

  enum class Found : uint8_t {
    kSettling,   // the caller has it, and must call Settled
    kReported,   // reported before
    kForgotten,  // its slot was needed: ended long ago
    kNeverIssued,
  };
  // Takes the permit away from all other reporters. It may have expired.
  Found Settle(PermitId id, uint32_t& slot);
  void Settled(uint32_t slot);

  // Ends the permits of a target whose owner is another one by now, as if they had been reported.
  void ForgetTarget(uint64_t target_key);
  // Of a permit that Save has saved with this generation of its slot.
  static PermitId IdOf(uint64_t generation, uint32_t slot) {
    return generation << kIndexBits | slot;
  }

  // Neither reported nor expired.
  bool IsLive(PermitId id, int64_t now_ns) const;

  // Expires what is due, all over the table, so that its concurrency is free; and raises the bound
  // of `cell` to the next time at which looking again can help, `latest_ns` at the latest: a permit
  // that is being made meanwhile must not expire before that.
  void Sweep(uint32_t cell, int64_t now_ns, int64_t latest_ns);

  // Expires what is due in some of the slots, the next ones at each call. False: it was too soon.
  bool LookForExpired(int64_t now_ns);

  // For Engine::Save. A permit is saved that was out when the states were read and is still out,
  // unsettled: all of its charges are in what was read of the buckets in between, and none of its
  // refunds.
  using SlotStates = std::vector<uint64_t>;
  SlotStates ReadSlotStates() const;
  void Save(const SlotStates& before, SavedState& state) const;
  // Into a table that nobody uses yet; of a state that Validate finds right. A larger table's
  // permits keep their slots until they expire; these are used for no new ones and are gone with
  // the next restart that finds them free. No id is issued that the one who saved could have issued
  // within `lost_ns` after it did; ids that it did issue are known as forgotten. ResourceExhausted:
  // no numbers are left.
  absl::Status Restore(const SavedState& state, const TimeShift& shift, int64_t lost_ns);

  // Whom to tell of permits that are given back, reported or expired; before anything else is
  // called.
  void AttachLine(LineGate* gate) { line_ = gate; }

  PermitHolders& holders() { return holders_; }
  const PermitHolders& holders() const { return holders_; }

  // For new permits; there may be more that were restored.
  size_t capacity() const { return mask_ + 1; }
  size_t CountLive(int64_t now_ns) const;
  // Past their time and not reported; a Report would still settle them.
  size_t CountOverdue(int64_t now_ns) const;
  // Permits that lost their slot after their time, unreported.
  uint64_t abandoned() const { return abandoned_.load(std::memory_order_relaxed); }
  // Permits that lost their slot before their time.
  uint64_t recycled_early() const { return recycled_.load(std::memory_order_relaxed); }

 private:
  enum class State : uint8_t { kFree, kBusy, kLive, kExpired };
  static constexpr int kStateBits = 3;  // state, and whether concurrency is held
  static constexpr uint64_t kStateMask = 3;
  static constexpr uint64_t kHoldsConcurrency = 4;
  static constexpr int kIndexBits = 24;
  static constexpr uint64_t kGenerationMask = (uint64_t{1} << 40) - 1;
  static constexpr int kHands = PermitHolders::kStripes;
  static constexpr size_t kProbes = 128;  // slots to look at for a free one rather than an expired
  static constexpr size_t kOwnProbes = 64;  // slots to look at for one that is the holder's
  static constexpr size_t kSlotsOfALook = 32768;
  static constexpr size_t kLeastPermits = 64;

  // Four to a cache line: what Claim and Sweep read.
  struct Head {
    std::atomic<uint64_t> word{0};  // generation << kStateBits | concurrency | state
    std::atomic<int64_t> expires_at{0};
  };
  struct alignas(64) Hand {
    std::atomic<uint64_t> at{0};
  };
  // The slot with the earliest time so far.
  struct Choice {
    uint32_t slot = kNone;
    uint64_t word = 0;
    int64_t expires_at = 0;
    void Offer(uint32_t other, uint64_t other_word, int64_t at) {
      if (slot == kNone || at < expires_at) *this = {other, other_word, at};
    }
  };

  static State StateOf(uint64_t word) { return static_cast<State>(word & kStateMask); }
  static uint64_t With(uint64_t word, State state) {
    return (word & ~kStateMask) | static_cast<uint64_t>(state);
  }
  // The lines of a permit with four charges: its next owner's stores would otherwise hold up the
  // compare-and-swaps that follow them.
  void PrefetchBody(uint32_t slot) const {
    const char* const body = reinterpret_cast<const char*>(&bodies_[slot]);
    for (int line = 0; line < 4; ++line) __builtin_prefetch(body + 64 * line, 1);
  }

  // Threads are spread over the hands in the order in which they first ask.
  static uint32_t ThreadNumber() {
    static std::atomic<uint32_t> next{0};
    thread_local uint32_t mine = 0;  // 0: not yet
    if (mine == 0) mine = next.fetch_add(1, std::memory_order_relaxed) + 1;
    return mine;
  }

  bool TryClaim(uint32_t slot, uint64_t word) {
    const uint64_t issued = ((word >> kStateBits) - first_generation_) & kGenerationMask;
    const uint64_t generation =
        (first_generation_ + std::max(issued, floor_) + 1) & kGenerationMask;
    const uint64_t busy = With(generation << kStateBits, State::kBusy);
    // acquire: the last owner's writes to the body are done.
    return heads_[slot].word.compare_exchange_strong(word, busy, std::memory_order_acquire,
                                                     std::memory_order_relaxed);
  }
  // After a permit was counted for the cell's holder: some slot is free, though perhaps not the one
  // at the hand.
  uint32_t ClaimAnother(int64_t now_ns, uint32_t stripe, uint16_t cell);
  // One look at all slots. `lost` if another thread took the one that was chosen.
  uint32_t Search(int64_t now_ns, Hand& hand, bool& lost);
  // For a holder that may not have more.
  uint32_t ClaimOfItsOwn(const PermitHolder& holder, int64_t now_ns, uint32_t stripe);
  uint32_t RecycleOne(int64_t now_ns, Hand& hand, uint16_t cell);
  // The holder of a permit that is out may have another in its place.
  void ReleaseHolder(uint32_t slot) {
    const uint16_t cell = holder_of_[slot].load(std::memory_order_relaxed);
    if (cell == PermitHolders::kNone) return;
    if (slot <= mask_) {
      holders_.Release(cell, ThreadNumber() % kHands);
    } else {
      holders_.ReleaseBeside(cell);
    }
  }
  bool Expire(uint32_t slot, uint64_t word);
  uint64_t SavedHolderOf(uint32_t slot, uint64_t word) const;
  void SaveOne(uint32_t slot, uint64_t before, SavedState& state) const;
  // Not one beyond this table that is past its time.
  bool IsKept(const SavedPermit& saved, const TimeShift& shift) const;
  void MakeRoom(const SavedState& state, const TimeShift& shift);
  void RestoreOne(const SavedState& state, size_t place, size_t first_charge,
                  const TimeShift& shift);

  std::unique_ptr<Head[]> heads_;
  std::unique_ptr<Permit[]> bodies_;
  // The cell of each slot's holder. Written before a permit is published, by who claimed the slot.
  std::unique_ptr<std::atomic<uint16_t>[]> holder_of_;
  uint64_t mask_;   // of the slots for new permits
  uint64_t slots_;  // all there are: those, and what a larger table's permits take besides
  uint64_t first_generation_;  // that no permit has
  // Generations issued by earlier processes, as a distance from the first. New ones are above.
  uint64_t floor_ = 0;
  ConcurrencyTable& concurrency_;
  LineGate* line_ = nullptr;
  PermitHolders holders_;
  std::array<Hand, kHands> hands_;
  int64_t least_between_looks_ns_;
  std::atomic<int64_t> next_look_ns_{0};
  std::atomic<uint64_t> looked_to_{0};  // where the next look begins
  std::atomic<uint64_t> abandoned_{0};
  std::atomic<uint64_t> recycled_{0};
};

}  // namespace headgate::engine
