// A decision in one sentence.

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/share_text.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/retry_after.h"
#include "server/decide/engine/sentence_text.h"

namespace headgate::engine {
namespace {

std::string BudgetName(const Policy& policy, const Violation& violation) {
  return absl::StrCat("budget '", policy.budget_specs[violation.budget].name, "'");
}

std::string Slowed(const Policy& policy, const Violation& violation) {
  const std::string& signal = SignalOf(policy, violation);
  return signal.empty() ? "" : absl::StrCat(", slowed by ", signal);
}

// None: a gate that is shut for want of a sample, or by a signal without thresholds.
std::optional<Measured> AtGate(const Policy& policy, const Violation& violation) {
  if (violation.limit != Limit::kHealth || violation.observed < 1) return std::nullopt;
  return SignalAt(policy, violation.profile, violation.signal, violation.observed);
}

// A gate that is shut though no pressure shuts it is shut for want of a value: the pressure of what
// is known would read as if there was nothing to fear. Empty for any other.
std::string DescribeUnknown(const Policy& policy, const Violation& violation) {
  if (violation.observed >= 1) return "";
  const std::string& signal = SignalOf(policy, violation);
  const std::string has_no =
      absl::StrCat("health profile '", policy.profiles[violation.profile].name,
                   "': ", signal.empty() ? "it" : signal, " has no ");
  if (violation.unread) {
    return absl::StrCat(has_no,
                        "value (it could not be read, and headgate status shows the error), and "
                        "on_stale denies");
  }
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

std::string DescribeGate(const Policy& policy, const Violation& violation) {
  if (std::string unknown = DescribeUnknown(policy, violation); !unknown.empty()) return unknown;
  std::string text = absl::StrCat("health profile '", policy.profiles[violation.profile].name, "'");
  const std::string& signal = SignalOf(policy, violation);
  if (!signal.empty()) absl::StrAppend(&text, ": ", signal);
  const std::optional<Measured> measured = AtGate(policy, violation);
  if (!measured.has_value()) {
    return absl::StrCat(text, " at pressure ", Number(violation.observed));
  }
  return absl::StrCat(text, " is ", Number(measured->observed), ", with its hard threshold at ",
                      Number(measured->limit));
}

// A limit that is 0 by configuration refuses whatever the cost. Empty for any other.
std::string DescribeZero(const Policy& policy, const Violation& violation) {
  if (violation.limit_value != 0 || violation.budget == Violation::kNoBudget) return "";
  const std::string whose = absl::StrCat(BudgetName(policy, violation), ", whose ");
  switch (violation.limit) {
    case Limit::kRate:
      return absl::StrCat(whose, "rate is 0");
    case Limit::kBurst:
      return absl::StrCat(whose, "burst is 0");
    case Limit::kMaxCost:
      return absl::StrCat(whose, "max_cost is 0");
    case Limit::kMaxConcurrency:
      return absl::StrCat(whose, "max_concurrency is 0");
    case Limit::kRule:
    case Limit::kHealth:
    case Limit::kProbe:
    case Limit::kPermits:
    case Limit::kLine:
    case Limit::kLineFull:
    case Limit::kApproximate:
      break;
  }
  return "";
}

std::string FromReports(int64_t reports) {
  return absl::StrCat(", from ", Grouped(static_cast<double>(reports)),
                      reports == 1 ? " Report" : " Reports");
}

// What was learnt says that the budget can never admit it.
std::string DescribePrediction(const Policy& policy, const Violation& violation) {
  const bool by_cost = violation.limit == Limit::kMaxCost;
  return absl::StrCat(BudgetName(policy, violation), ": ",
                      Amount(Grouped(violation.predicted), violation.unit), " is predicted",
                      FromReports(violation.learnt_from), ", over its ",
                      by_cost ? "max_cost" : "burst", " of ",
                      Amount(Grouped(violation.limit_value), violation.unit),
                      "; now and then one such Check is let through to be measured");
}

std::string DescribeReportedDebt(const Violation& violation) {
  if (!violation.reported_debt.has_value()) return "";
  const ReportedDebt& debt = *violation.reported_debt;
  return absl::StrCat("; it owes ", Amount(Grouped(debt.owed), violation.unit),
                      " since a Report of ", Amount(Grouped(debt.reported), violation.unit), " at ",
                      absl::FormatTime("%H:%M:%S", debt.reported_at, absl::UTCTimeZone()), " UTC");
}

std::string DescribeProbe(const Policy& policy, const Probe& probe) {
  const BudgetSpec& budget = policy.budget_specs[probe.budget];
  const BudgetUnit unit = UnitOf(budget);
  return absl::StrCat(
      "Allowed as a probe, to be measured: ", Amount(Grouped(probe.predicted), unit),
      " is predicted", FromReports(probe.learnt_from), ", and budget '", budget.name,
      "' never admits more than ", Amount(Grouped(probe.most), unit), ".");
}

// Nobody decides for the target, and this server does what it may alone.
std::string DescribeApproximate(const Policy& policy, const Violation& violation) {
  const BudgetSpec& budget = policy.budget_specs[violation.budget];
  const std::string name = BudgetName(policy, violation);
  if (budget.max_concurrency.has_value()) {
    return absl::StrCat(name, ", whose permits cannot be counted for its max_concurrency while ",
                        "nobody decides for the target");
  }
  if (violation.limit_value == 0 && IsAuto(budget)) {
    return absl::StrCat(name, ", whose rate is not known here while nobody decides for the target");
  }
  return absl::StrCat(name, ", approximately: this server may admit ",
                      Amount(Number(violation.limit_value), violation.unit),
                      " a second by itself while nobody decides for the target");
}

std::string Describe(const Policy& policy, const Violation& violation, Reason reason) {
  if (std::string zero = DescribeZero(policy, violation); !zero.empty()) return zero;
  if (violation.learnt_from > 0) return DescribePrediction(policy, violation);
  const std::string observed =
      Amount(NumberDistinctFrom(violation.observed, violation.limit_value), violation.unit);
  const std::string limit =
      Amount(NumberDistinctFrom(violation.limit_value, violation.observed), violation.unit);
  switch (violation.limit) {
    case Limit::kRule: {
      std::string rule = absl::StrCat("rule '", policy.rules.name(violation.rule), "'");
      const bool by_hand = LastsUntilEnded(policy.rules, violation.rule);
      const bool rejects = reason == Reason::kRejectRatio;
      if (rejects) {
        absl::StrAppend(&rule, ", which rejects ", ShareText(violation.limit_value));
      }
      if (by_hand) {
        absl::StrAppend(&rule, rejects ? " and" : ", which", " lasts until somebody ends it");
      }
      return rule;
    }
    case Limit::kHealth:
      return DescribeGate(policy, violation);
    case Limit::kRate:
      break;  // only ever 0
    case Limit::kBurst: {
      // The burst of an auto budget is smaller at times than what is configured.
      const bool is_auto = IsAuto(policy.budget_specs[violation.budget]);
      return absl::StrCat(BudgetName(policy, violation), ": debt would be ", observed,
                          is_auto ? ", over its present burst of " : ", over its burst of ", limit,
                          Slowed(policy, violation), DescribeReportedDebt(violation));
    }
    case Limit::kMaxCost:
      return absl::StrCat(BudgetName(policy, violation), ": cost ", observed,
                          " is over its max_cost of ", limit);
    case Limit::kMaxConcurrency:
      return absl::StrCat(BudgetName(policy, violation), ": ", Number(violation.observed),
                          " permits are outstanding of ", Number(violation.limit_value),
                          ", and room comes with the next Report");
    case Limit::kPermits:
      return absl::StrCat(
          "the share of permits of its caller, or of its root identity where no "
          "caller is named: ",
          observed, " are outstanding of ", limit, ", and room comes with the next Report");
    case Limit::kProbe:
      return absl::StrCat(BudgetName(policy, violation),
                          ": the foreground is being measured without batch work");
    case Limit::kLine:
      return absl::StrCat(BudgetName(policy, violation), ": others wait for it, and are before it");
    case Limit::kLineFull:
      return absl::StrCat("the line: ", Number(violation.observed), " Checks wait already of ",
                          Number(violation.limit_value), " that may");
    case Limit::kApproximate:
      return DescribeApproximate(policy, violation);
  }
  return "";
}

}  // namespace

const std::string& SignalOf(const Policy& policy, uint32_t profile, int16_t signal) {
  static const std::string* const kNone = new std::string();
  if (profile >= policy.profiles.size() || signal < 0) return *kNone;
  const auto& signals = policy.profiles[profile].signals;
  const auto place = static_cast<size_t>(signal);
  return place < signals.size() ? signals[place] : *kNone;
}

std::optional<Measured> SignalAt(const Policy& policy, uint32_t profile, int16_t signal,
                                 double pressure) {
  if (profile >= policy.profiles.size() || signal < 0) return std::nullopt;
  const auto& thresholds = policy.profiles[profile].thresholds;
  const auto place = static_cast<size_t>(signal);
  if (place >= thresholds.size()) return std::nullopt;
  const SignalThresholds& of = thresholds[place];
  return Measured{of.soft + pressure * (of.hard - of.soft), of.hard};
}

Measured MeasuredBy(const Policy& policy, const Violation& violation) {
  return AtGate(policy, violation).value_or(Measured{violation.observed, violation.limit_value});
}

std::string CheckAnswer::Sentence() const {
  if (verdict == Verdict::kAllowed) {
    if (reason == Reason::kExempt) return "Allowed: exempt by a rule.";
    if (probe) return DescribeProbe(*policy, probe);
    const bool approximate = reason == Reason::kApproximate;
    if (violations.empty() && approximate) {
      return "Allowed approximately: nobody who decides for the target can be reached.";
    }
    if (violations.empty()) return unmatched ? "Allowed: no rule matches." : "Allowed.";
    return absl::StrCat("Allowed", approximate ? " approximately" : "",
                        ", but would have been denied by ",
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
