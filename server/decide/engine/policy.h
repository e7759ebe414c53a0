// A policy as Checks read it: compiled rules, and budgets bound to the ledgers that hold their
// debt.
//
// Immutable. A new policy is built off to the side and swapped in whole; what it shares with the
// one before it are the clocks and the ledgers, which carry health-time and debt across.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/conditional_charges.h"
#include "server/decide/engine/ledger.h"
#include "server/decide/engine/rule_set.h"
#include "server/decide/engine/spec.h"
#include "server/decide/engine/virtual_clock.h"

namespace headgate::engine {

enum class SplitKind : uint8_t { kNone, kDepth, kTag };

// One budget on one target: all that the decision reads. The first line serves budgets that have a
// rate and nothing else, the second the others.
struct alignas(64) Budget {
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  Ledger* ledger = nullptr;  // null: unlimited rate
  const VirtualClock* clock = nullptr;
  double ns_per_unit = 0;
  int64_t burst_ns = 0;
  double default_cost = 1;
  uint32_t slot = 0;     // of the ledger in Policy::ledgers
  uint32_t spec = 0;     // place in PolicySpec::budgets
  uint32_t profile = 0;  // place of its health profile; kNoRule: none
  SplitKind split = SplitKind::kNone;
  uint8_t split_depth = 0;
  bool warn = false;
  bool limits_more = false;  // than the debt: look at the second line
  bool prefetches = false;   // its buckets, which are more than caches hold
  BudgetUnit unit = BudgetUnit::kCost;

  double max_cost = kNoLimit;
  int64_t max_concurrency = std::numeric_limits<int64_t>::max();
  uint64_t concurrency_key = 0;
  bool limits_concurrency = false;
  bool is_auto = false;
  double max_charged = kNoLimit;  // for one Check; an auto budget's burst
  double max_overrun = kDefaultMaxOverrun;
  // The most debt that a Report may leave. Not below the burst.
  int64_t most_debt_ns = std::numeric_limits<int64_t>::max();
  std::optional<Limit> blocked;  // kRate or kBurst is an explicit 0: the debt does not matter
  std::string_view split_tag;    // into the policy's own budget list

  // A predicted cost is a product with a ratio in single precision: what it is over a limit by less
  // than this is no more than its rounding.
  static constexpr double kRounding = 1e-6;

  bool AllowsCost(double cost) const { return cost <= max_cost * (1 + kRounding) && max_cost != 0; }
  // A cost that is over the burst by its rounding is the burst. How far a cost is over the longest
  // span, its nanoseconds do not say.
  int64_t FittedNs(int64_t cost_ns) const {
    if (cost_ns <= burst_ns || cost_ns > Ledger::kMaxSpanNs) [[likely]]
      return cost_ns;
    const double most_ns = static_cast<double>(burst_ns) * (1 + kRounding);
    return static_cast<double>(cost_ns) <= most_ns ? burst_ns : cost_ns;
  }
};

struct Target {
  std::string name;
  uint64_t key = 0;  // see CostSubject
  uint32_t default_profile = kNoRule;
  std::vector<std::shared_ptr<VirtualClock>> gates;  // one for each profile
};

struct Policy {
  uint64_t version = 0;
  uint64_t shape = 0;  // a hash of the names: policies that have the same one name places alike
  RuleSet rules;
  std::vector<TargetSpec> target_specs;
  std::vector<HealthProfileSpec> profiles;
  std::vector<BudgetSpec> budget_specs;
  std::vector<Target> targets;
  std::vector<Budget> budgets;  // of the first target, then of the second, ...
  // Beside `budgets`: until when some rule charges each; the infinite past: none does.
  std::vector<absl::Time> charged_until;
  std::vector<std::shared_ptr<Ledger>> ledgers;
  std::vector<uint32_t> budget_by_slot;  // of each ledger, its place in `budgets`; kNoRule: none
  bool share_patterns = false;           // see PolicySpec
  uint64_t busy_budgets = 0;  // bit b % 64 is set where budget b is one of busy time; see Match
  ConditionalCharges conditional_charges;
  absl::flat_hash_map<std::string, uint32_t> target_by_name;

  // The target's place. NotFound for an unknown name, InvalidArgument for none among several.
  absl::Status ResolveTarget(std::string_view name, uint32_t& target) const {
    if (!name.empty() || targets.size() != 1) return FindTarget(name, target);
    target = 0;
    return absl::OkStatus();
  }
  // The same, where it takes more than to say that there is but one.
  absl::Status FindTarget(std::string_view name, uint32_t& target) const;

  // In the order of the configuration.
  std::vector<std::string> TargetNames() const;

  // The budget of a ledger; null: the policy has none.
  const Budget* BudgetOfSlot(uint32_t slot) const {
    if (slot >= budget_by_slot.size() || budget_by_slot[slot] == kNoRule) return nullptr;
    return &budgets[budget_by_slot[slot]];
  }

  const Budget* BudgetsOf(uint32_t target) const {
    return budgets.data() + target * budget_specs.size();
  }
};

// Ok, or InvalidArgument with everything that is wrong, one finding a line.
absl::Status Validate(const PolicySpec& spec);

// Whether a controller finds the rate.
bool IsAuto(const BudgetSpec& budget);
// What it is measured in.
BudgetUnit UnitOf(const BudgetSpec& budget);
// A rate in units a second; empty for `auto`. The spec must be valid.
std::optional<double> RateOf(const BudgetSpec& budget, const TargetSpec& target);
// A burst in units.
double BurstOf(const BudgetSpec& budget, std::optional<double> rate);

}  // namespace headgate::engine
