#include "server/engine/charging.h"

#include <algorithm>

#include "server/engine/violations.h"

namespace headgate::engine {
namespace {

enum class Charged : uint8_t { kYes, kRefused, kMoved, kTableFull };

Charged ChargeDebt(Decision& decision, Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  const ChargeResult result =
      budget.ledger->Charge(candidate.tag, candidate.now_ns, candidate.cost_ns, budget.burst_ns);
  candidate.empties_at_ns = result.empties_at;
  if (result.outcome == ChargeOutcome::kCharged) return Charged::kYes;
  if (result.outcome == ChargeOutcome::kMoved) return Charged::kMoved;
  ViolateBurst(decision, candidate);
  return Charged::kRefused;
}

Charged AcquireConcurrency(Decision& decision, Candidate& candidate) {
  const Tables& tables = decision.tables;
  const int64_t limit = candidate.budget->max_concurrency;
  switch (tables.concurrency.Acquire(ConcurrencyKeyOf(*candidate.budget, candidate.tag), limit,
                                     decision.now.monotonic_ns + tables.permit_ttl_ns,
                                     candidate.concurrency)) {
    case ConcurrencyTable::Outcome::kAcquired:
      return Charged::kYes;
    case ConcurrencyTable::Outcome::kTableFull:
      return Charged::kTableFull;
    case ConcurrencyTable::Outcome::kAtLimit:
      break;
  }
  candidate.concurrency = ConcurrencyTable::kNone;
  ViolateConcurrency(decision, candidate, limit);  // overtaken since it was examined
  return Charged::kRefused;
}

// The rarer ways: concurrency, no bucket yet, refused after all.
Charged ChargeRarely(Decision& decision, Candidate& candidate) {
  if (candidate.budget->limits_concurrency) {
    const Charged acquired = AcquireConcurrency(decision, candidate);
    if (acquired != Charged::kYes) return acquired;
  }
  if (candidate.budget->ledger == nullptr) return Charged::kYes;
  candidate.refunded_ns = candidate.budget->ledger->Refunded(candidate.tag);
  const Charged charged = ChargeDebt(decision, candidate);
  if (charged != Charged::kYes && candidate.concurrency != ConcurrencyTable::kNone) {
    decision.tables.concurrency.Release(candidate.concurrency);
  }
  return charged;
}

inline Charged ChargeOne(Decision& decision, Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  candidate.concurrency = ConcurrencyTable::kNone;
  if (budget.limits_concurrency || candidate.bucket == nullptr) {
    return ChargeRarely(decision, candidate);
  }
  candidate.refunded_ns = budget.ledger->Refunded(candidate.tag);
  const ChargeResult result = Charge(*candidate.bucket, candidate.tag, candidate.now_ns,
                                     candidate.cost_ns, budget.burst_ns);
  if (result.outcome != ChargeOutcome::kCharged) [[unlikely]]
    return ChargeDebt(decision, candidate);
  candidate.empties_at_ns = result.empties_at;
  return Charged::kYes;
}

// Takes back what the last `count` Checks were charged, and what they hold.
void UndoLast(Decision& decision, int count) {
  for (const Candidate& candidate : decision.Candidates()) {
    if (!candidate.charged) continue;
    if (candidate.concurrency != ConcurrencyTable::kNone) {
      decision.tables.concurrency.Release(candidate.concurrency);
    }
    if (candidate.budget->ledger == nullptr) continue;
    candidate.budget->ledger->Undo({candidate.tag, candidate.empties_at_ns, candidate.refunded_ns},
                                   count * candidate.cost_ns);
  }
}

// Undoes this Check, and turns `why` into the outcome.
Outcome Rollback(Decision& decision, Charged why) {
  UndoLast(decision, 1);
  if (why == Charged::kMoved) return Outcome::kMoved;
  if (why == Charged::kTableFull) return Outcome::kNoPermit;
  DenyByViolations(decision);
  return Outcome::kDecided;
}

// The permit is written only after the last exchange: each of those waits until all earlier stores
// have reached the cache, and a permit's lines are seldom there.
inline PermitId Issue(Decision& decision, uint32_t slot, double estimate) {
  const Tables& tables = decision.tables;
  Permit& permit = tables.permits.body(slot);
  permit.target_key = decision.policy.targets[decision.resolved.target].key;
  permit.pattern_key = decision.resolved.pattern_key;
  permit.policy_version = decision.policy.version;
  permit.estimate = estimate;
  bool holds_concurrency = false;
  uint32_t used = 0;
  for (const Candidate& candidate : decision.Candidates()) {
    if (!candidate.charged) continue;
    const Budget& budget = *candidate.budget;
    PermitCharge& charge = permit.charges[used++];
    charge.tag = budget.ledger == nullptr ? 0 : candidate.tag;
    charge.ended_at_ns = candidate.empties_at_ns;
    charge.refunded_ns = candidate.refunded_ns;
    charge.cost = candidate.cost;
    charge.ledger = budget.slot;
    charge.concurrency = candidate.concurrency;
    holds_concurrency |= candidate.concurrency != ConcurrencyTable::kNone;
  }
  permit.holds_concurrency = holds_concurrency;
  permit.charges_used = used;
  return tables.permits.Publish(slot, decision.now.monotonic_ns + tables.permit_ttl_ns);
}

// How many such Checks fit at every bucket, as it was examined; 1 where that is not known.
int RoomFor(Decision& decision, int most) {
  int room = most;
  for (const Candidate& candidate : decision.Candidates()) {
    const Budget& budget = *candidate.budget;
    if (budget.limits_more || budget.warn) return 1;
    if (budget.ledger == nullptr) continue;
    if (candidate.bucket == nullptr) return 1;
    if (candidate.cost_ns == 0) continue;
    const int64_t fits = (budget.burst_ns - candidate.debt_ns()) / candidate.cost_ns;
    room = static_cast<int>(std::min<int64_t>(room, fits));
  }
  return room;
}

bool ChargeTogether(Decision& decision, int count) {
  for (Candidate& candidate : decision.Candidates()) {
    if (candidate.budget->ledger == nullptr) continue;
    candidate.concurrency = ConcurrencyTable::kNone;
    candidate.refunded_ns = candidate.budget->ledger->Refunded(candidate.tag);
    const ChargeResult result = Charge(*candidate.bucket, candidate.tag, candidate.now_ns,
                                       count * candidate.cost_ns, candidate.budget->burst_ns);
    candidate.charged = result.outcome == ChargeOutcome::kCharged;
    if (!candidate.charged) return false;
    candidate.empties_at_ns = result.empties_at;
  }
  return true;
}

void MovePlaces(Decision& decision, int checks) {
  for (Candidate& candidate : decision.Candidates()) {
    if (candidate.charged) candidate.empties_at_ns += checks * candidate.cost_ns;
  }
}

}  // namespace

Outcome Admit(Decision& decision, double estimate) {
  PermitTable& permits = decision.tables.permits;
  const uint32_t slot = permits.Claim(decision.now.monotonic_ns);
  if (slot == PermitTable::kNone) [[unlikely]] {
    return decision.answer.reason == Reason::kExempt ? Outcome::kDecided : Outcome::kNoPermit;
  }
  for (Candidate& candidate : decision.Candidates()) {
    const Budget& budget = *candidate.budget;
    if (candidate.skip || (budget.ledger == nullptr && !budget.limits_concurrency)) continue;
    const Charged charged = ChargeOne(decision, candidate);
    candidate.charged = charged == Charged::kYes;
    if (candidate.charged) [[likely]]
      continue;
    // A budget that only warns and has no room after all is left alone after all.
    if (charged != Charged::kMoved && budget.warn) continue;
    permits.Abandon(slot);
    return Rollback(decision, charged);
  }
  decision.answer.permit = Issue(decision, slot, estimate);
  return Outcome::kDecided;
}

size_t AdmitTogether(Decision& decision, double estimate, absl::Span<CheckAnswer> answers) {
  if (!decision.resolved.match.only_charges || !decision.answer.violations.empty()) return 0;
  const int count = RoomFor(decision, static_cast<int>(answers.size()));
  if (count < 2) return 0;
  if (!ChargeTogether(decision, count)) {
    UndoLast(decision, count);  // somebody came in between: decide one by one
    return 0;
  }
  // The first Check's place is in front of the others'.
  MovePlaces(decision, 1 - count);
  const auto admitted = static_cast<size_t>(count);
  for (size_t i = 0; i < admitted; ++i) {
    const uint32_t slot = decision.tables.permits.Claim(decision.now.monotonic_ns);
    if (slot == PermitTable::kNone) {
      UndoLast(decision, count - static_cast<int>(i));
      return i;
    }
    if (i > 0) answers[i].CopyAllowed(decision.answer);
    answers[i].permit = Issue(decision, slot, estimate);
    MovePlaces(decision, 1);
  }
  return admitted;
}

}  // namespace headgate::engine
