#include "server/decide/engine/policy_install.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/hash.h"

namespace headgate::engine {
namespace {

// Of each budget on each target, as Policy::charged_until has it. The targets have been taken out.
std::vector<absl::Time> ChargedUntil(const PolicySpec& spec,
                                     const std::vector<TargetSpec>& targets) {
  absl::flat_hash_map<std::string_view, size_t> places;
  for (size_t i = 0; i < spec.budgets.size(); ++i) places[spec.budgets[i].name] = i;
  std::vector<absl::Time> until(targets.size() * spec.budgets.size(), absl::InfinitePast());
  for (const RuleSpec& rule : spec.rules) {
    const auto* const charge = std::get_if<ChargeAction>(&rule.action);
    if (charge == nullptr) continue;
    for (size_t target = 0; target < targets.size(); ++target) {
      if (!rule.match.target.empty() && rule.match.target != targets[target].name) continue;
      for (const std::string& budget : charge->budgets) {
        absl::Time& its = until[target * spec.budgets.size() + places.at(budget)];
        its = std::max(its, rule.expires_at);
      }
    }
  }
  return until;
}

// What Policy::shape has to be.
uint64_t ShapeOf(const Policy& policy, uint64_t seed) {
  uint64_t shape = seed;
  const auto add = [&](const std::string& name) {
    shape = CombineHash(shape, HashBytes(name, seed));
  };
  const auto end_list = [&](size_t size) { shape = CombineHash(shape, size); };
  for (const TargetSpec& target : policy.target_specs) add(target.name);
  end_list(policy.target_specs.size());
  for (const BudgetSpec& budget : policy.budget_specs) add(budget.name);
  end_list(policy.budget_specs.size());
  for (const HealthProfileSpec& profile : policy.profiles) {
    add(profile.name);
    for (const std::string& signal : profile.signals) add(signal);
    end_list(profile.signals.size());
  }
  for (uint32_t rule = 0; rule < policy.rules.size(); ++rule) add(policy.rules.name(rule));
  end_list(policy.rules.size());
  return shape;
}

// All but what binds it to debts: LedgerBook::Prepare does that.
std::shared_ptr<Policy> CompilePolicy(PolicySpec spec, uint64_t version, uint64_t seed) {
  auto policy = std::make_shared<Policy>();
  policy->version = version;
  policy->rules = RuleSet::Compile(spec, seed);
  policy->conditional_charges = ConditionalCharges(spec, seed);
  policy->target_specs = std::move(spec.targets);
  if (policy->target_specs.empty()) policy->target_specs.emplace_back();
  policy->charged_until = ChargedUntil(spec, policy->target_specs);
  policy->profiles = std::move(spec.profiles);
  policy->budget_specs = std::move(spec.budgets);
  policy->share_patterns = spec.share_patterns;
  policy->shape = ShapeOf(*policy, seed);
  return policy;
}

}  // namespace

absl::Status PolicyInstall::Install(PolicySpec spec, Now now) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  if (absl::Status valid = Validate(spec); !valid.ok()) return valid;
  MutexLock lock(&core_.install_mutex);
  const std::shared_ptr<Policy> policy =
      CompilePolicy(std::move(spec), core_.version + 1, core_.options.seed);
  absl::StatusOr<LedgerBook::Change> change = core_.book.Prepare(*policy, now);
  if (!change.ok()) return change.status();
  if (core_.restored_shape.has_value()) {
    core_.requests.Adopt(policy, *core_.restored_shape == policy->shape);
    core_.restored_shape.reset();
  }
  core_.book.Commit(*std::move(change), now);
  core_.version = policy->version;
  std::vector<std::string_view> targets;
  for (const TargetSpec& target : policy->target_specs) targets.push_back(target.name);
  std::sort(targets.begin(), targets.end());
  core_.policies.Set(policy);
  core_.learnt_controls.KeepOnly(targets);
  // Last, because a Check that waits for the new policy holds a stripe of the index.
  core_.requests.DropEnded(now.monotonic_ns);
  core_.TellPolicyChanged();
  return absl::OkStatus();
}

}  // namespace headgate::engine
