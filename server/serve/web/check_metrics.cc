#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <tuple>

#include "server/decide/engine/policy.h"
#include "server/serve/web/metrics.h"

namespace headgate::web {
namespace {

using throttle_log::CheckSum;
using throttle_log::Outcome;

std::string_view NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAllowed:
      return "ALLOWED";
    case Outcome::kWouldBeDenied:
      return "WOULD_BE_DENIED";
    case Outcome::kDenied:
      return "DENIED";
    case Outcome::kWaited:
      return "WAITED";
  }
  return "";
}

std::string_view NameOf(engine::Reason reason) {
  static constexpr std::string_view kNames[] = {
      "NONE",     "EXEMPT",          "DENY_RULE",  "REJECT_RATIO", "HEALTH",
      "MAX_COST", "MAX_CONCURRENCY", "CAPACITY",   "PERMITS",      "UNMATCHED",
      "LINE",     "LINE_FULL",       "APPROXIMATE"};
  static_assert(std::size(kNames) == static_cast<size_t>(engine::Reason::kApproximate) + 1);
  return kNames[static_cast<size_t>(reason)];
}

std::string_view NameOf(engine::Limit limit) {
  static constexpr std::string_view kNames[] = {
      "RULE",  "HEALTH",  "RATE", "BURST",     "MAX_COST",   "MAX_CONCURRENCY",
      "PROBE", "PERMITS", "LINE", "LINE_FULL", "APPROXIMATE"};
  static_assert(std::size(kNames) == static_cast<size_t>(engine::Limit::kApproximate) + 1);
  return kNames[static_cast<size_t>(limit)];
}

// Names that the policy has.
class Known {
 public:
  explicit Known(const engine::Policy& policy) : policy_(policy) {}

  // Beyond the log's bound of kinds, counts are without a target's name.
  bool Target(const std::string& name) const {
    return name.empty() || policy_.target_by_name.contains(name);
  }
  bool Budget(const std::string& name) const {
    return std::any_of(policy_.budget_specs.begin(), policy_.budget_specs.end(),
                       [&](const auto& budget) { return budget.name == name; });
  }
  bool Signal(const std::string& name) const {
    return std::any_of(policy_.profiles.begin(), policy_.profiles.end(), [&](const auto& profile) {
      return std::find(profile.signals.begin(), profile.signals.end(), name) !=
             profile.signals.end();
    });
  }

 private:
  const engine::Policy& policy_;
};

void Add(const CheckSum& more, CheckSum& to) {
  to.checks += more.checks;
  to.cost += more.cost;
}

}  // namespace

void AddChecks(const throttle_log::CheckTotals::All& totals, const engine::Policy& policy,
               Exposition& out) {
  std::map<std::tuple<std::string_view, Outcome, engine::Reason>, CheckSum> by_reason;
  std::map<std::tuple<std::string_view, std::string_view, Outcome, engine::Limit>, CheckSum>
      by_budget;
  std::map<std::tuple<std::string_view, std::string_view, Outcome>, CheckSum> by_signal;
  const Known known(policy);
  // A rate needs a series that was there before the first Check.
  for (const engine::Target& target : policy.targets) {
    by_reason[{target.name, Outcome::kAllowed, engine::Reason::kNone}];
    by_reason[{target.name, Outcome::kAllowed, engine::Reason::kUnmatched}];
    by_reason[{target.name, Outcome::kDenied, engine::Reason::kCapacity}];
    by_reason[{target.name, Outcome::kDenied, engine::Reason::kHealth}];
  }
  for (const auto& [kind, sum] : totals) {
    if (!known.Target(kind.target)) continue;
    Add(sum, by_reason[{kind.target, kind.outcome, kind.reason}]);
    if (kind.outcome == Outcome::kAllowed) continue;
    if (known.Budget(kind.budget)) {
      Add(sum, by_budget[{kind.target, kind.budget, kind.outcome, kind.limit}]);
    }
    if (known.Signal(kind.signal)) Add(sum, by_signal[{kind.target, kind.signal, kind.outcome}]);
  }
  auto checks =
      out.Counter("headgate_checks_total",
                  "Checks that were decided, by verdict and reason. Exact; up to a second "
                  "old.");
  auto cost = out.Counter("headgate_checks_cost_total",
                          "Predicted cost of the Checks that were decided, in cost units.");
  for (const auto& [key, sum] : by_reason) {
    const auto& [target, outcome, reason] = key;
    checks.Set({{"target", target}, {"verdict", NameOf(outcome)}, {"reason", NameOf(reason)}},
               sum.checks);
    cost.Set({{"target", target}, {"verdict", NameOf(outcome)}, {"reason", NameOf(reason)}},
             sum.cost);
  }
  auto refused = out.Counter("headgate_budget_refused_checks_total",
                             "Checks that a limit of this budget denied, or would have denied. Of "
                             "several limits the one with the longest wait counts.");
  for (const auto& [key, sum] : by_budget) {
    const auto& [target, budget, outcome, limit] = key;
    refused.Set({{"target", target},
                 {"budget", budget},
                 {"verdict", NameOf(outcome)},
                 {"limit", NameOf(limit)}},
                sum.checks);
  }
  auto by_health =
      out.Counter("headgate_health_refused_checks_total",
                  "Checks that were denied, or would have been, with this signal behind "
                  "it: by the health gate, or by a budget that the signal slows.");
  for (const auto& [key, sum] : by_signal) {
    const auto& [target, signal, outcome] = key;
    by_health.Set({{"target", target}, {"signal", signal}, {"verdict", NameOf(outcome)}},
                  sum.checks);
  }
}

void AddWaits(const throttle_log::WaitTotals::All& totals, const engine::Policy& policy,
              Exposition& out) {
  std::map<std::pair<std::string_view, engine::Reason>, int64_t> waited_ns;
  const Known known(policy);
  // A rate needs a series that was there before the first wait.
  for (const engine::Target& target : policy.targets) {
    waited_ns[{target.name, engine::Reason::kCapacity}];
    waited_ns[{target.name, engine::Reason::kHealth}];
    waited_ns[{target.name, engine::Reason::kDenyRule}];
  }
  for (const auto& [kind, waits] : totals) {
    if (known.Target(kind.target)) waited_ns[{kind.target, kind.reason}] += waits.waited_ns;
  }
  auto waited = out.Counter("headgate_waited_seconds_total",
                            "How long Checks waited in line, all added up, by what they waited "
                            "for, also while they wait: its rate is how many wait in the mean.");
  for (const auto& [key, ns] : waited_ns) {
    waited.Set({{"target", key.first}, {"reason", NameOf(key.second)}},
               absl::ToDoubleSeconds(absl::Nanoseconds(ns)));
  }
}

}  // namespace headgate::web
