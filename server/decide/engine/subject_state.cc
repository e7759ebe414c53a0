#include "server/decide/engine/subject_state.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "absl/types/span.h"
#include "common/hash.h"

namespace headgate::engine {
namespace {

// The same for all servers, so it is no secret. Only who writes configurations could look for two
// that look alike, and has no use for them.
constexpr uint64_t kSeed = 0x6c656173657374;

class Digest {
 public:
  Digest& Add(std::string_view text) { return Add(HashBytes(text, kSeed)); }
  Digest& Add(double number) { return Add(std::bit_cast<uint64_t>(number)); }
  Digest& Add(uint64_t number) {
    sum_ = CombineHash(sum_, number);
    return *this;
  }
  Digest& Add(int64_t number) { return Add(static_cast<uint64_t>(number)); }
  // Only through its value: promotion would make any of the above of it.
  Digest& AddFlag(bool flag) { return Add(uint64_t{flag}); }
  uint64_t sum() const { return sum_; }

 private:
  uint64_t sum_ = kSeed;
};

uint64_t OfRule(const RuleSet& rules, uint32_t rule) {
  const RuleSet::View view = rules.ViewOf(rule);
  return Digest()
      .Add(std::string_view(rules.name(rule)))
      .Add(static_cast<uint64_t>(view.kind))
      .Add(view.ratio)
      .Add(view.weight)
      .Add(int64_t{view.priority})
      .Add(static_cast<uint64_t>(view.lifted_by))
      .sum();
}

void AddBudget(const Policy& policy, const Budget& budget, Digest& digest) {
  digest.Add(std::string_view(policy.budget_specs[budget.spec].name))
      .AddFlag(budget.warn)
      .AddFlag(budget.is_auto)
      .Add(static_cast<uint64_t>(budget.unit))
      .Add(static_cast<uint64_t>(budget.split))
      .Add(uint64_t{budget.split_depth})
      .Add(budget.split_tag)
      .Add(budget.ns_per_unit)
      .Add(budget.burst_ns)
      .Add(budget.max_cost)
      .Add(budget.max_concurrency)
      .Add(budget.default_cost)
      .Add(budget.max_charged)
      .Add(budget.blocked.has_value() ? static_cast<uint64_t>(*budget.blocked) + 1 : uint64_t{0})
      .Add(budget.is_auto ? budget.ledger->early_changes() : uint64_t{0});
}

// The gates that would refuse: those of ExamineLimits.
void AddGates(const Policy& policy, const Resolved& resolved, const Now& now, Digest& digest) {
  const auto add = [&](uint32_t profile) {
    if (profile == kNoRule) return;
    const VirtualClock& clock = *policy.targets[resolved.target].gates[profile];
    digest.Add(std::string_view(policy.profiles[profile].name))
        .AddFlag(clock.Read(now.monotonic_ns).health.gate_shut);
  };
  const Match& match = resolved.match;
  for (int i = 0; i < match.gates_used; ++i) add(match.gates[i].profile);
  if (match.gates_used > 0) return;
  if (resolved.candidates_used == 0) return add(policy.targets[resolved.target].default_profile);
  for (int i = 0; i < resolved.candidates_used; ++i) {
    const Budget& budget = *resolved.candidates[i].budget;
    if (!budget.warn) add(budget.profile);
  }
}

}  // namespace

uint64_t SubjectStateOf(const Policy& policy, const Resolved& resolved, const CheckRequest& request,
                        const Now& now) {
  Digest digest;
  digest.Add(std::string_view(policy.targets[resolved.target].name));
  // In the policy's order, in which budgets and rules that are inserted elsewhere leave them.
  for (const uint32_t rule : policy.rules.FindAll({.identity = &resolved.identity,
                             .tags = request.tags,
                             .remote_address = request.remote_address,
                             .target = resolved.target,
                             .wall_ns = now.wall_ns})) {
    digest.Add(OfRule(policy.rules, rule));
  }
  for (int i = 0; i < resolved.candidates_used; ++i) {
    AddBudget(policy, *resolved.candidates[i].budget, digest);
  }
  // Who is exempt passes them all.
  if (resolved.match.exempt == kNoRule) AddGates(policy, resolved, now, digest);
  return std::max<uint64_t>(digest.sum(), 1);
}

}  // namespace headgate::engine
