#include "server/decide/engine/safe_rates.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/line_order.h"

namespace headgate::engine {
namespace {

// Of what is left in a bucket, what one lease may have.
constexpr double kShareOfRest = 0.5;

enum class Charged : uint8_t { kYes, kNowhere, kMoved };

// kNowhere: its bucket is another one by now, or none. kMoved: a policy is just coming in.
Charged ChargeBucket(const EngineCore& core, const SafeReservation& of, const SafeCharge& charge,
                     double seconds, const Now& now) {
  const Policy& policy = *core.policies.Get();
  if (charge.ledger >= policy.ledgers.size()) return Charged::kNowhere;
  Ledger* const ledger = policy.ledgers[charge.ledger].get();
  if (ledger == nullptr || !ledger->Knows(of.policy_version)) return Charged::kNowhere;
  if (ledger->axis().unit != charge.unit) return Charged::kNowhere;
  if (ledger->table() == nullptr && charge.tag != Ledger::kSingleTag) {
    return Charged::kNowhere;
  }
  const Budget* const budget = policy.BudgetOfSlot(charge.ledger);
  if (budget == nullptr || budget->warn) return Charged::kNowhere;
  const VirtualClock::Reading clock = ledger->clock().Read(now.monotonic_ns);
  // As of when it was due: what has drained since then has drained of this as well.
  const int64_t late_ns = std::max<int64_t>(now.monotonic_ns - of.charged_until_ns, 0);
  const int64_t drained_ns = VirtualClock::After(0, late_ns, clock.speed_fixed);
  const int64_t due_ns = ledger->Now(clock.virtual_ns - std::min(drained_ns, clock.virtual_ns));
  const int64_t cost_ns = ledger->ToNs(of.rate * charge.per_unit * seconds);
  int64_t added_ns = 0;
  const ChargeResult result =
      ledger->ChargeUpTo(charge.tag, due_ns, cost_ns, budget->most_debt_ns, added_ns);
  if (result.outcome == ChargeOutcome::kMoved) return Charged::kMoved;
  LineInterface* const line = core.LineIfAnybodyIsHere();
  if (line != nullptr && added_ns != 0 && of.subject_key != 0) {
    line->Settled(LineKeyOf(*budget, charge.tag), of.subject_key, added_ns);
  }
  return Charged::kYes;
}

// Whether any bucket was charged.
bool ChargeAll(const EngineCore& core, const SafeReservation& of, double seconds, const Now& now) {
  bool is_charged = false;
  for (const SafeCharge& charge : of.charges) {
    Charged charged = ChargeBucket(core, of, charge, seconds, now);
    for (; charged == Charged::kMoved; charged = ChargeBucket(core, of, charge, seconds, now)) {
      std::this_thread::yield();
    }
    is_charged |= charged == Charged::kYes;
  }
  return is_charged;
}

}  // namespace

double SafeRates::Reserve(PermitId permit, SafeReservation reservation,
                          const std::vector<double>& most, double wanted) {
  MutexLock lock(&mutex_);
  if (reservations_.size() >= kMost) return 0;
  double rate = wanted;
  for (size_t i = 0; i < reservation.charges.size(); ++i) {
    const SafeCharge& charge = reservation.charges[i];
    const auto reserved = buckets_.find(charge.bucket);
    const double left = most[i] - (reserved == buckets_.end() ? 0 : reserved->second.rate);
    rate = std::min(rate, std::max(left, 0.0) * kShareOfRest / charge.per_unit);
  }
  if (!(rate > 0)) return 0;
  reservation.rate = rate;
  Add(permit, std::move(reservation));
  return rate;
}

void SafeRates::Restore(PermitId permit, SafeReservation reservation) {
  MutexLock lock(&mutex_);
  if (reservations_.size() < kMost) Add(permit, std::move(reservation));
}

void SafeRates::Add(PermitId permit, SafeReservation&& reservation) {
  const auto [added, is_new] = reservations_.try_emplace(permit, std::move(reservation));
  if (!is_new) return;
  for (const SafeCharge& charge : added->second.charges) {
    Reserved& reserved = buckets_[charge.bucket];
    reserved.rate += added->second.rate * charge.per_unit;
    ++reserved.reservations;
  }
  due_.emplace(added->second.charged_until_ns, permit);
  ShowNextDue();
}

void SafeRates::Free(SafeReservation& reservation) {
  for (const SafeCharge& charge : reservation.charges) {
    const auto reserved = buckets_.find(charge.bucket);
    reserved->second.rate -= reservation.rate * charge.per_unit;
    if (--reserved->second.reservations == 0) buckets_.erase(reserved);
  }
  reservation.charges.clear();
}

void SafeRates::Erase(Reservations::iterator of) {
  Free(of->second);
  due_.erase({of->second.charged_until_ns, of->first});
  reservations_.erase(of);
  ShowNextDue();
}

void SafeRates::ShowNextDue() {
  const int64_t due_ns = due_.empty() ? kNever : due_.begin()->first;
  // relaxed: it is written under the lock only. Unchanged, it stays in all caches.
  if (next_due_ns_.load(std::memory_order_relaxed) == due_ns) return;
  next_due_ns_.store(due_ns, std::memory_order_release);
}

std::optional<double> SafeRates::End(PermitId permit) {
  // relaxed: who ends it has had its answer, which came after it was reserved.
  if (next_due_ns_.load(std::memory_order_relaxed) == kNever) return std::nullopt;
  MutexLock lock(&mutex_);
  const auto found = reservations_.find(permit);
  if (found == reservations_.end()) return std::nullopt;
  const double charged = found->second.charged;
  Erase(found);
  return charged;
}

void SafeRates::ForgetTarget(uint64_t target_key) {
  MutexLock lock(&mutex_);
  std::vector<PermitId> gone;
  for (const auto& [permit, reservation] : reservations_) {
    if (reservation.target_key == target_key) gone.push_back(permit);
  }
  for (const PermitId permit : gone) Erase(reservations_.find(permit));
}

void SafeRates::ChargeDue(const EngineCore& core, const Now& now) {
  // Restored: what is due is charged when there are budgets again.
  if (core.policies.Get() == nullptr) return;
  MutexLock lock(&mutex_);
  // Of very many, each is charged further in advance: the work in a second is bounded.
  const int64_t step_ns =
      kStepNs * static_cast<int64_t>(1 + reservations_.size() / kChargedEachStep);
  // Nobody may find that nothing is due before all of it is charged.
  while (!due_.empty() && due_.begin()->first <= now.monotonic_ns) {
    const auto due = due_.begin();
    const auto found = reservations_.find(due->second);
    SafeReservation& reservation = found->second;
    int64_t to_ns = std::min(now.monotonic_ns + step_ns, reservation.until_ns);
    if (to_ns > reservation.charged_until_ns) {
      const double seconds = static_cast<double>(to_ns - reservation.charged_until_ns) / 1e9;
      if (ChargeAll(core, reservation, seconds, now)) {
        reservation.charged += reservation.rate * seconds;
      }
    } else if (reservation.charges.empty()) {
      Erase(found);
      continue;
    } else {
      // Its time is over. What it was charged is known for a while, for its holder may come back.
      Free(reservation);
      to_ns = reservation.until_ns += kRememberedNs;
    }
    reservation.charged_until_ns = to_ns;
    const PermitId permit = due->second;
    due_.erase(due);
    due_.emplace(to_ns, permit);
  }
  ShowNextDue();
}

std::optional<SafeReservation> SafeRates::Find(PermitId permit) const {
  MutexLock lock(&mutex_);
  const auto found = reservations_.find(permit);
  if (found == reservations_.end()) return std::nullopt;
  return found->second;
}

std::vector<SavedSafeRate> SafeRates::Save() const {
  std::vector<SavedSafeRate> saved;
  {
    MutexLock lock(&mutex_);
    saved.reserve(reservations_.size());
    for (const auto& [permit, reservation] : reservations_) saved.push_back({permit, reservation});
  }
  std::sort(saved.begin(), saved.end(),
            [](const SavedSafeRate& a, const SavedSafeRate& b) { return a.permit < b.permit; });
  return saved;
}

}  // namespace headgate::engine
