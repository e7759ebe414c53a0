#include "server/decide/engine/saved_target.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/decide/engine/bucket_table.h"

namespace headgate::engine {
namespace {

absl::Status Unsound(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("state of a target: ", what, ": no engine has saved this"));
}
absl::Status Unsound(absl::string_view what, size_t place) {
  return Unsound(absl::StrCat(what, " ", place));
}

bool IsSpan(int64_t span_ns) {
  return span_ns >= -Bucket::kHorizonNs && span_ns <= Bucket::kHorizonNs;
}
bool IsAmount(double amount) { return amount >= 0 && amount <= kMaxAmount; }

bool IsSound(const SavedDebts& debts) {
  return !debts.budget.empty() && std::isfinite(debts.ns_per_unit) && debts.ns_per_unit > 0 &&
         debts.unit <= BudgetUnit::kBusyTime && debts.owed_ns >= 0 &&
         debts.owed_ns <= Bucket::kHorizonNs && IsSound(debts.table);
}

bool IsSound(const SavedTarget& saved, const SavedTargetPermit& permit) {
  if (permit.id == 0 || permit.charges.size() > kMaxBudgetsPerCheck) return false;
  if (!IsSpan(permit.expires_in_ns) || !IsSpan(permit.issued_before_ns)) return false;
  if (permit.estimate != CostModel::kNone && !IsAmount(permit.estimate)) return false;
  for (const SavedTargetCharge& charge : permit.charges) {
    const bool has_debts = charge.debts < saved.debts.size();
    if (!has_debts && charge.debts != SavedTargetCharge::kNoDebts) return false;
    if (!IsSpan(charge.ends_in_ns) || charge.refunded_since_ns < 0 ||
        charge.refunded_since_ns > Bucket::kHorizonNs || !IsAmount(charge.cost)) {
      return false;
    }
  }
  return permit.teaches <= kTeachesAll;
}

}  // namespace

absl::Status Validate(const SavedTarget& saved) {
  for (size_t i = 0; i < saved.debts.size(); ++i) {
    if (!IsSound(saved.debts[i])) return Unsound("debts", i);
  }
  for (size_t i = 0; i < saved.permits.size(); ++i) {
    if (!IsSound(saved, saved.permits[i])) return Unsound("permit", i);
  }
  for (size_t i = 0; i < saved.safe_rates.size(); ++i) {
    if (!IsSound(saved.safe_rates[i], saved.debts.size())) return Unsound("safe rate", i);
  }
  if (!IsControl(saved.control)) return Unsound("what its controller learnt");
  return absl::OkStatus();
}

}  // namespace headgate::engine
