// Safe rates: at which a holder of a lease goes on, for a while, when nobody answers any more, and
// which its buckets are charged meanwhile, as nobody knows whether it does.
//
// A safe rate is reserved when its lease is granted: in every bucket, all that are reserved are
// together at most what drains there at full speed. One lease gets half of what is left, and no
// more than it asks for; so with n of them each has 1/(n + 1) in the end, whoever came first. While
// its holder is heard of, a reservation costs nothing. Where a lease is over and was not given
// back, its rate is charged from a quarter of the lease's time after its end on (Begins), kStepNs
// at a time and in advance, until its safe time is over. The holder begins no earlier, so that what
// it does was charged before.
//
// There is no timer. Whoever decides calls ChargeIfDue first: what was not charged in between is
// charged as of when it was due, so that it has drained as if it had been charged then.
//
// What was charged so is never given back. It is known until the lease is returned, or for ten
// minutes: a holder mostly comes back when its safe time is over. In budgets that only warn nothing
// is reserved; who gets no rate at all GrantSafeRate says.
//
// No more than kMost reservations, of about 200 bytes each; who comes later has no safe rate.
// Thread-safe; ChargeIfDue with nothing due is one load. Source: Doorman's safe capacity, which its
// server does not reserve.
//
//   safe_rates.ChargeIfDue(core, now);
//   const double rate = safe_rates.Reserve(permit, reservation, wanted);
//   const std::optional<double> charged = safe_rates.End(permit);

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/permit.h"
#include "server/decide/engine/safe_reservation.h"

namespace headgate::engine {

struct EngineCore;

class SafeRates {
 public:
  static constexpr int64_t kStepNs = 50'000'000;
  static constexpr size_t kMost = 65'536;
  // Of more than so many, each is charged further in advance.
  static constexpr size_t kChargedEachStep = 1000;
  // How long it is known what was charged, when the safe time is over.
  static constexpr int64_t kRememberedNs = 600'000'000'000;
  // The longest time for which a rate is kept.
  static constexpr absl::Duration kLongest = absl::Minutes(1);
  // How long after its end a lease of such a time begins to be charged.
  static absl::Duration Begins(absl::Duration lease_time) { return lease_time / 4; }

  // Reserves what can be had of `wanted` in all buckets, in place of the reservation's rate; 0:
  // nothing. `most` are the rates of the buckets, in their budgets' units a second, beside the
  // reservation's charges.
  double Reserve(PermitId permit, SafeReservation reservation, const std::vector<double>& most,
                 double wanted) ABSL_LOCKS_EXCLUDED(mutex_);
  // As it was saved, whatever else is reserved.
  void Restore(PermitId permit, SafeReservation reservation) ABSL_LOCKS_EXCLUDED(mutex_);

  // Its holder has been heard of. None: nothing was reserved, or that was long ago. Else what was
  // charged, in the estimate's unit.
  std::optional<double> End(PermitId permit) ABSL_LOCKS_EXCLUDED(mutex_);
  void ForgetTarget(uint64_t target_key) ABSL_LOCKS_EXCLUDED(mutex_);

  // Charges what is due, in the policy in force. See the top.
  void ChargeIfDue(const EngineCore& core, const Now& now) ABSL_LOCKS_EXCLUDED(mutex_) {
    // acquire: who sees that nothing is due sees the buckets as whoever charged them left them.
    if (now.monotonic_ns >= next_due_ns_.load(std::memory_order_acquire)) [[unlikely]]
      ChargeDue(core, now);
  }

  std::optional<SafeReservation> Find(PermitId permit) const ABSL_LOCKS_EXCLUDED(mutex_);
  // In the order of the permits.
  std::vector<SavedSafeRate> Save() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  using Reservations = absl::flat_hash_map<PermitId, SafeReservation>;

  void ChargeDue(const EngineCore& core, const Now& now) ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(PermitId permit, SafeReservation&& reservation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its rate may be reserved by others.
  void Free(SafeReservation& reservation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(Reservations::iterator of) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ShowNextDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // A cache line of its own: every Check reads it, and it seldom changes.
  alignas(64) std::atomic<int64_t> next_due_ns_{kNever};
  alignas(64) mutable Mutex mutex_;
  Reservations reservations_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<int64_t, PermitId>> due_ ABSL_GUARDED_BY(mutex_);
  // In the unit of the bucket's budget, in a second.
  struct Reserved {
    double rate = 0;
    size_t reservations = 0;
  };
  absl::flat_hash_map<uint64_t, Reserved> buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::engine
