#include "server/decide/engine/learnt_costs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "common/strings.h"

namespace headgate::engine {
namespace {

// A filter in the hashes of one policy. 0: any.
struct Wanted {
  bool nothing = false;  // it names a target that is none, or no identity
  uint64_t target = 0, root = 0, pattern = 0;
  std::optional<uint64_t> caller = {};

  bool operator()(const CostModel::Entry& entry) const {
    const CostSubject& subject = entry.subject;
    return (target == 0 || subject.target == target) && (root == 0 || subject.root == root) &&
           (pattern == 0 || subject.pattern == pattern) &&
           (!caller.has_value() || subject.caller == *caller);
  }
};

Wanted WantedBy(const LearntCostFilter& filter, const Policy& policy, uint64_t seed) {
  Wanted wanted;
  if (!filter.target.empty()) {
    uint32_t place = 0;
    if (!policy.ResolveTarget(filter.target, place).ok()) return {.nothing = true};
    wanted.target = policy.targets[place].key;
  }
  if (!filter.identity.empty()) {
    const absl::StatusOr<Identity> identity = Identity::Parse(filter.identity, seed);
    if (!identity.ok()) return {.nothing = true};
    wanted.root = identity->LevelHash(1);
  }
  if (!filter.pattern.empty()) wanted.pattern = HashBytes(filter.pattern, seed) | 1;
  if (filter.caller.has_value()) {
    wanted.caller = filter.caller->empty() ? 0 : HashBytes(*filter.caller, seed) | 1;
  }
  return wanted;
}

std::optional<double> Known(float value) {
  if (std::isnan(value)) return std::nullopt;
  return value;
}

LearntCost ToLearntCost(const CostModel::Entry& entry, const Target& target) {
  LearntCost cost;
  cost.target = target.name;
  cost.root = std::string(entry.names.root);
  cost.caller = std::string(entry.names.caller);
  cost.pattern = std::string(entry.names.pattern);
  cost.has_pattern = entry.subject.pattern != 0;
  cost.cost_ratio = Known(entry.cost.Ratio());
  cost.mean_cost = Known(entry.cost.Mean());
  cost.busy_ratio = Known(entry.busy.Ratio());
  if (const auto mean = Known(entry.busy.Mean()); mean.has_value()) {
    cost.mean_busy_time = absl::Seconds(*mean);
  }
  cost.reports = static_cast<int64_t>(entry.reports);
  cost.last_reported_at = absl::FromUnixNanos(entry.reported_at_ns);
  return cost;
}

// Null: the target is not the policy's.
const Target* FindTarget(const Policy& policy, uint64_t key) {
  for (const Target& target : policy.targets) {
    if (target.key == key) return &target;
  }
  return nullptr;
}

void SortLatestFirst(std::vector<LearntCost>& costs) {
  const auto key = [](const LearntCost& cost) {
    return std::tie(cost.target, cost.root, cost.caller, cost.pattern);
  };
  std::sort(costs.begin(), costs.end(), [&](const LearntCost& a, const LearntCost& b) {
    if (a.last_reported_at != b.last_reported_at) return a.last_reported_at > b.last_reported_at;
    return key(a) < key(b);
  });
}

}  // namespace

std::vector<LearntCost> LearntCosts::Read(const LearntCostFilter& filter) const {
  std::vector<LearntCost> costs;
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return costs;
  const Wanted wanted = WantedBy(filter, *policy, core_.options.seed);
  if (wanted.nothing) return costs;
  core_.costs.ForEach([&](const CostModel::Entry& entry) {
    const Target* const target = FindTarget(*policy, entry.subject.target);
    if (target != nullptr && wanted(entry)) costs.push_back(ToLearntCost(entry, *target));
  });
  SortLatestFirst(costs);
  return costs;
}

absl::StatusOr<ForgottenCosts> LearntCosts::Forget(const LearntCostFilter& filter) {
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  uint32_t place = 0;
  if (absl::Status found = policy->ResolveTarget(filter.target, place); !found.ok()) return found;
  if (!filter.identity.empty()) {
    absl::Status valid = Identity::Parse(filter.identity, core_.options.seed).status();
    if (!valid.ok()) return valid;
  }
  const Target& target = policy->targets[place];
  LearntCostFilter on_target = filter;
  on_target.target = target.name;
  Wanted wanted = WantedBy(on_target, *policy, core_.options.seed);
  wanted.nothing = false;
  wanted.target = target.key;
  ForgottenCosts forgotten;
  core_.costs.ForgetIf([&](const CostModel::Entry& entry) {
    if (!wanted(entry)) return false;
    forgotten.costs.push_back(ToLearntCost(entry, target));
    return true;
  });
  forgotten.count = forgotten.costs.size();
  if (forgotten.count == 0) {
    const bool by_pattern = filter.identity.empty() && !filter.pattern.empty();
    return absl::NotFoundError(
        absl::StrCat(by_pattern ? "pattern: nothing was learnt of it"
                                : "identity: nothing was learnt of its root",
                     target.name.empty() ? "" : absl::StrCat(" on target '", target.name, "'")));
  }
  SortLatestFirst(forgotten.costs);
  if (forgotten.costs.size() > ForgottenCosts::kMostShown) {
    forgotten.costs.resize(ForgottenCosts::kMostShown);
  }
  return forgotten;
}

}  // namespace headgate::engine
