// Saving while Checks go on.
//
// The order makes a saved permit and the saved buckets agree, though nothing stands still. First
// it is read which permits are out; then the buckets are copied; then those permits are copied that
// are still out. Such a permit had been charged before the buckets were read, so its charges are
// there; it was not settled before they had been read, so its refund is not. What comes or goes
// in between is saved by its charges only: it can't be settled after a restart, and more is owed
// than need be, by what was under way for the milliseconds that a copy takes.
//
// Refunds are counted last: one that is counted though no bucket shows it makes later refunds
// smaller, the other way round would make them too large.

#include "server/decide/engine/engine_state.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace headgate::engine {
namespace {

// What its tables of buckets would take: a byte of a saved table stands for a line of cells.
size_t BucketBytesOf(const SavedState& state) {
  constexpr size_t kLineBytes = sizeof(Bucket) * BucketTable::kWays;
  size_t bytes = 0;
  for (const SavedLedger& ledger : state.ledgers) bytes += kLineBytes * ledger.table.lines.size();
  return bytes;
}

}  // namespace

void EngineState::Save(Now now, SavedState& state) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  MutexLock lock(&core_.install_mutex);
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  state.seed = core_.options.seed;
  state.saved_at = now;
  state.policy_version = core_.version;
  state.shape = policy == nullptr ? core_.restored_shape.value_or(0) : policy->shape;
  state.dice = core_.dice.load(std::memory_order_relaxed);  // any of its values will do
  // Before the buckets: what is charged in between is charged once more after a restart, not never.
  state.safe_rates = core_.safe_rates.Save();
  const PermitTable::SlotStates before = core_.permits.ReadSlotStates();
  core_.book.Save(now, state);
  core_.permits.Save(before, state);
  size_t charge = 0;
  for (const SavedPermit& permit : state.permits) {
    for (uint32_t i = 0; i < permit.charges; ++i, ++charge) {
      SavedCharge& saved = state.charges[charge];
      saved.refunded_since_ns = core_.book.RefundedSince(permit.policy_version, saved);
    }
  }
  core_.requests.Save(state, policy.get());
  core_.costs.Save(state);
  core_.reported_debts.Save(state);
  core_.learnt_controls.Save(state);
}

absl::Status EngineState::Restore(const SavedState& state, Now now, int64_t elapsed_ns) {
  now = EngineCore::Bounded(now);
  elapsed_ns = std::clamp<int64_t>(elapsed_ns, 0, VirtualClock::kHorizonNs);
  MutexLock lock(&core_.install_mutex);
  if (core_.version != 0 || core_.policies.Get() != nullptr) {
    return absl::FailedPreconditionError("an engine is restored before its first policy");
  }
  if (state.seed != core_.options.seed) {
    return absl::FailedPreconditionError(
        "an engine is restored with the seed that it was saved with");
  }
  if (absl::Status valid = Validate(state); !valid.ok()) return valid;
  // The options may allow less memory today than was in use then.
  constexpr size_t kAlwaysAllowed = size_t{1} << 30;
  if (BucketBytesOf(state) > std::max(core_.options.bucket_bytes, kAlwaysAllowed)) {
    return absl::ResourceExhaustedError("its buckets take more memory than they may");
  }
  constexpr uint64_t kMaxPolicies = uint64_t{1} << 62;
  if (state.policy_version > kMaxPolicies) {
    return absl::ResourceExhaustedError("no numbers are left for new policies");
  }
  const TimeShift shift(state.saved_at, now, elapsed_ns);
  if (absl::Status restored = core_.permits.Restore(state, shift, elapsed_ns); !restored.ok()) {
    return restored;
  }
  core_.book.Restore(state, now, elapsed_ns);
  core_.costs.Restore(state);
  core_.reported_debts.Restore(state);
  core_.learnt_controls.Restore(state);
  for (const SavedSafeRate& saved : state.safe_rates) {
    SafeReservation reservation = saved.reservation;
    reservation.charged_until_ns = shift(reservation.charged_until_ns);
    reservation.until_ns = shift(reservation.until_ns);
    core_.safe_rates.Restore(saved.permit, std::move(reservation));
  }
  core_.requests.Restore(state, shift, now.monotonic_ns);
  core_.dice.store(state.dice, std::memory_order_relaxed);  // nobody else uses the engine yet
  core_.version = state.policy_version;
  core_.restored_shape = state.shape;
  return absl::OkStatus();
}

}  // namespace headgate::engine
