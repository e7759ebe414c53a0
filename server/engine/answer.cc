// A decision in one sentence.

#include "server/engine/answer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/engine/policy.h"

namespace headgate::engine {
namespace {

std::string Number(double value) { return absl::StrFormat("%.6g", value); }

// Rounded up: a wait that is a little too long is of use, one that is too short is not.
std::string ForAPerson(absl::Duration wait) {
  const absl::Duration step = absl::Milliseconds(1);
  return absl::FormatDuration(wait > step ? absl::Ceil(wait, step) : wait);
}

std::string BudgetName(const Policy& policy, const Violation& violation) {
  return absl::StrCat("budget '", policy.budget_specs[violation.budget].name, "'");
}

std::string SignalName(const Policy& policy, uint32_t profile, int16_t signal) {
  if (profile >= policy.profiles.size()) return "";
  const auto& signals = policy.profiles[profile].signals;
  const auto place = static_cast<size_t>(signal);
  return signal >= 0 && place < signals.size() ? signals[place] : "";
}

std::string Slowed(const Policy& policy, const Violation& violation) {
  const std::string signal = SignalName(policy, violation.profile, violation.signal);
  return signal.empty() ? "" : absl::StrCat(", slowed by ", signal);
}

// A gate that is shut though no pressure shuts it is shut for want of a value: the pressure of what
// is known would read as if there was nothing to fear. Empty for any other.
std::string DescribeUnknown(const Policy& policy, const Violation& violation) {
  if (violation.observed >= 1) return "";
  const std::string signal = SignalName(policy, violation.profile, violation.signal);
  const std::string has_no =
      absl::StrCat("health profile '", policy.profiles[violation.profile].name,
                   "': ", signal.empty() ? "it" : signal, " has no ");
  switch (violation.health_status) {
    case HealthStatus::kWarming:
      return absl::StrCat(has_no, "sample yet, and on_stale denies");
    case HealthStatus::kStale:
      return absl::StrCat(has_no, "current value (the last sample is ",
                          ForAPerson(violation.sample_age), " old), and on_stale denies");
    case HealthStatus::kUnmonitored:
    case HealthStatus::kHealthy:
      break;
  }
  return "";
}

std::string Describe(const Policy& policy, const Violation& violation, Reason reason) {
  const std::string observed = Number(violation.observed);
  const std::string limit = Number(violation.limit_value);
  switch (violation.limit) {
    case Limit::kRule: {
      std::string rule = absl::StrCat("rule '", policy.rules.name(violation.rule), "'");
      if (reason != Reason::kRejectRatio) return rule;
      return absl::StrCat(rule, ", which rejects ", Number(100 * violation.limit_value), " %");
    }
    case Limit::kHealth: {
      if (std::string text = DescribeUnknown(policy, violation); !text.empty()) return text;
      const std::string signal = SignalName(policy, violation.profile, violation.signal);
      return absl::StrCat("health profile '", policy.profiles[violation.profile].name, "'",
                          signal.empty() ? "" : absl::StrCat(": ", signal), " at pressure ",
                          observed);
    }
    case Limit::kRate:
      return absl::StrCat(BudgetName(policy, violation), ", whose rate is 0");
    case Limit::kBurst:
      return absl::StrCat(BudgetName(policy, violation), ": debt would be ", observed,
                          ", over its burst of ", limit, Slowed(policy, violation));
    case Limit::kMaxCost:
      return absl::StrCat(BudgetName(policy, violation), ": cost ", observed,
                          " is over its max_cost of ", limit);
    case Limit::kMaxConcurrency:
      return absl::StrCat(BudgetName(policy, violation), ": ", observed,
                          " permits are outstanding of ", limit);
    case Limit::kProbe:
      return absl::StrCat(BudgetName(policy, violation),
                          ": the foreground is being measured without batch work");
  }
  return "";
}

}  // namespace

std::string CheckAnswer::Sentence() const {
  if (verdict == Verdict::kAllowed) {
    if (reason == Reason::kExempt) return "Allowed: exempt by a rule.";
    if (violations.empty()) return "Allowed.";
    return absl::StrCat("Allowed, but would have been denied by ",
                        Describe(*policy, violations[0], reason), ".");
  }
  std::string by = "Denied";
  for (const Violation& violation : violations) {
    if (violation.warn) continue;
    absl::StrAppend(&by, by == "Denied" ? " by " : "; and by ",
                    Describe(*policy, violation, reason));
  }
  if (retry_after == absl::InfiniteDuration()) return absl::StrCat(by, ". Waiting will not help.");
  return absl::StrCat(by, ". Try again in ", ForAPerson(retry_after), ".");
}

}  // namespace headgate::engine
