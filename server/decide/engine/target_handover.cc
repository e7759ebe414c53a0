#include "server/decide/engine/target_handover.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/strings.h"

namespace headgate::engine {
namespace {

int64_t Left(int64_t at_ns, int64_t now_ns) { return std::max<int64_t>(at_ns - now_ns, 0); }

SavedDebts SaveDebts(const BudgetSpec& spec, const Ledger& ledger, const Now& now) {
  const int64_t clock_ns = ledger.clock().Read(now.monotonic_ns).virtual_ns;
  const int64_t now_ns = ledger.Now(clock_ns);
  SavedLedger saved;
  ledger.Save(clock_ns, saved);
  SavedDebts debts{.budget = spec.name,
                   .ns_per_unit = saved.ns_per_unit,
                   .is_auto = saved.is_auto,
                   .unit = saved.unit,
                   .split = std::move(saved.split),
                   .owed_ns = Left(saved.empties_at_ns, now_ns),
                   .table = std::move(saved.table)};
  debts.table.filled_until_ns = Left(debts.table.filled_until_ns, now_ns);
  for (SavedBucket& bucket : debts.table.buckets) {
    bucket.empties_at_ns = Left(bucket.empties_at_ns, now_ns);
  }
  return debts;
}

// Of debts, by the slots of their ledgers.
using DebtPlaces = absl::flat_hash_map<uint32_t, uint32_t>;

void SaveAllDebts(const Policy& policy, uint32_t target, const Now& now, DebtPlaces& places,
                  std::vector<SavedDebts>& debts) {
  for (size_t i = 0; i < policy.budget_specs.size(); ++i) {
    const Budget& budget = policy.BudgetsOf(target)[i];
    if (budget.ledger == nullptr) continue;
    places[budget.slot] = static_cast<uint32_t>(debts.size());
    debts.push_back(SaveDebts(policy.budget_specs[i], *budget.ledger, now));
  }
}

// Permits that are out, each with what is known of its charges.
class PermitSaver {
 public:
  // All outlive it.
  PermitSaver(const Policy& policy, const DebtPlaces& places, const Now& now,
              std::vector<SavedTargetPermit>& permits)
      : policy_(policy), places_(places), now_(now), permits_(permits) {}

  // As the permit table saves it.
  void Add(PermitId id, const SavedPermit& from, absl::Span<const SavedCharge> charges) {
    SavedTargetPermit& to = permits_.emplace_back();
    to.id = id;
    to.expires_in_ns = from.expires_at_ns - now_.monotonic_ns;
    to.issued_before_ns = now_.monotonic_ns - from.issued_at_ns;
    to.subject = from.subject;
    to.estimate = from.estimate;
    to.teaches = from.teaches;
    to.busy_charges = from.busy_charges;
    for (const SavedCharge& charge : charges) {
      to.charges.push_back(ChargeOf(from.policy_version, charge));
    }
  }
  void Add(PermitId id, const Permit& from, int64_t expires_at_ns,
           const ConcurrencyTable& concurrency) {
    SavedPermit permit;
    permit.expires_at_ns = expires_at_ns;
    permit.subject = {.target = from.target_key,
                      .root = from.root_key,
                      .caller = from.caller_key,
                      .pattern = from.pattern_key};
    permit.policy_version = from.policy_version;
    permit.estimate = from.estimate;
    permit.issued_at_ns = from.issued_at_ns;
    permit.teaches = from.teaches;
    permit.busy_charges = from.busy_charges;
    std::vector<SavedCharge> charges;
    for (uint32_t i = 0; i < from.charges_used; ++i) {
      const PermitCharge& made = from.charges[i];
      const bool holds = made.concurrency != ConcurrencyTable::kNone;
      charges.push_back({.tag = made.tag,
                         .ended_at_ns = made.ended_at_ns,
                         .refunded_since_ns = made.refunded_ns,
                         .cost = made.cost,
                         .ledger = made.ledger,
                         .concurrency_key = holds ? concurrency.KeyOf(made.concurrency) : 0});
    }
    Add(id, permit, charges);
  }

 private:
  SavedTargetCharge ChargeOf(uint64_t version, const SavedCharge& from) const {
    SavedTargetCharge to;
    to.cost = from.cost;
    to.concurrency_key = from.concurrency_key;
    const auto debts = places_.find(from.ledger);
    if (from.tag == 0 || debts == places_.end()) return to;
    const Ledger& ledger = *policy_.ledgers[from.ledger];
    if (!ledger.Knows(version)) return to;
    Ledger::Charged charged{from.tag, from.ended_at_ns, from.refunded_since_ns};
    const int64_t refunded_since_ns = ledger.RefundedSince(version, charged);
    if (ledger.Translate(version, charged) != Ledger::Place::kHere) return to;
    to.tag = from.tag;
    to.debts = debts->second;
    // What was refunded before a move, in nanoseconds that have become longer.
    to.refunded_since_ns = std::min(
        Bucket::kHorizonNs, Ledger::ToNs(static_cast<double>(refunded_since_ns), charged.moved_by));
    to.ends_in_ns =
        charged.ended_at_ns - ledger.Now(ledger.clock().Read(now_.monotonic_ns).virtual_ns);
    return to;
  }

  const Policy& policy_;
  const DebtPlaces& places_;
  const Now now_;
  std::vector<SavedTargetPermit>& permits_;
};

// What is reserved on one target, with places among its debts.
std::vector<SavedSafeRate> SaveSafeRates(const std::vector<SavedSafeRate>& all, uint64_t target_key,
                                         const Policy& policy, const DebtPlaces& places,
                                         const Now& now) {
  std::vector<SavedSafeRate> saved;
  for (const SavedSafeRate& from : all) {
    if (from.reservation.target_key != target_key) continue;
    SavedSafeRate to = from;
    to.reservation.charged_until_ns -= now.monotonic_ns;
    to.reservation.until_ns -= now.monotonic_ns;
    to.reservation.charges.clear();
    for (SafeCharge charge : from.reservation.charges) {
      const auto debts = places.find(charge.ledger);
      if (debts == places.end()) continue;
      if (!policy.ledgers[charge.ledger]->Knows(from.reservation.policy_version)) continue;
      charge.ledger = debts->second;
      to.reservation.charges.push_back(charge);
    }
    saved.push_back(std::move(to));
  }
  return saved;
}

// Where charges stand that another engine made.
using Places = std::vector<std::pair<const Budget*, Ledger::Adopted>>;  // beside SavedTarget::debts

// The permit as one of this engine's, that was charged under its present policy.
std::unique_ptr<Permit> MakePermit(const SavedTargetPermit& saved, const Places& places,
                                   uint64_t target_key, uint64_t version, const Now& now) {
  auto permit = std::make_unique<Permit>();
  permit->target_key = target_key;
  permit->root_key = saved.subject.root;
  permit->caller_key = saved.subject.caller;
  permit->pattern_key = saved.subject.pattern;
  permit->policy_version = version;
  permit->estimate = saved.estimate;
  permit->issued_at_ns = now.monotonic_ns - saved.issued_before_ns;
  permit->teaches = saved.teaches;
  permit->busy_charges = saved.busy_charges;
  permit->KeepCharges(saved.charges.size(), 0);
  for (size_t i = 0; i < saved.charges.size(); ++i) {
    const SavedTargetCharge& from = saved.charges[i];
    PermitCharge& to = permit->charges[i];
    to.cost = from.cost;
    if (from.debts == SavedTargetCharge::kNoDebts) continue;
    const Budget* const budget = places[from.debts].first;
    const Ledger::Adopted& adopted = places[from.debts].second;
    if (budget == nullptr || !adopted.knows_places) continue;
    const auto scaled = [&](int64_t span_ns) {
      const double span = static_cast<double>(span_ns) * adopted.scale;
      constexpr auto kMost = static_cast<double>(Ledger::kMaxSpanNs);
      return static_cast<int64_t>(std::clamp(span, -kMost, kMost));
    };
    to.tag = from.tag;
    to.ledger = budget->slot;
    to.ended_at_ns = std::max<int64_t>(adopted.now_ns + scaled(from.ends_in_ns), 0);
    to.refunded_ns = Ledger::StampAfterRestart(scaled(from.refunded_since_ns));
  }
  return permit;
}

SafeReservation MakeReservation(const SavedSafeRate& saved, const Places& places,
                                uint64_t target_key, uint64_t version, const Now& now) {
  SafeReservation made = saved.reservation;
  made.target_key = target_key;
  made.policy_version = version;
  made.charged_until_ns += now.monotonic_ns;
  made.until_ns += now.monotonic_ns;
  made.charges.clear();
  for (SafeCharge charge : saved.reservation.charges) {
    const Budget* const budget = places[charge.ledger].first;
    if (budget == nullptr || !places[charge.ledger].second.knows_places) continue;
    charge.ledger = budget->slot;
    made.charges.push_back(charge);
  }
  return made;
}

// What it holds of concurrency, which may be more than a new permit could have.
void HoldConcurrency(const SavedTargetPermit& saved, int64_t expires_at_ns,
                     ConcurrencyTable& concurrency, Permit& permit) {
  if (saved.expires_in_ns <= 0) return;
  for (size_t i = 0; i < saved.charges.size(); ++i) {
    uint32_t cell = ConcurrencyTable::kNone;
    const uint64_t key = saved.charges[i].concurrency_key;
    if (key == 0) continue;
    if (concurrency.Acquire(key, ConcurrencyTable::kMaxLimit, expires_at_ns, cell) !=
        ConcurrencyTable::Outcome::kAcquired) {
      continue;  // too many hashes collide: it is not counted
    }
    permit.charges[i].concurrency = cell;
    permit.holds_concurrency = true;
  }
}

}  // namespace

std::vector<absl::StatusOr<SavedTarget>> TargetHandover::Save(absl::Span<const std::string> targets,
                                                              Now now) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  MutexLock lock(&core_.install_mutex);
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr)
    return std::vector<absl::StatusOr<SavedTarget>>(targets.size(), EngineCore::NotInstalled());
  const std::vector<SavedSafeRate> safe_rates = core_.safe_rates.Save();
  const PermitTable::SlotStates before = core_.permits.ReadSlotStates();
  std::vector<absl::StatusOr<SavedTarget>> saved;
  saved.reserve(targets.size());  // savers stay where they are
  std::vector<DebtPlaces> places(targets.size());
  absl::flat_hash_map<uint64_t, PermitSaver> savers;  // by the targets' keys
  for (size_t i = 0; i < targets.size(); ++i) {
    uint32_t place = 0;
    if (absl::Status found = policy->FindTarget(targets[i], place); !found.ok()) {
      saved.emplace_back(std::move(found));
      continue;
    }
    SavedTarget& one = saved.emplace_back(SavedTarget()).value();
    one.seed = core_.options.seed;
    one.target = targets[i];
    one.control = core_.learnt_controls.Get(targets[i]).bytes;
    SaveAllDebts(*policy, place, now, places[i], one.debts);
    one.safe_rates = SaveSafeRates(safe_rates, policy->targets[place].key, *policy, places[i], now);
    savers.try_emplace(policy->targets[place].key, *policy, places[i], now, one.permits);
  }
  SavedState state;
  core_.permits.Save(before, state);
  size_t charge = 0;
  for (const SavedPermit& permit : state.permits) {
    const auto saver = savers.find(permit.subject.target);
    if (saver != savers.end()) {
      saver->second.Add(PermitTable::IdOf(state.generations[permit.slot], permit.slot), permit,
                        absl::MakeConstSpan(state.charges).subspan(charge, permit.charges));
    }
    charge += permit.charges;
  }
  for (auto& [key, saver] : savers) {
    core_.adopted.ForEach(
        key, [&, &to = saver](PermitId id, const Permit& permit, int64_t expires_at_ns) {
          to.Add(id, permit, expires_at_ns, core_.concurrency);
        });
  }
  return saved;
}

absl::Status TargetHandover::Adopt(const TargetAdoption& adoption, Now now) {
  now = EngineCore::Bounded(now);
  const std::string_view target = adoption.target;
  const SavedTarget* const saved = adoption.saved;
  if (saved != nullptr) {
    if (absl::Status valid = Validate(*saved); !valid.ok()) return valid;
    if (saved->seed != core_.options.seed || saved->target != target) {
      return absl::InvalidArgumentError(
          absl::StrCat("the state of target ", Sv(target),
                       " was saved with another seed, or is of target ", saved->target));
    }
  }
  MutexLock lock(&core_.install_mutex);
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  uint32_t place = 0;
  if (absl::Status found = policy->FindTarget(target, place); !found.ok()) return found;
  const uint64_t key = policy->targets[place].key;
  core_.permits.ForgetTarget(key);
  core_.adopted.Forget(key);
  core_.safe_rates.ForgetTarget(key);
  core_.learnt_controls.Adopt(target, saved != nullptr ? saved->control : std::string_view());

  static const std::vector<SavedDebts> none;
  const std::vector<SavedDebts>& debts = saved != nullptr ? saved->debts : none;
  Places places(debts.size());
  for (size_t i = 0; i < policy->budget_specs.size(); ++i) {
    const Budget& budget = policy->BudgetsOf(place)[i];
    if (budget.ledger == nullptr) continue;
    const auto of_budget = std::find_if(debts.begin(), debts.end(), [&](const SavedDebts& one) {
      return one.budget == policy->budget_specs[i].name;
    });
    const bool known = of_budget != debts.end();
    const Ledger::Adopted adopted =
        budget.ledger->Adopt(known ? &*of_budget : nullptr,
                             adoption.unsaved == Unsaved::kUpToBurst ? budget.burst_ns : 0,
                             budget.burst_ns, now.monotonic_ns);
    if (known) places[static_cast<size_t>(of_budget - debts.begin())] = {&budget, adopted};
  }
  if (saved != nullptr) {
    for (const SavedTargetPermit& permit : saved->permits) {
      const int64_t expires_at_ns = now.monotonic_ns + permit.expires_in_ns;
      std::unique_ptr<Permit> made = MakePermit(permit, places, key, policy->version, now);
      HoldConcurrency(permit, expires_at_ns, core_.concurrency, *made);
      core_.adopted.Adopt(permit.id, std::move(made), expires_at_ns);
    }
  }
  if (saved != nullptr) {
    for (const SavedSafeRate& reserved : saved->safe_rates) {
      core_.safe_rates.Restore(reserved.permit,
                               MakeReservation(reserved, places, key, policy->version, now));
    }
  }
  core_.TellChanged();
  return absl::OkStatus();
}

}  // namespace headgate::engine
