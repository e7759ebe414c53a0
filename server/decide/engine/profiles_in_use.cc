#include "server/decide/engine/profiles_in_use.h"

#include <cstdint>

#include "server/decide/engine/policy.h"

namespace headgate::engine {

std::vector<std::string> ProfilesInUse(const Policy& policy, std::string_view target,
                                       absl::Time now) {
  const auto found = policy.target_by_name.find(std::string(target));
  if (found == policy.target_by_name.end()) return {};
  const uint32_t place = found->second;
  std::vector<bool> used(policy.profiles.size());
  const auto use = [&](uint32_t profile) {
    if (profile < used.size()) used[profile] = true;
  };
  use(policy.targets[place].default_profile);
  for (size_t i = 0; i < policy.budget_specs.size(); ++i) {
    const size_t budget = place * policy.budget_specs.size() + i;
    if (now < policy.charged_until[budget]) use(policy.budgets[budget].profile);
  }
  for (uint32_t rule = 0; rule < policy.rules.size(); ++rule) {
    const RuleSet::View view = policy.rules.ViewOf(rule);
    if (view.kind == RuleSet::Kind::kHealth && now < view.expires_at) use(view.profile);
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) names.push_back(policy.profiles[i].name);
  }
  return names;
}

}  // namespace headgate::engine
