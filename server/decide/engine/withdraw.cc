// Withdrawing an answer: what an admitted Check was charged is given back, as if it had not asked.
//
// Its bucket then owes what it would owe without the charge, because a refund takes back all that
// has not drained yet, and what has drained would not have been owed. Nothing is learnt from it,
// and its request id is free, unless the answer has been repeated: then somebody else may have got
// it, and works with the permit.

#include "server/decide/engine/decision.h"
#include "server/decide/engine/line_order.h"
#include "server/decide/engine/settlements.h"

namespace headgate::engine {

void Settlements::Withdraw(const CheckRequest& request, const CheckAnswer& answer, Now now) {
  now = EngineCore::Bounded(now);
  if (answer.permit == 0 || answer.verdict != Verdict::kAllowed || answer.repeated) return;
  if (!request.request_id.empty() &&
      !core_.requests.Forget(core_.RequestKeyOf(answer.subject_key, request), answer.permit)) {
    return;
  }
  core_.safe_rates.End(answer.permit);
  uint32_t slot = 0;
  if (core_.permits.Settle(answer.permit, slot) != PermitTable::Found::kSettling) return;
  const Permit& permit = core_.permits.body(slot);
  for (uint32_t i = 0; i < permit.charges_used; ++i) RefundCharge({permit, i, now});
  core_.permits.Settled(slot);
}

void Settlements::RefundCharge(const ChargeOf& of) {
  const Permit& permit = of.permit;
  const PermitCharge& charge = permit.charges[of.place];
  for (const PolicyRef& policy = core_.policies.Get();; core_.AwaitNewer(policy->version)) {
    Ledger* const ledger = policy == nullptr ? nullptr : LedgerOf(*policy, permit, of.place);
    if (ledger == nullptr) return;
    Ledger::Charged charged = charge.charged();
    if (ledger->Translate(permit.policy_version, charged) != Ledger::Place::kHere) return;
    const int64_t charged_ns = ledger->ToNs(charge.cost);
    const int64_t now_ns = ledger->Now(ledger->clock().Read(of.now.monotonic_ns).virtual_ns);
    const int64_t taken_ns = ledger->Refund(charged, charged_ns, charged_ns, now_ns);
    if (taken_ns < 0) continue;
    return TellSettled(policy->BudgetOfSlot(charge.ledger), of, -taken_ns);
  }
}

Ledger* Settlements::LedgerOf(const Policy& policy, const Permit& permit, uint32_t place) {
  const PermitCharge& charge = permit.charges[place];
  // Tag 0: it held concurrency only.
  if (charge.tag == 0 || charge.ledger >= policy.ledgers.size()) return nullptr;
  Ledger* const ledger = policy.ledgers[charge.ledger].get();
  // The budget is gone and owed nothing any more, or is split or measured differently now.
  if (ledger == nullptr || !ledger->Knows(permit.policy_version)) return nullptr;
  if (ledger->axis().unit != permit.UnitOf(place)) return nullptr;
  // No Check charged this: the state that it was restored from is not an engine's own.
  if (ledger->table() == nullptr && charge.tag != Ledger::kSingleTag) return nullptr;
  return ledger;
}

void Settlements::TellSettled(const Budget* budget, const ChargeOf& of, int64_t delta_ns) const {
  if (budget == nullptr || delta_ns == 0) return;
  LineInterface* const line = core_.LineIfAnybodyIsHere();
  if (line == nullptr) return;
  const uint64_t key = LineKeyOf(*budget, of.permit.charges[of.place].tag);
  const uint64_t leaf = of.permit.LeafKey();
  if (leaf != 0) return line->Settled(key, leaf, delta_ns);
  if (delta_ns < 0) line->RoomFreed(key);
}

}  // namespace headgate::engine
