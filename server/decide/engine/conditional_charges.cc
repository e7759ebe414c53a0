#include "server/decide/engine/conditional_charges.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "common/hash.h"

namespace headgate::engine {
namespace {

bool IsConditional(const MatchSpec& match) {
  return !match.tags.empty() || !match.remote_address.empty() || match.schedule.has_value();
}

}  // namespace

ConditionalCharges::ConditionalCharges(const PolicySpec& spec, uint64_t seed) {
  absl::flat_hash_map<std::string, uint32_t> budgets;
  for (uint32_t i = 0; i < spec.budgets.size(); ++i) budgets[spec.budgets[i].name] = i;
  for (const RuleSpec& rule : spec.rules) {
    const auto* const action = std::get_if<ChargeAction>(&rule.action);
    if (action == nullptr || !IsConditional(rule.match)) continue;
    Charge charge;
    if (!rule.match.identity.empty()) {
      const absl::StatusOr<Identity> selector = Identity::Parse(rule.match.identity, seed);
      if (!selector.ok()) continue;  // which no valid policy has
      charge.depth = selector->depth();
      charge.level_hash = selector->LevelHash(charge.depth);
    }
    charge.has_segment = !rule.match.segment.empty();
    if (charge.has_segment) charge.segment_hash = HashBytes(rule.match.segment, seed);
    for (uint32_t i = 0; i < spec.targets.size(); ++i) {
      if (spec.targets[i].name == rule.match.target) charge.target = i;
    }
    charge.has_target = !rule.match.target.empty();
    for (const std::string& budget : action->budgets) {
      charge.budget = budgets.at(budget);
      charges_.push_back(charge);
    }
  }
}

bool ConditionalCharges::MayCharge(const Identity& identity, uint32_t target,
                                   uint32_t budget) const {
  const auto has = [&](uint64_t segment_hash) {
    for (int depth = 1; depth <= identity.depth(); ++depth) {
      if (identity.SegmentHash(depth) == segment_hash) return true;
    }
    return false;
  };
  return std::any_of(charges_.begin(), charges_.end(), [&](const Charge& charge) {
    if (charge.budget != budget || (charge.has_target && charge.target != target)) return false;
    if (charge.has_segment && !has(charge.segment_hash)) return false;
    return charge.depth <= identity.depth() &&
           (charge.depth == 0 || identity.LevelHash(charge.depth) == charge.level_hash);
  });
}

}  // namespace headgate::engine
