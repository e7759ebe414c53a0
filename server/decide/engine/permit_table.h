// Permits of admitted Checks, in fixed memory: what each was charged, until it is reported.
//
// Each part answers one question:
//   permit.h          what a permit remembers
//   permit_slots.h    in which state each slot is, and which id is whose
//   permit_claims.h   which slot a new permit gets
//   permit_holders.h  who may have another permit
//   permit_expiry.h   which permits end without a Report, and what an end gives back
//
// Thread-safe and lock-free, but for a permit that two threads end at once: the second waits for
// the first. The body of a permit belongs to whoever claimed or settles it.
//
//   const uint32_t slot = permits.Claim(holder, now_ns);
//   ... fill permits.body(slot) ...
//   const PermitId id = permits.Publish(slot, now_ns + ttl_ns);
//   if (permits.Settle(id, slot) == PermitTable::Found::kSettling) {
//     ... settle permits.body(slot) ...
//     permits.Settled(slot);
//   }

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/decide/engine/concurrency_table.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/permit.h"
#include "server/decide/engine/permit_claims.h"
#include "server/decide/engine/permit_expiry.h"
#include "server/decide/engine/permit_holders.h"
#include "server/decide/engine/permit_slots.h"

namespace headgate::engine {

class TimeShift;
struct LeasePermit;
struct SavedPermit;
struct SavedState;

struct PermitTableOptions {
  double max_share = 1;  // see PermitHolders
  // A refused Claim looks for what has expired, in as many slots as are looked at in microseconds,
  // at most once in this time.
  int64_t least_between_looks_ns = 0;
};

// Of a permit that has neither been reported nor expired.
struct LivePermit {
  double estimate = 0;
  int64_t expires_at_ns = 0;
  uint64_t subject_key = 0;  // 0: not known
};

class PermitTable {
 public:
  // Room for `permits` (a power of two is made of it). `concurrency` outlives the table.
  PermitTable(size_t permits, uint64_t seed, ConcurrencyTable& concurrency,
              const PermitTableOptions& options = {});
  PermitTable(const PermitTable&) = delete;
  PermitTable& operator=(const PermitTable&) = delete;

  static constexpr uint32_t kNone = PermitSlots::kNone;

  // See PermitClaims.
  ABSL_ATTRIBUTE_ALWAYS_INLINE uint32_t Claim(const PermitHolder& holder, int64_t now_ns) {
    return claims_.Claim(holder, now_ns);
  }
  Permit& body(uint32_t slot) { return slots_.body(slot); }
  PermitId Publish(uint32_t slot, int64_t expires_at_ns) {
    return slots_.Publish(slot, expires_at_ns);
  }
  void Abandon(uint32_t slot);

  using Found = PermitSlots::Found;
  // Takes the permit away from all other reporters; kSettling: the caller must call Settled. It may
  // have expired.
  Found Settle(PermitId id, uint32_t& slot);
  void Settled(uint32_t slot) { slots_.Free(slot); }

  // Ends the permits of a target whose owner is another one by now, as if they had been reported.
  void ForgetTarget(uint64_t target_key);
  // The id of a permit that Save has saved with this generation of its slot.
  static PermitId IdOf(uint64_t generation, uint32_t slot) {
    return PermitSlots::IdOf(generation, slot);
  }

  // Neither reported nor expired.
  bool IsLive(PermitId id, int64_t now_ns) const { return slots_.IsLive(id, now_ns); }
  std::optional<LivePermit> Look(PermitId id, int64_t now_ns) const;

  // Each lease that is out, or that ended without being returned and is still known. It looks at
  // every slot's word, and at the permits of leases alone; it waits for nobody.
  void ForEachLease(absl::FunctionRef<void(const LeasePermit&)> visit) const;

  // See PermitExpiry.
  void Sweep(uint32_t cell, int64_t now_ns, int64_t latest_ns) {
    expiry_.Sweep(cell, now_ns, latest_ns);
  }
  bool LookForExpired(int64_t now_ns) { return expiry_.LookForExpired(now_ns); }

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
  void AttachLine(LineInterface* line) { expiry_.AttachLine(line); }

  PermitHolders& holders() { return holders_; }
  const PermitHolders& holders() const { return holders_; }

  // For new permits; there may be more that were restored.
  size_t capacity() const { return slots_.capacity(); }
  size_t CountLive(int64_t now_ns) const { return slots_.CountLive(now_ns); }
  // Past their time and not reported; a Report would still settle them.
  size_t CountOverdue(int64_t now_ns) const { return slots_.CountOverdue(now_ns); }
  // Permits that lost their slot after their time, unreported; and before it.
  uint64_t abandoned() const { return claims_.abandoned(); }
  uint64_t recycled_early() const { return claims_.recycled_early(); }

 private:
  std::optional<LeasePermit> LeaseIn(uint32_t slot) const;
  uint64_t SavedHolderOf(uint32_t slot, uint64_t word) const;
  void SaveOne(uint32_t slot, uint64_t before, SavedState& state) const;
  // Not one beyond this table that is past its time.
  bool IsKept(const SavedPermit& saved, const TimeShift& shift) const;
  void MakeRoom(const SavedState& state, const TimeShift& shift);
  absl::Status RestoreNumbers(const SavedState& state, int64_t lost_ns);
  void RestoreOne(const SavedState& state, size_t place, size_t first_charge,
                  const TimeShift& shift);

  ConcurrencyTable& concurrency_;
  PermitSlots slots_;
  PermitHolders holders_;
  PermitExpiry expiry_;
  PermitClaims claims_;
};

}  // namespace headgate::engine
