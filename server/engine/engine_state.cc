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

#include <algorithm>

#include "common/hash.h"
#include "server/engine/engine.h"

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

uint64_t Engine::ShapeOf(const Policy& policy) const {
  uint64_t shape = options_.seed;
  const auto add = [&](const std::string& name) {
    shape = CombineHash(shape, HashBytes(name, options_.seed));
  };
  const auto end_list = [&](size_t size) { shape = CombineHash(shape, size); };
  for (const TargetSpec& target : policy.target_specs) add(target.name);
  end_list(policy.target_specs.size());
  for (const BudgetSpec& budget : policy.budget_specs) add(budget.name);
  end_list(policy.budget_specs.size());
  for (const HealthProfileSpec& profile : policy.profiles) {
    add(profile.name);
    for (const std::string& signal : profile.signals) add(signal);
    end_list(profile.signals.size());
  }
  for (uint32_t rule = 0; rule < policy.rules.size(); ++rule) add(policy.rules.name(rule));
  end_list(policy.rules.size());
  return shape;
}

void Engine::Save(Now now, SavedState& state) {
  now = Bounded(now);
  MutexLock lock(&install_mutex_);
  const std::shared_ptr<const Policy> policy = policies_.Get();
  state.seed = options_.seed;
  state.saved_at = now;
  state.policy_version = version_;
  state.shape = policy == nullptr ? restored_shape_.value_or(0) : policy->shape;
  state.dice = dice_.load(std::memory_order_relaxed);  // any of its values will do
  const PermitTable::SlotStates before = permits_.ReadSlotStates();
  book_.Save(now, state);
  permits_.Save(before, state);
  size_t charge = 0;
  for (const SavedPermit& permit : state.permits) {
    for (uint32_t i = 0; i < permit.charges; ++i, ++charge) {
      SavedCharge& saved = state.charges[charge];
      saved.refunded_since_ns = book_.RefundedSince(permit.policy_version, saved);
    }
  }
  requests_.Save(state, policy.get());
  costs_.Save(state);
  reported_debts_.Save(state);
  control_states_.Save(state);
}

absl::Status Engine::Restore(const SavedState& state, Now now, int64_t elapsed_ns) {
  now = Bounded(now);
  elapsed_ns = std::clamp<int64_t>(elapsed_ns, 0, VirtualClock::kHorizonNs);
  MutexLock lock(&install_mutex_);
  if (version_ != 0 || policies_.Get() != nullptr) {
    return absl::FailedPreconditionError("an engine is restored before its first policy");
  }
  if (state.seed != options_.seed) {
    return absl::FailedPreconditionError(
        "an engine is restored with the seed that it was saved with");
  }
  if (absl::Status valid = Validate(state); !valid.ok()) return valid;
  // The options may allow less memory today than was in use then.
  constexpr size_t kAlwaysAllowed = size_t{1} << 30;
  if (BucketBytesOf(state) > std::max(options_.bucket_bytes, kAlwaysAllowed)) {
    return absl::ResourceExhaustedError("its buckets take more memory than they may");
  }
  constexpr uint64_t kMaxPolicies = uint64_t{1} << 62;
  if (state.policy_version > kMaxPolicies) {
    return absl::ResourceExhaustedError("no numbers are left for new policies");
  }
  const TimeShift shift(state.saved_at, now, elapsed_ns);
  if (absl::Status restored = permits_.Restore(state, shift, elapsed_ns); !restored.ok()) {
    return restored;
  }
  book_.Restore(state, now, elapsed_ns);
  costs_.Restore(state);
  reported_debts_.Restore(state);
  control_states_.Restore(state);
  requests_.Restore(state, shift, now.monotonic_ns);
  dice_.store(state.dice, std::memory_order_relaxed);  // nobody else uses the engine yet
  version_ = state.policy_version;
  restored_shape_ = state.shape;
  return absl::OkStatus();
}

}  // namespace headgate::engine
