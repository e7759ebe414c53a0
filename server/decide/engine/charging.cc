#include "server/decide/engine/charging.h"

#include <algorithm>

#include "server/decide/engine/limits.h"
#include "server/decide/engine/line_order.h"
#include "server/decide/engine/prediction_probe.h"
#include "server/decide/engine/violations.h"

namespace headgate::engine {
namespace {

enum class Charged : uint8_t { kYes, kRefused, kMoved, kTableFull };

Charged ChargeDebt(Decision& decision, Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  const ChargeResult result = budget.ledger->Charge(candidate.tag, candidate.now_ns,
                                                    candidate.cost_ns, candidate.burst_ns());
  candidate.empties_at_ns = result.empties_at;
  candidate.refunded_ns = result.refunded_ns;
  if (result.outcome == ChargeOutcome::kCharged) return Charged::kYes;
  if (result.outcome == ChargeOutcome::kMoved) return Charged::kMoved;
  ViolateBurst(decision, candidate);
  return Charged::kRefused;
}

Charged AcquireConcurrency(Decision& decision, Candidate& candidate) {
  const Tables& tables = decision.tables;
  const int64_t limit = MostPermitsOf(*candidate.budget);
  switch (tables.concurrency.Acquire(ConcurrencyKeyOf(*candidate.budget, candidate.tag), limit,
                                     decision.now.monotonic_ns + decision.life_ns,
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
  const ChargeResult result = Charge(*candidate.bucket, candidate.tag, candidate.now_ns,
                                     candidate.cost_ns, candidate.burst_ns());
  if (result.outcome != ChargeOutcome::kCharged) [[unlikely]]
    return ChargeDebt(decision, candidate);
  candidate.empties_at_ns = result.empties_at;
  candidate.refunded_ns = result.refunded_ns;
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

// Refuses for want of a permit.
Outcome DenyForWantOfPermit(Decision& decision) {
  PermitHolders& holders = decision.tables.permits.holders();
  const PermitHolders::Standing standing = holders.CountTurnedAway(decision.resolved.holder);
  ViolatePermits(decision, standing);
  DenyByViolations(decision);
  return standing.table_full ? Outcome::kNoPermit : Outcome::kDecided;
}

// Undoes this Check, and turns `why` into the outcome.
Outcome Rollback(Decision& decision, Charged why) {
  UndoLast(decision, 1);
  if (decision.line != nullptr) TellUndone(decision);
  if (decision.HasProbe()) {
    ReturnProbes(decision);
    decision.answer.probe.budget = Violation::kNoBudget;
  }
  if (why == Charged::kMoved) return Outcome::kMoved;
  if (why == Charged::kTableFull) {
    DenyForWantOfPermit(decision);
    return Outcome::kNoPermit;
  }
  DenyByViolations(decision);
  return Outcome::kDecided;
}

// Which of the charges are of busy time, and what their Report teaches.
void NoteUnits(Decision& decision, Permit& permit) {
  uint8_t teaches = 0;
  uint32_t busy_charges = 0;
  uint32_t place = 0;
  for (const Candidate& candidate : decision.Candidates()) {
    const BudgetUnit unit = candidate.budget->unit;
    teaches |= TeachesOf(unit);
    if (!candidate.charged) continue;
    busy_charges |= static_cast<uint32_t>(unit == BudgetUnit::kBusyTime) << place++;
  }
  permit.teaches = teaches;
  permit.busy_charges = static_cast<uint16_t>(busy_charges);
}

// The permit is written only after the last exchange: each of those waits until all earlier stores
// have reached the cache, and a permit's lines are seldom there.
inline PermitId Issue(Decision& decision, uint32_t slot) {
  const Tables& tables = decision.tables;
  Permit& permit = tables.permits.body(slot);
  const CostSubject& subject = decision.resolved.cost_subject;
  permit.target_key = subject.target;
  permit.root_key = subject.root;
  permit.caller_key = subject.caller;
  permit.pattern_key = subject.pattern;
  permit.policy_version = decision.policy.version;
  permit.estimate = decision.lease == nullptr ? decision.estimate : decision.answer.grant.amount;
  permit.issued_at_ns = decision.now.monotonic_ns;
  bool holds_concurrency = false;
  PermitCharge* next = permit.charges.data();
  for (const Candidate& candidate : decision.Candidates()) {
    if (!candidate.charged) continue;
    const Budget& budget = *candidate.budget;
    PermitCharge& charge = *next++;
    charge.tag = budget.ledger == nullptr ? 0 : candidate.tag;
    charge.ended_at_ns = candidate.empties_at_ns;
    charge.refunded_ns = candidate.refunded_ns;
    charge.cost = candidate.cost;
    charge.ledger = budget.slot;
    charge.concurrency = candidate.concurrency;
    holds_concurrency |= candidate.concurrency != ConcurrencyTable::kNone;
  }
  permit.holds_concurrency = holds_concurrency;
  const bool teaches_cost = decision.resolved.candidates_used > 0;
  permit.teaches = teaches_cost ? kTeachesCost : uint8_t{0};
  permit.busy_charges = 0;
  if (decision.resolved.charges_busy_time) NoteUnits(decision, permit);
  if (decision.lease != nullptr) [[unlikely]]
    permit.teaches = permit.teaches | kTeachesPieces;
  const bool keeps_subject = decision.line != nullptr || decision.lease != nullptr;
  permit.KeepCharges(static_cast<size_t>(next - permit.charges.data()),
                     keeps_subject ? decision.resolved.subject_key : 0);
  return tables.permits.Publish(slot, decision.now.monotonic_ns + decision.life_ns);
}

// 0 where there is no slot.
inline PermitId IssueOrNote(Decision& decision, uint32_t slot) {
  if (slot != PermitTable::kNone) [[likely]]
    return Issue(decision, slot);
  decision.tables.permits.holders().NoteWithout();
  return 0;
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
    const ChargeResult result = Charge(*candidate.bucket, candidate.tag, candidate.now_ns,
                                       count * candidate.cost_ns, candidate.budget->burst_ns);
    candidate.charged = result.outcome == ChargeOutcome::kCharged;
    if (!candidate.charged) return false;
    candidate.empties_at_ns = result.empties_at;
    candidate.refunded_ns = result.refunded_ns;
  }
  return true;
}

void MovePlaces(Decision& decision, int checks) {
  for (Candidate& candidate : decision.Candidates()) {
    if (candidate.charged) candidate.empties_at_ns += checks * candidate.cost_ns;
  }
}

}  // namespace

bool NeedsPermit(Decision& decision) {
  bool needs = false;
  for (Candidate& candidate : decision.Candidates()) {
    const Budget& budget = *candidate.budget;
    if (candidate.skip || !budget.limits_concurrency) continue;
    candidate.skip = budget.warn;
    needs |= !budget.warn;
  }
  return needs;
}

Outcome Admit(Decision& decision) {
  if (decision.resolved.candidates_used == 0) return Outcome::kDecided;
  PermitTable& permits = decision.tables.permits;
  const uint32_t slot = permits.Claim(decision.resolved.holder, decision.now.monotonic_ns);
  // What is left of a lease is given back by its permit.
  if (slot == PermitTable::kNone && (NeedsPermit(decision) || decision.lease != nullptr))
      [[unlikely]] {
    ReturnProbes(decision);
    return DenyForWantOfPermit(decision);
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
    if (slot != PermitTable::kNone) permits.Abandon(slot);
    return Rollback(decision, charged);
  }
  decision.answer.permit = IssueOrNote(decision, slot);
  if (decision.line != nullptr) [[unlikely]]
    TellAdmitted(decision);
  return Outcome::kDecided;
}

size_t AdmitTogether(Decision& decision, absl::Span<CheckAnswer> answers) {
  if (decision.HasProbe()) {
    ReturnProbes(decision);
    return 0;
  }
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
  const bool charges = decision.resolved.candidates_used > 0;
  const PermitHolder& holder = decision.resolved.holder;
  for (size_t i = 0; i < admitted; ++i) {
    const uint32_t slot =
        charges ? decision.tables.permits.Claim(holder, decision.now.monotonic_ns) : 0;
    if (i > 0) answers[i].CopyAllowed(decision.answer);
    answers[i].permit = charges ? IssueOrNote(decision, slot) : 0;
    MovePlaces(decision, 1);
  }
  return admitted;
}

}  // namespace headgate::engine
