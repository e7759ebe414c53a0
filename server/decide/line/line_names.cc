#include "server/decide/line/line_names.h"

#include <algorithm>
#include <string>
#include <variant>

#include "common/identity.h"
#include "server/decide/engine/policy.h"

namespace headgate::line {
namespace {

// The bucket's name, as people know it; empty: of the whole budget.
std::string BucketName(const engine::Violation& violation, const engine::BudgetSpec& budget,
                       const engine::CheckRequest& request) {
  if (const auto* by_tag = std::get_if<engine::SplitByTag>(&budget.split); by_tag != nullptr) {
    for (const engine::Tag& tag : request.tags) {
      if (tag.key == by_tag->key) return std::string(tag.value);
    }
    return "";
  }
  if (violation.level <= 0) return "";
  Identity identity;
  if (!Identity::Parse(request.identity, 0, identity).ok()) return "";
  return std::string(identity.Level(std::min<int>(violation.level, identity.depth())));
}

}  // namespace

LineNames NamesOf(const engine::Violation& violation, const engine::CheckAnswer& answer,
                  const engine::CheckRequest& request) {
  LineNames names;
  names.target = std::string(request.target);
  if (answer.policy == nullptr) return names;
  const engine::Policy& policy = *answer.policy;
  if (names.target.empty() && !policy.targets.empty()) names.target = policy.targets[0].name;
  if (violation.budget < policy.budget_specs.size()) {
    names.budget = policy.budget_specs[violation.budget].name;
    names.bucket = BucketName(violation, policy.budget_specs[violation.budget], request);
  }
  if (violation.limit == engine::Limit::kHealth && violation.profile < policy.profiles.size()) {
    names.profile = policy.profiles[violation.profile].name;
  }
  if (violation.rule != engine::kNoRule)
    names.rule = std::string(policy.rules.name(violation.rule));
  return names;
}

}  // namespace headgate::line
