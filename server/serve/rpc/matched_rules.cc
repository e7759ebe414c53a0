#include "server/serve/rpc/matched_rules.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/decide/engine/policy.h"
#include "server/serve/rpc/proto_time.h"
#include "server/serve/rpc/rule_text.h"

namespace headgate::rpc {
namespace {

using engine::kNoRule;
using engine::RuleSet;
using RuleKind = RuleSet::Kind;

// The strongest rule of each kind of which one wins; kNoRule: none matches.
struct Strongest {
  explicit Strongest(const engine::Explanation& explanation)
      : resume(explanation.resumed_by), lifts_any(!explanation.lifted.empty()) {
    std::pair<int, int> most_priority;
    for (const uint32_t rule : explanation.rules) {
      const RuleSet::View view = explanation.answer.policy->rules.ViewOf(rule);
      if (resume != kNoRule && explanation.answer.policy->rules.Lifts(resume, rule)) continue;
      if (view.kind == RuleKind::kExempt && exempt == kNoRule) exempt = rule;
      if (view.kind == RuleKind::kDeny && deny == kNoRule) deny = rule;
      if (view.kind == RuleKind::kReject && (reject == kNoRule || view.ratio > ratio)) {
        reject = rule;
        ratio = view.ratio;
      }
      const std::pair rank(view.selector_depth, view.priority);
      if (view.kind == RuleKind::kPriority && (priority == kNoRule || rank > most_priority)) {
        priority = rule;
        most_priority = rank;
      }
    }
    // Of equals the answer names one: the one that applies longest.
    for (const engine::Violation& violation : explanation.answer.violations) {
      if (explanation.answer.reason == engine::Reason::kDenyRule) deny = violation.rule;
      if (explanation.answer.reason == engine::Reason::kRejectRatio) reject = violation.rule;
    }
  }

  uint32_t exempt = kNoRule;
  uint32_t resume;
  bool lifts_any;  // the resume
  uint32_t deny = kNoRule;
  uint32_t reject = kNoRule;
  double ratio = 0;
  uint32_t priority = kNoRule;
};

struct Overruled {
  uint32_t by = kNoRule;
  const char* because = "";
};

// What still refuses where there is a resume is an emergency stop that is newer.
Overruled ResumeOverruledBy(const Strongest& strongest) {
  static constexpr char kStop[] =
      "an emergency stop is lifted only by a resume that is made after it";
  if (strongest.deny != kNoRule) return {strongest.deny, kStop};
  if (strongest.reject != kNoRule && !strongest.lifts_any) return {strongest.reject, kStop};
  return {};
}

Overruled OverruledBy(const RuleSet::View& view, uint32_t rule, const RuleSet& rules,
                      const Strongest& strongest) {
  if (view.kind == RuleKind::kPriority) {
    if (rule == strongest.priority) return {};
    return {strongest.priority, "the deepest selector's priority counts"};
  }
  if (view.kind == RuleKind::kExempt || view.kind == RuleKind::kWeight) return {};
  if (strongest.exempt != kNoRule) return {strongest.exempt, "exempt wins over everything"};
  if (strongest.resume != kNoRule && rules.Lifts(strongest.resume, rule)) {
    return {strongest.resume, "resume lets through what rules refuse"};
  }
  if (view.kind == RuleKind::kResume && strongest.resume != kNoRule) {
    return ResumeOverruledBy(strongest);
  }
  if (view.kind == RuleKind::kDeny) return {};
  if (strongest.deny != kNoRule) {
    return {strongest.deny, view.kind == RuleKind::kReject
                                ? "deny wins over a share"
                                : "a denied Check gets to no budget and no health gate"};
  }
  if (view.kind == RuleKind::kReject) {
    if (rule == strongest.reject) return {};
    return {strongest.reject, "the largest share counts"};
  }
  if (strongest.ratio >= 1) {
    return {strongest.reject, "a rejected Check gets to no budget and no health gate"};
  }
  return {};
}

std::string Charges(const RuleSet::View& view, const engine::Policy& policy) {
  engine::ChargeAction charged;
  for (const uint32_t budget : view.charges) {
    charged.budgets.push_back(policy.budget_specs[budget].name);
  }
  return charged.budgets.empty() ? "charges only budgets that are DISABLED"
                                 : ActionText(std::move(charged));
}

std::string Action(const RuleSet::View& view, const engine::Policy& policy) {
  switch (view.kind) {
    case RuleKind::kCharge:
      return Charges(view, policy);
    case RuleKind::kExempt:
      return ActionText(engine::ExemptAction());
    case RuleKind::kResume:
      return ActionText(engine::ResumeAction());
    case RuleKind::kDeny:
      return ActionText(engine::DenyAction());
    case RuleKind::kReject:
      return ActionText(engine::RejectAction{view.ratio});
    case RuleKind::kHealth:
      return ActionText(engine::HealthAction{policy.profiles[view.profile].name});
    case RuleKind::kPriority:
      return ActionText(engine::PriorityAction{view.priority});
    case RuleKind::kWeight:
      return ActionText(engine::WeightAction{view.weight});
  }
  return "";
}

}  // namespace

void FillMatchedRules(const engine::Explanation& explanation,
                      google::protobuf::RepeatedPtrField<v1::MatchedRule>& rules) {
  const engine::Policy& policy = *explanation.answer.policy;
  const Strongest strongest(explanation);
  std::vector<uint32_t> found = explanation.rules;
  const auto end = found.insert(found.end(), explanation.shorter_prefix.begin(),
                                explanation.shorter_prefix.end());
  std::inplace_merge(found.begin(), end, found.end());
  for (const uint32_t rule : found) {
    const RuleSet::View view = policy.rules.ViewOf(rule);
    const bool shorter = std::binary_search(explanation.shorter_prefix.begin(),
                                            explanation.shorter_prefix.end(), rule);
    const Overruled overruled =
        shorter ? Overruled{explanation.longest_prefix, "the longest prefix counts"}
                : OverruledBy(view, rule, policy.rules, strongest);
    v1::MatchedRule& matched = *rules.Add();
    matched.set_name(policy.rules.name(rule));
    matched.set_action(Action(view, policy));
    matched.set_effect(overruled.by == kNoRule ? v1::RULE_EFFECT_APPLIED
                                               : v1::RULE_EFFECT_OVERRULED);
    if (overruled.by != kNoRule) {
      matched.set_overruled_by(policy.rules.name(overruled.by));
      matched.set_overruled_because(overruled.because);
    }
    if (view.expires_at != absl::InfiniteFuture()) {
      SetTimestamp(view.expires_at, *matched.mutable_expires_at());
    }
  }
}

}  // namespace headgate::rpc
