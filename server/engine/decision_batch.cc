// Several Checks of one subject and one cost, charged together.
//
// The Checks of such a run would be admitted one after another at the same instant. Charging each
// bucket once with their sum gives the same debts, the same permits and the same places for
// refunds, for one exchange a bucket instead of one for each Check.

#include <algorithm>

#include "server/engine/decision.h"

namespace headgate::engine {

int Decision::RoomFor(int most) {
  int room = most;
  for (const Candidate& candidate : Candidates()) {
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

bool Decision::ChargeTogether(int count) {
  for (Candidate& candidate : Candidates()) {
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

void Decision::MovePlaces(int checks) {
  for (Candidate& candidate : Candidates()) {
    if (candidate.charged) candidate.empties_at_ns += checks * candidate.cost_ns;
  }
}

size_t Decision::AdmitTogether(double estimate, absl::Span<CheckAnswer> answers) {
  if (!resolved_.match.only_charges || !answer_.violations.empty()) return 0;
  const int count = RoomFor(static_cast<int>(answers.size()));
  if (count < 2) return 0;
  if (!ChargeTogether(count)) {
    UndoLast(count);  // somebody came in between: decide one by one
    return 0;
  }
  // The first Check's place is in front of the others'.
  MovePlaces(1 - count);
  const auto admitted = static_cast<size_t>(count);
  for (size_t i = 0; i < admitted; ++i) {
    const uint32_t slot = tables_.permits.Claim(now_.monotonic_ns);
    if (slot == PermitTable::kNone) {
      UndoLast(count - static_cast<int>(i));
      return i;
    }
    if (i > 0) answers[i].CopyAllowed(answer_);
    answers[i].permit = Issue(slot, estimate);
    MovePlaces(1);
  }
  return admitted;
}

}  // namespace headgate::engine
