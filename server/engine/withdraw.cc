// Withdrawing an answer: what an admitted Check was charged is given back, as if it had not asked.
//
// Its bucket then owes what it would owe without the charge, because a refund takes back all that
// has not drained yet, and what has drained would not have been owed. Nothing is learnt from it,
// and its request id is free, unless the answer has been repeated: then somebody else may have got
// it, and works with the permit.

#include "server/engine/decision.h"
#include "server/engine/engine.h"
#include "server/engine/line_order.h"

namespace headgate::engine {

void Engine::Withdraw(const CheckRequest& request, const CheckAnswer& answer, Now now) {
  now = Bounded(now);
  if (answer.permit == 0 || answer.verdict != Verdict::kAllowed || answer.repeated) return;
  if (!request.request_id.empty() &&
      !requests_.Forget(RequestKeyOf(answer.subject_key, request), answer.permit)) {
    return;
  }
  uint32_t slot = 0;
  if (permits_.Settle(answer.permit, slot) != PermitTable::Found::kSettling) return;
  const Permit& permit = permits_.body(slot);
  for (uint32_t i = 0; i < permit.charges_used; ++i) TakeBack(permit, i, now);
  permits_.Settled(slot);
}

void Engine::TakeBack(const Permit& permit, uint32_t place, const Now& now) {
  const PermitCharge& charge = permit.charges[place];
  for (const PolicyRef& policy = policies_.Get();; AwaitNewer(policy->version)) {
    Ledger* const ledger = policy == nullptr ? nullptr : LedgerOf(*policy, permit, place);
    if (ledger == nullptr) return;
    Ledger::Charged charged = charge.charged();
    if (!ledger->Translate(permit.policy_version, charged)) return;
    const int64_t charged_ns = ledger->ToNs(charge.cost);
    const int64_t now_ns = ledger->Now(ledger->clock().Read(now.monotonic_ns).virtual_ns);
    const int64_t taken_ns = ledger->Refund(charged, charged_ns, charged_ns, now_ns);
    if (taken_ns < 0) continue;
    return TellSettled(policy->BudgetOfSlot(charge.ledger), permit, place, -taken_ns);
  }
}

Ledger* Engine::LedgerOf(const Policy& policy, const Permit& permit, uint32_t place) {
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

void Engine::TellSettled(const Budget* budget, const Permit& permit, uint32_t place,
                         int64_t delta_ns) const {
  if (budget == nullptr || delta_ns == 0) return;
  LineGate* const gate = GateIfAnybodyIsHere();
  if (gate == nullptr) return;
  const uint64_t key = LineKeyOf(*budget, permit.charges[place].tag);
  const uint64_t leaf = permit.LeafKey();
  if (leaf != 0) return gate->Settled(key, leaf, delta_ns);
  if (delta_ns < 0) gate->RoomFreed(key);
}

}  // namespace headgate::engine
