// Settling a Report: the permit ends, each of its charges becomes what the work really cost, or
// kept the database busy, as its budget measures it, and the cost model learns from the difference.
//
// Work that cost more is charged the rest, whatever its bucket's burst, but at most what one Report
// may charge (overrun.h), and no more than leaves its bucket max_debt above its burst; the rest is
// forgiven. Work that cost less gets back what has not drained yet, which
// Ledger::Refund knows. A charge whose budget has since gone, or is split or measured differently,
// is left as it is.

#include <algorithm>
#include <limits>
#include <memory>

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
  if (!adopted_.IsEmpty()) {
    std::unique_ptr<Permit> permit;
    switch (adopted_.Take(id, permit)) {
      case AdoptedPermits::Found::kTaken:
        SettlePermit(*permit, actual, now, settlement);
        return settlement;
      case AdoptedPermits::Found::kReported:
        settlement.outcome = ReportOutcome::kAlreadySettled;
        return settlement;
      case AdoptedPermits::Found::kNo:
        break;
    }
  }
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
  SettlePermit(permits_.body(slot), actual, now, settlement);
  permits_.Settled(slot);
  return settlement;
}

void Engine::SettlePermit(const Permit& permit, const ActualCost& actual, const Now& now,
                          Settlement& settlement) {
  const double since = BusySecondsOf({}, permit, now, options_.permit_ttl);
  const double told = BusySecondsOf(actual, permit, now, options_.permit_ttl);
  const ActualAmounts amounts{
      .cost = actual.cost,
      .busy_seconds = told < since && DistrustsReports(permit) ? since : told,
      .seconds_since = since};
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    SettleCharge(permit, i, amounts, now, settlement);
  }
  LearnFrom(permit, amounts, now);
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

double Engine::ExpectedOf(const PermitCharge& charge, const Ledger& ledger, double since) {
  if (ledger.axis().unit == BudgetUnit::kCost) return charge.cost;
  return ledger.axis().is_auto ? since : std::max(double{charge.cost}, since);
}

bool Engine::DistrustsReports(const Permit& permit) const {
  const PolicyRef& policy = policies_.Get();
  if (policy == nullptr) return false;
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    const Ledger* const ledger = LedgerOf(*policy, permit, i);
    if (ledger != nullptr && ledger->distrusts_reports()) return true;
  }
  return false;
}

void Engine::SettleCharge(const Permit& permit, uint32_t place, const ActualAmounts& amounts,
                          Now now, Settlement& settlement) {
  const PermitCharge& charge = permit.charges[place];
  const BudgetUnit unit = permit.UnitOf(place);
  if (unit == BudgetUnit::kCost && !amounts.cost.has_value()) return;
  const double actual = unit == BudgetUnit::kCost ? *amounts.cost : amounts.busy_seconds;
  bool counted = false;
  // Null: restored, and reported before there is a policy again.
  for (const PolicyRef& policy = policies_.Get(); policy != nullptr; AwaitNewer(policy->version)) {
    Ledger* const ledger = LedgerOf(*policy, permit, place);
    if (ledger == nullptr) return;
    // A budget that has gone, and still owes, has no burst any more.
    const Budget* const budget = policy->BudgetOfSlot(charge.ledger);
    const double expected = ExpectedOf(charge, *ledger, amounts.seconds_since);
    const double most =
        budget == nullptr ? kDefaultMaxOverrun * expected : MostCharged(*budget, expected);
    if (ledger->axis().is_auto && !counted) ledger->CountReport(std::min(actual, most));
    counted = true;
    const std::optional<double> settled =
        SettleTo(std::min(actual, most), {ledger, budget, actual}, permit, place, now);
    if (!settled.has_value()) continue;
    if (actual <= *settled) return;
    ledger->CountOverrun(actual - *settled);
    if (budget == nullptr) return;
    settlement.overruns.push_back(
        {.budget = budget->spec, .unit = unit, .reported = actual, .charged = *settled});
    settlement.policy = policy;
    return;
  }
}

std::optional<double> Engine::SettleTo(double amount, const SettledAt& at, const Permit& permit,
                                       uint32_t place, const Now& now) {
  const PermitCharge& charge = permit.charges[place];
  Ledger& ledger = *at.ledger;
  const int64_t charged_ns = ledger.ToNs(charge.cost);
  const int64_t more_ns = ledger.ToNs(amount) - charged_ns;
  const int64_t now_ns = ledger.Now(ledger.clock().Read(now.monotonic_ns).virtual_ns);
  if (more_ns <= 0) {
    Ledger::Charged charged = charge.charged();
    if (!ledger.Translate(permit.policy_version, charged)) return amount;
    const int64_t taken_ns = ledger.Refund(charged, charged_ns, -more_ns, now_ns);
    if (taken_ns < 0) return std::nullopt;
    TellSettled(at.budget, permit, place, -taken_ns);
    return amount;
  }
  const int64_t most_ns =
      at.budget == nullptr ? std::numeric_limits<int64_t>::max() : at.budget->most_debt_ns;
  int64_t added_ns = 0;
  const ChargeResult result = ledger.ChargeUpTo(charge.tag, now_ns, more_ns, most_ns, added_ns);
  if (result.outcome == ChargeOutcome::kMoved) return std::nullopt;
  if (at.budget != nullptr && result.empties_at - now_ns > at.budget->burst_ns) {
    reported_debts_.Note(ConcurrencyKeyOf(*at.budget, charge.tag),
                         {.reported_at_ns = now.wall_ns, .reported = at.reported});
  }
  TellSettled(at.budget, permit, place, added_ns);
  return added_ns == more_ns ? amount : std::min(amount, charge.cost + ledger.ToUnits(added_ns));
}

}  // namespace headgate::engine
