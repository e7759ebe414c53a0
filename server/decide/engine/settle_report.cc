// Settling a Report: the permit ends, each of its charges becomes what the work really cost, or
// kept the database busy, as its budget measures it, and the cost model learns from the difference.
//
// Work that cost more is charged the rest, whatever its bucket's burst, but at most what one Report
// may charge (overrun.h), and no more than leaves its bucket max_debt above its burst; the rest is
// forgiven. Work that cost less gets back what has not drained yet, which
// Ledger::Refund knows. A charge whose budget has since gone, or is split or measured differently,
// is left as it is, which the settlement says where the budget is there.
//
// A Report on a lease says what was spent of it, as a sum. What it does not say of the actual cost
// is predicted of that sum, so that the rest is given back.

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/busy_time.h"
#include "server/decide/engine/decision.h"
#include "server/decide/engine/overrun.h"
#include "server/decide/engine/settlements.h"

namespace headgate::engine {

namespace {

absl::Status ValidateSpent(const ActualCost::Spent& spent) {
  if (absl::Status valid = ValidateCost("lease_use.spent", spent.estimate); !valid.ok())
    return valid;
  if (absl::Status valid = ValidateCost("lease_use.safe_spent", spent.safe_estimate); !valid.ok())
    return valid;
  if (spent.pieces < 0 || spent.pieces > kMostPieces) {
    return absl::InvalidArgumentError(absl::StrCat("lease_use.pieces: are ", spent.pieces,
                                                   "; at least 0, at most ", kMostPieces));
  }
  if (spent.pieces == 0 && (spent.estimate > 0 || spent.safe_estimate > 0)) {
    return absl::InvalidArgumentError("lease_use.pieces: are 0, and yet an estimate was spent");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Settlement> Settlements::Report(PermitId id, const ActualCost& actual, Now now) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  if (actual.cost.has_value()) {
    if (absl::Status valid = ValidateCost("actual_cost", *actual.cost); !valid.ok()) return valid;
  }
  if (actual.busy_time.has_value()) {
    absl::Status valid = ValidateBusyTime(*actual.busy_time, core_.options.permit_ttl);
    if (!valid.ok()) return valid;
  }
  if (actual.spent.has_value()) {
    if (absl::Status valid = ValidateSpent(*actual.spent); !valid.ok()) return valid;
  }
  if (actual.spent.has_value() && actual.spent->subject_key != 0) {
    const std::optional<LivePermit> lease = core_.permits.Look(id, now.monotonic_ns);
    if (lease.has_value() && lease->subject_key != 0 &&
        lease->subject_key != actual.spent->subject_key) {
      return absl::InvalidArgumentError("lease_use.identity: is not the one that the lease is of");
    }
  }
  const double charged_safely = core_.safe_rates.End(id).value_or(0);
  Settlement settlement;
  if (!core_.adopted.IsEmpty()) {
    std::unique_ptr<Permit> permit;
    switch (core_.adopted.Take(id, permit)) {
      case AdoptedPermits::Found::kTaken:
        return SettlePermit(*permit, {actual, charged_safely}, now);
      case AdoptedPermits::Found::kReported:
        settlement.outcome = ReportOutcome::kAlreadySettled;
        return settlement;
      case AdoptedPermits::Found::kNo:
        break;
    }
  }
  uint32_t slot = 0;
  switch (core_.permits.Settle(id, slot)) {
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
  settlement = SettlePermit(core_.permits.body(slot), {actual, charged_safely}, now);
  core_.permits.Settled(slot);
  return settlement;
}

Settlement Settlements::SettlePermit(const Permit& permit, const Told& told, const Now& now) {
  Settlement settlement;
  ActualCost actual = told.actual;
  // No part of it is known.
  if (permit.estimate <= 0) actual.spent.reset();
  const ActualAmounts amounts = AmountsOf(permit, {actual, told.charged_safely}, now);
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    SettleCharge({permit, i, now}, amounts, settlement);
  }
  LearnFrom(permit, amounts, now);
  return settlement;
}

Settlements::ActualAmounts Settlements::AmountsOf(const Permit& permit, const Told& told,
                                                  const Now& now) const {
  const ActualCost& actual = told.actual;
  const double since = BusySecondsOf({}, permit, now, core_.options.permit_ttl);
  ActualAmounts amounts{
      .cost = actual.cost, .busy_seconds = {}, .seconds_since = since, .estimate = permit.estimate};
  if (actual.spent.has_value()) {
    const ActualCost::Spent& spent = *actual.spent;
    // What its safe rate was charged for is paid; the lease bears what was spent beyond that.
    const double beyond = std::max(spent.safe_estimate - told.charged_safely, 0.0);
    const double here = spent.estimate + beyond;
    const double all = spent.estimate + spent.safe_estimate;
    const double share = all > 0 ? here / all : 1;
    if (amounts.cost.has_value()) *amounts.cost *= share;
    amounts.spent_share = here / permit.estimate;
    amounts.estimate = here;
    amounts.pieces = static_cast<double>(spent.pieces) * share;
    // A lease lasts whether work is done under it or not: its time says nothing, neither here nor
    // where Reports are not believed.
    if (actual.busy_time.has_value() && !DistrustsReports(permit)) {
      amounts.busy_seconds = absl::ToDoubleSeconds(*actual.busy_time) * share;
    }
    return amounts;
  }
  const double busy = BusySecondsOf(actual, permit, now, core_.options.permit_ttl);
  amounts.busy_seconds = busy < since && DistrustsReports(permit) ? since : busy;
  return amounts;
}

void Settlements::LearnFrom(const Permit& permit, const ActualAmounts& actual, const Now& now) {
  const double pieces = actual.pieces;
  if (pieces == 0) return;
  CostModel::Lesson lesson;
  lesson.subject = {.target = permit.target_key,
                    .root = permit.root_key,
                    .caller = permit.caller_key,
                    .pattern = permit.pattern_key};
  lesson.estimate = actual.estimate / pieces;
  lesson.wall_ns = now.wall_ns;
  const uint8_t teaches = permit.teaches;
  const auto of_one = [&](std::optional<double> sum) {
    return sum.has_value() ? std::optional(*sum / pieces) : std::nullopt;
  };
  if ((teaches & kTeachesCost) != 0) lesson.cost = of_one(actual.cost);
  if ((teaches & kTeachesBusyTime) != 0) lesson.busy_seconds = of_one(actual.busy_seconds);
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    const PermitCharge& charge = permit.charges[i];
    if (charge.tag == 0) continue;
    std::optional<double>& charged =
        permit.UnitOf(i) == BudgetUnit::kCost ? lesson.charged_cost : lesson.charged_busy_seconds;
    charged = std::max(charged.value_or(0), charge.cost * actual.spent_share / pieces);
  }
  core_.costs.Learn(lesson);
}

double Settlements::ExpectedOf(const PermitCharge& charge, const Ledger& ledger, double since) {
  if (ledger.axis().unit == BudgetUnit::kCost) return charge.cost;
  return ledger.axis().is_auto ? since : std::max(double{charge.cost}, since);
}

bool Settlements::DistrustsReports(const Permit& permit) const {
  const PolicyRef& policy = core_.policies.Get();
  if (policy == nullptr) return false;
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    const Ledger* const ledger = LedgerOf(*policy, permit, i);
    if (ledger != nullptr && ledger->distrusts_reports()) return true;
  }
  return false;
}

void Settlements::SettleCharge(const ChargeOf& of, const ActualAmounts& amounts,
                               Settlement& settlement) {
  const Permit& permit = of.permit;
  const uint32_t place = of.place;
  const PermitCharge& charge = permit.charges[place];
  const BudgetUnit unit = permit.UnitOf(place);
  const std::optional<double> told = amounts.Of(unit);
  if (!told.has_value() && amounts.spent_share == 1) return;
  // A holder may say that it spent many times what it had.
  const double reported = std::min(told.value_or(charge.cost * amounts.spent_share), kMaxAmount);
  bool counted = false;
  // Null: restored, and reported before there is a policy again.
  for (const PolicyRef& policy = core_.policies.Get(); policy != nullptr;
       core_.AwaitNewer(policy->version)) {
    Ledger* const ledger = LedgerOf(*policy, permit, place);
    if (ledger == nullptr) return NoteUnsettled(policy, of, reported, settlement);
    // What is predicted has had its share taken.
    const bool is_shared = told.has_value() && unit == BudgetUnit::kBusyTime;
    const double actual = is_shared ? reported * ledger->charged_share() : reported;
    // A budget that has gone, and still owes, has no burst any more.
    const Budget* const budget = policy->BudgetOfSlot(charge.ledger);
    const double expected = ExpectedOf(charge, *ledger, amounts.seconds_since);
    const double most =
        budget == nullptr ? kDefaultMaxOverrun * expected : MostCharged(*budget, expected);
    if (ledger->axis().is_auto && !counted) ledger->CountReport(std::min(reported, most));
    counted = true;
    const std::optional<SettledTo> settled =
        SettleTo(std::min(actual, most), {ledger, budget, actual}, of);
    if (!settled.has_value()) continue;
    if (!settled->is_known) return NoteUnsettled(policy, of, actual, settlement);
    if (actual <= settled->charged) return;
    ledger->CountOverrun(actual - settled->charged);
    if (budget == nullptr) return;
    settlement.overruns.push_back(
        {.budget = budget->spec, .unit = unit, .reported = actual, .charged = settled->charged});
    settlement.policy = policy;
    return;
  }
}

void Settlements::NoteUnsettled(const PolicyRef& policy, const ChargeOf& of, double actual,
                                Settlement& settlement) {
  const PermitCharge& charge = of.permit.charges[of.place];
  if (charge.tag == 0 || actual == charge.cost) return;
  const Budget* const budget = policy->BudgetOfSlot(charge.ledger);
  if (budget == nullptr || budget->ledger == nullptr) return;
  settlement.unsettled.push_back(budget->spec);
  settlement.policy = policy;
}

std::optional<Settlements::SettledTo> Settlements::SettleTo(double amount, const SettledAt& at,
                                                            const ChargeOf& of) {
  const Permit& permit = of.permit;
  const Now& now = of.now;
  const PermitCharge& charge = permit.charges[of.place];
  Ledger& ledger = *at.ledger;
  const int64_t charged_ns = ledger.ToNs(charge.cost);
  const int64_t more_ns = ledger.ToNs(amount) - charged_ns;
  const int64_t now_ns = ledger.Now(ledger.clock().Read(now.monotonic_ns).virtual_ns);
  if (more_ns <= 0) {
    Ledger::Charged charged = charge.charged();
    const Ledger::Place place = ledger.Translate(permit.policy_version, charged);
    if (place == Ledger::Place::kUnknown) return SettledTo{amount, more_ns == 0};
    if (place == Ledger::Place::kDrained) return SettledTo{amount};
    const int64_t taken_ns = ledger.Refund(charged, charged_ns, -more_ns, now_ns);
    if (taken_ns < 0) return std::nullopt;
    TellSettled(at.budget, of, -taken_ns);
    return SettledTo{amount};
  }
  const int64_t most_ns =
      at.budget == nullptr ? std::numeric_limits<int64_t>::max() : at.budget->most_debt_ns;
  int64_t added_ns = 0;
  const ChargeResult result = ledger.ChargeUpTo(charge.tag, now_ns, more_ns, most_ns, added_ns);
  if (result.outcome == ChargeOutcome::kMoved) return std::nullopt;
  if (at.budget != nullptr && result.empties_at - now_ns > at.budget->burst_ns) {
    core_.reported_debts.Note(ConcurrencyKeyOf(*at.budget, charge.tag),
                              {.reported_at_ns = now.wall_ns, .reported = at.reported});
  }
  TellSettled(at.budget, of, added_ns);
  if (added_ns == more_ns) return SettledTo{amount};
  return SettledTo{std::min(amount, charge.cost + ledger.ToUnits(added_ns))};
}

}  // namespace headgate::engine
