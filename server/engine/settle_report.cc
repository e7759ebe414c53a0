// Settling a Report: the permit ends, each of its charges becomes what the work really cost, or
// kept the database busy, as its budget measures it, and the cost model learns from the difference.
//
// Work that cost more is charged the rest, whatever its bucket's burst, but at most what one Report
// may charge (overrun.h). Work that cost less gets back what has not drained yet, which
// Ledger::Refund knows. A charge whose budget has since gone, or is split or measured differently,
// is left as it is.

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/engine/busy_time.h"
#include "server/engine/decision.h"
#include "server/engine/engine.h"
#include "server/engine/overrun.h"

namespace headgate::engine {

absl::StatusOr<Settlement> Engine::Report(PermitId id, const ActualCost& actual, Now now) {
  now = Bounded(now);
  if (actual.cost.has_value()) {
    if (absl::Status valid = ValidateCost("actual_cost", *actual.cost); !valid.ok()) return valid;
  }
  if (actual.busy_time.has_value()) {
    absl::Status valid = ValidateBusyTime(*actual.busy_time, options_.permit_ttl);
    if (!valid.ok()) return valid;
  }
  Settlement settlement;
  uint32_t slot = 0;
  switch (permits_.Settle(id, slot)) {
    case PermitTable::Found::kNeverIssued:
      return absl::NotFoundError(absl::StrCat("permit: ", id, " was not issued by this process"));
    case PermitTable::Found::kReported:
      settlement.outcome = ReportOutcome::kAlreadySettled;
      return settlement;
    case PermitTable::Found::kForgotten:
      settlement.outcome = ReportOutcome::kForgotten;
      return settlement;
    case PermitTable::Found::kSettling:
      break;
  }
  const Permit& permit = permits_.body(slot);
  const ActualAmounts amounts{
      .cost = actual.cost, .busy_seconds = BusySecondsOf(actual, permit, now, options_.permit_ttl)};
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    SettleCharge(permit, i, amounts, now, settlement);
  }
  LearnFrom(permit, amounts, now);
  permits_.Settled(slot);
  return settlement;
}

void Engine::LearnFrom(const Permit& permit, const ActualAmounts& actual, Now now) {
  CostModel::Lesson lesson;
  lesson.subject = {.target = permit.target_key,
                    .root = permit.root_key,
                    .caller = permit.caller_key,
                    .pattern = permit.pattern_key};
  lesson.estimate = permit.estimate;
  lesson.wall_ns = now.wall_ns;
  const uint8_t teaches = permit.teaches;
  if ((teaches & kTeachesCost) != 0) lesson.cost = actual.cost;
  if ((teaches & kTeachesBusyTime) != 0) lesson.busy_seconds = actual.busy_seconds;
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    const PermitCharge& charge = permit.charges[i];
    if (charge.tag == 0) continue;
    std::optional<double>& charged =
        permit.UnitOf(i) == BudgetUnit::kCost ? lesson.charged_cost : lesson.charged_busy_seconds;
    charged = std::max(charged.value_or(0), double{charge.cost});
  }
  costs_.Learn(lesson);
}

double Engine::PredictedOf(const Permit& permit, const PermitCharge& charge,
                           const Ledger& ledger) const {
  if (!ledger.axis().is_auto) return charge.cost;
  const CostSubject subject{.target = permit.target_key,
                            .root = permit.root_key,
                            .caller = permit.caller_key,
                            .pattern = permit.pattern_key};
  const CostModel::Prediction predicted = costs_.PredictBusyTime(
      subject.Owner(), CostSubject::PatternKey(subject.Owner(), subject.pattern), permit.estimate);
  return std::max(double{charge.cost}, predicted.value);
}

void Engine::SettleCharge(const Permit& permit, uint32_t place, const ActualAmounts& amounts,
                          Now now, Settlement& settlement) {
  const PermitCharge& charge = permit.charges[place];
  if (charge.tag == 0) return;  // it held concurrency only
  const BudgetUnit unit = permit.UnitOf(place);
  if (unit == BudgetUnit::kCost && !amounts.cost.has_value()) return;
  const double actual = unit == BudgetUnit::kCost ? *amounts.cost : amounts.busy_seconds;
  bool counted = false;
  for (const PolicyRef& policy = policies_.Get();; AwaitNewer(policy->version)) {
    if (policy == nullptr) return;  // restored, and reported before there is a policy again
    if (charge.ledger >= policy->ledgers.size()) return;
    Ledger* ledger = policy->ledgers[charge.ledger].get();
    // The budget is gone and owed nothing any more, or is split or measured differently now.
    if (ledger == nullptr || !ledger->Knows(permit.policy_version)) return;
    if (ledger->axis().unit != unit) return;
    // No Check charged this: the state that it was restored from is not an engine's own.
    if (ledger->table() == nullptr && charge.tag != Ledger::kSingleTag) return;
    // A budget that has gone, and still owes, has no burst any more.
    const Budget* const budget = policy->BudgetOfSlot(charge.ledger);
    const double predicted = PredictedOf(permit, charge, *ledger);
    const double most =
        budget == nullptr ? kDefaultMaxOverrun * predicted : MostCharged(*budget, predicted);
    if (ledger->axis().is_auto && !counted) ledger->CountReport(actual);
    if (actual > most && !counted) {
      ledger->CountOverrun(actual - most);
      if (budget != nullptr) {
        settlement.overruns.push_back(
            {.budget = budget->spec, .unit = unit, .reported = actual, .charged = most});
        settlement.policy = policy;
      }
    }
    counted = true;
    const int64_t charged_ns = ledger->ToNs(charge.cost);
    const int64_t actual_ns = ledger->ToNs(std::min(actual, most));
    const int64_t now_ns = ledger->Now(ledger->clock().Read(now.monotonic_ns).virtual_ns);
    if (actual_ns > charged_ns) {
      const ChargeResult result = ledger->Charge(charge.tag, now_ns, actual_ns - charged_ns,
                                                 std::numeric_limits<int64_t>::max());
      if (result.outcome == ChargeOutcome::kMoved) continue;
      if (budget != nullptr && result.empties_at - now_ns > budget->burst_ns) {
        reported_debts_.Note(ConcurrencyKeyOf(*budget, charge.tag),
                             {.reported_at_ns = now.wall_ns, .reported = actual});
      }
      return;
    }
    Ledger::Charged charged = charge.charged();
    if (!ledger->Translate(permit.policy_version, charged)) return;
    if (ledger->Refund(charged, charged_ns, charged_ns - actual_ns, now_ns) >= 0) return;
  }
}

}  // namespace headgate::engine
