#include "server/decide/engine/policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/decide/engine/target_text.h"

namespace headgate::engine {

std::vector<std::string> Policy::TargetNames() const {
  std::vector<std::string> names;
  for (const Target& target : targets) names.push_back(target.name);
  return names;
}

absl::Status Policy::FindTarget(std::string_view name, uint32_t& target) const {
  if (name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("target: ", UnnamedTargetText(TargetNames())));
  }
  const auto it = target_by_name.find(Sv(name));
  if (it == target_by_name.end()) {
    return absl::NotFoundError(absl::StrCat("target: ", NoTargetText(name, TargetNames())));
  }
  target = it->second;
  return absl::OkStatus();
}

bool IsAuto(const BudgetSpec& budget) {
  return budget.rate.has_value() && std::holds_alternative<AutoRate>(*budget.rate);
}

BudgetUnit UnitOf(const BudgetSpec& budget) {
  return budget.unit.value_or(IsAuto(budget) ? BudgetUnit::kBusyTime : BudgetUnit::kCost);
}

std::optional<double> RateOf(const BudgetSpec& budget, const TargetSpec& target) {
  if (const auto* fixed = std::get_if<UnitsPerSecond>(&*budget.rate)) return fixed->value;
  if (const auto* share = std::get_if<ServerShare>(&*budget.rate)) {
    return share->percent / 100 * target.capacity.value_or(0);
  }
  return std::nullopt;
}

double BurstOf(const BudgetSpec& budget, std::optional<double> rate) {
  if (const auto* units = std::get_if<double>(&*budget.burst)) return *units;
  const double seconds = absl::ToDoubleSeconds(std::get<absl::Duration>(*budget.burst));
  return std::min(seconds * rate.value_or(0), kMaxAmount);
}

}  // namespace headgate::engine
