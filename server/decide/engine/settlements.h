// How a permit ends before its time: its Report settles it, or its answer could not be delivered.
//
// settle_report.cc has the arithmetic of Reports, withdraw.cc that of answers that are taken back.
//
// Thread-safe. Of two threads that end one permit, one does, and the other is told so.
//
//   absl::StatusOr<Settlement> settled = Settlements(core).Report(permit, {.cost = 310}, now);

#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/settlement.h"

namespace headgate::engine {

class Settlements {
 public:
  explicit Settlements(EngineCore& core) : core_(core) {}

  // Settles a permit with what the work cost, and learns from it. Harmless if repeated.
  // InvalidArgument for a bad cost or busy time, NotFound for a permit that this process never
  // issued.
  absl::StatusOr<Settlement> Report(PermitId permit, const ActualCost& actual, Now now);

  // Undoes an admitted answer that could not be delivered, as if its Check had never been made:
  // what has not drained of its charges is given back, its permit and its concurrency too, its
  // request id is free, and nothing is learnt. An answer that was repeated since is left alone, for
  // somebody has it; so is one without a permit, whose charges nobody knows. Harmless if repeated,
  // or after a Report. `request` is the Check's, with its request id at least.
  void Withdraw(const CheckRequest& request, const CheckAnswer& answer, Now now);

 private:
  // What the work cost, in each unit; none: the prediction stands, of what was spent.
  struct ActualAmounts {
    std::optional<double> cost;
    std::optional<double> busy_seconds;
    double seconds_since = 0;  // the permit was issued
    double spent_share = 1;    // of what was granted
    double estimate = 0;       // that these are of
    double pieces = 1;         // that they are the sums of
    std::optional<double> Of(BudgetUnit unit) const {
      return unit == BudgetUnit::kCost ? cost : busy_seconds;
    }
  };
  // One charge of a permit that ends, and when.
  struct ChargeOf {
    const Permit& permit;
    uint32_t place;
    const Now& now;
  };
  // Where a Report is settled; the budget is null where the policy has no such budget.
  struct SettledAt {
    Ledger* ledger;
    const Budget* budget;
    double reported;
  };

  // What a Report says, and what its lease was charged since it was over, in the estimate's unit.
  struct Told {
    const ActualCost& actual;
    double charged_safely = 0;
  };
  Settlement SettlePermit(const Permit& permit, const Told& told, const Now& now);
  ActualAmounts AmountsOf(const Permit& permit, const Told& told, const Now& now) const;
  void SettleCharge(const ChargeOf& of, const ActualAmounts& actual, Settlement& settlement);
  struct SettledTo {
    double charged = 0;    // of the amount
    bool is_known = true;  // else the charge stands as it was
  };
  // Makes the charge one of `amount`. None: the bucket was moved.
  std::optional<SettledTo> SettleTo(double amount, const SettledAt& at, const ChargeOf& of);
  // Nothing can be settled there any more, though the work took `actual`.
  static void NoteUnsettled(const PolicyRef& policy, const ChargeOf& of, double actual,
                            Settlement& settlement);
  // What a Report is measured by, `since` seconds after its permit was issued: see overrun.h.
  static double ExpectedOf(const PermitCharge& charge, const Ledger& ledger, double since);
  // Whether Reports of busy time are not believed for one of its budgets.
  bool DistrustsReports(const Permit& permit) const;
  // The sums of a lease teach what one of its pieces does, the mean.
  void LearnFrom(const Permit& permit, const ActualAmounts& actual, const Now& now);
  // All of it that has not drained.
  void RefundCharge(const ChargeOf& of);
  // Where the permit's charge at a place stands; null: it is to be left as it is.
  static Ledger* LedgerOf(const Policy& policy, const Permit& permit, uint32_t place);
  void TellSettled(const Budget* budget, const ChargeOf& of, int64_t delta_ns) const;

  EngineCore& core_;
};

}  // namespace headgate::engine
