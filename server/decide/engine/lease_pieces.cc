#include "server/decide/engine/lease_pieces.h"

#include <algorithm>
#include <string>

#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/resolve.h"

namespace headgate::engine {
namespace {

std::string_view BudgetNamed(const Policy& policy, std::string_view name) {
  const auto found = std::find_if(policy.budget_specs.begin(), policy.budget_specs.end(),
                                  [&](const BudgetSpec& budget) { return budget.name == name; });
  return found == policy.budget_specs.end() ? std::string_view() : std::string_view(found->name);
}

std::string_view SignalNamed(const Policy& policy, std::string_view name) {
  for (const HealthProfileSpec& profile : policy.profiles) {
    for (const std::string& signal : profile.signals) {
      if (signal == name) return signal;
    }
  }
  return {};
}

void AddRule(const Policy& policy, uint32_t rule, std::vector<std::string_view>& rules) {
  if (rule != kNoRule) rules.push_back(policy.rules.name(rule));
}

// No reason to refuse a piece.
bool IsOfAllowed(Reason reason) {
  return reason == Reason::kNone || reason == Reason::kExempt || reason == Reason::kUnmatched;
}

}  // namespace

CauseView PieceSubject::CauseOf(const PieceOutcome& outcome) const {
  CauseView cause;
  if (outcome.has_limit) {
    cause.limit = outcome.limit;
    cause.budget = BudgetNamed(*policy, outcome.budget);
    cause.signal = SignalNamed(*policy, outcome.signal);
    const auto rule = std::find(rules.begin(), rules.end(), outcome.rule);
    if (rule != rules.end()) cause.rule = *rule;
  }
  if (outcome.verdict == Verdict::kDenied) {
    cause.outcome = CheckOutcome::kDenied;
    cause.reason = IsOfAllowed(outcome.reason) ? StageOf(outcome.limit) : outcome.reason;
  } else if (outcome.has_limit) {
    cause.outcome = CheckOutcome::kWouldBeDenied;
    cause.reason = StageOf(outcome.limit);
  } else {
    const bool is_approximate = outcome.reason == Reason::kApproximate;
    cause.reason = is_approximate ? outcome.reason : lets_through;
  }
  return cause;
}

absl::StatusOr<PieceSubject> FindPieceSubject(const EngineCore& core, const CheckRequest& request,
                                              Now now) {
  const PolicyRef& policy = core.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  Resolved resolved;
  const absl::Status status =
      Resolve(*policy, core.options.seed, request, EngineCore::Bounded(now), resolved);
  if (!status.ok()) return status;
  PieceSubject subject{.key = resolved.subject_key,
                       .target = policy->targets[resolved.target].name,
                       .policy = policy,
                       .rules = {}};
  const Match& match = resolved.match;
  if (match.exempt != kNoRule) {
    subject.lets_through = Reason::kExempt;
  } else if (!match.matched) {
    subject.lets_through = Reason::kUnmatched;
  }
  AddRule(*policy, match.deny, subject.rules);
  AddRule(*policy, match.reject, subject.rules);
  for (int i = 0; i < match.charges_used; ++i) {
    AddRule(*policy, match.charges[i].rule, subject.rules);
  }
  for (int i = 0; i < match.gates_used; ++i) {
    AddRule(*policy, match.gates[i].rule, subject.rules);
  }
  return subject;
}

}  // namespace headgate::engine
