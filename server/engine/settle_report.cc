// Settling a Report: the permit ends, each of its charges becomes what the work really cost, and
// the cost model learns from the difference.
//
// Work that cost more is charged the rest, whatever its bucket's burst. Work that cost less gets
// back what has not drained yet, which Ledger::Refund knows. A charge whose budget has since gone,
// or is split differently, is left as it is.

#include <limits>

#include "absl/strings/str_cat.h"
#include "server/engine/engine.h"

namespace headgate::engine {

absl::StatusOr<ReportOutcome> Engine::Report(PermitId id, double actual_cost, Now now) {
  now = Bounded(now);
  if (absl::Status valid = ValidateCost("actual_cost", actual_cost); !valid.ok()) return valid;
  uint32_t slot = 0;
  switch (permits_.Settle(id, slot)) {
    case PermitTable::Found::kNeverIssued:
      return absl::NotFoundError(absl::StrCat("permit: ", id, " was not issued by this process"));
    case PermitTable::Found::kReported:
      return ReportOutcome::kAlreadySettled;
    case PermitTable::Found::kForgotten:
      return ReportOutcome::kForgotten;
    case PermitTable::Found::kSettling:
      break;
  }
  const Permit& permit = permits_.body(slot);
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    SettleCharge(permit, permit.charges[i], actual_cost, now);
  }
  costs_.Learn(permit.target_key, permit.pattern_key, permit.estimate, actual_cost);
  permits_.Settled(slot);
  return ReportOutcome::kSettled;
}

void Engine::SettleCharge(const Permit& permit, const PermitCharge& charge, double actual_cost,
                          Now now) {
  if (charge.tag == 0) return;  // it held concurrency only
  bool counted = false;
  for (const PolicyRef& policy = policies_.Get();; AwaitNewer(policy->version)) {
    if (policy == nullptr) return;  // restored, and reported before there is a policy again
    if (charge.ledger >= policy->ledgers.size()) return;
    Ledger* ledger = policy->ledgers[charge.ledger].get();
    // The budget is gone and owed nothing any more, or is split differently now.
    if (ledger == nullptr || !ledger->Knows(permit.policy_version)) return;
    // No Check charged this: the state that it was restored from is not an engine's own.
    if (ledger->table() == nullptr && charge.tag != Ledger::kSingleTag) return;
    if (ledger->axis().is_auto && !counted) ledger->CountReport(actual_cost);
    counted = true;
    const int64_t charged_ns = ledger->ToNs(charge.cost);
    const int64_t actual_ns = ledger->ToNs(actual_cost);
    const int64_t now_ns = ledger->Now(ledger->clock().Read(now.monotonic_ns).virtual_ns);
    if (actual_ns > charged_ns) {
      const ChargeResult result = ledger->Charge(charge.tag, now_ns, actual_ns - charged_ns,
                                                 std::numeric_limits<int64_t>::max());
      if (result.outcome != ChargeOutcome::kMoved) return;
      continue;
    }
    Ledger::Charged charged = charge.charged();
    if (!ledger->Translate(permit.policy_version, charged)) return;
    if (ledger->Refund(charged, charged_ns, charged_ns - actual_ns, now_ns) >= 0) return;
  }
}

}  // namespace headgate::engine
