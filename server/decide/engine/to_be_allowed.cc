#include "server/decide/engine/to_be_allowed.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/retry_after.h"
#include "server/decide/engine/sentence_text.h"

namespace headgate::engine {
namespace {

constexpr double kRounding = 1e-9;

std::string BudgetName(const Explanation& explanation, uint32_t budget) {
  return absl::StrCat("budget '", explanation.answer.policy->budget_specs[budget].name, "'");
}

// Null: the limit is not a budget's.
const BucketView* FindBucket(const Explanation& explanation, const Violation& violation) {
  for (const BucketView& bucket : explanation.buckets) {
    if (bucket.budget == violation.budget) return &bucket;
  }
  return nullptr;
}

// Others that do the same would deny in its place.
std::string OthersLike(uint32_t rule, const Explanation& explanation) {
  const RuleSet& rules = explanation.answer.policy->rules;
  const RuleSet::View view = rules.ViewOf(rule);
  std::string others;
  for (const uint32_t other : explanation.rules) {
    const RuleSet::View its = rules.ViewOf(other);
    if (other == rule || its.kind != view.kind || its.ratio != view.ratio) continue;
    absl::StrAppend(&others, others.empty() ? "; so does '" : "', '", rules.name(other));
  }
  return others.empty() ? "" : others + "'";
}

std::string AboutRule(const Violation& violation, const Explanation& explanation) {
  const RuleSet& rules = explanation.answer.policy->rules;
  const std::string wait = ForAPerson(violation.retry_after);
  const bool by_hand = LastsUntilEnded(rules, violation.rule);
  const bool stays = violation.retry_after == absl::InfiniteDuration();
  const bool is_stop = rules.ViewOf(violation.rule).lifted_by == LiftedBy::kLaterResume;
  return absl::StrCat("rule '", rules.name(violation.rule), "'",
                      by_hand ? std::string(" has to be ended by somebody")
                      : stays ? std::string(" has to be removed")
                              : " has to end, which it does in " + wait,
                      ", or no longer match this identity", OthersLike(violation.rule, explanation),
                      is_stop ? "; headgate resume --everything ends it, and who may do that may "
                                "also resume this identity alone"
                              : "; headgate resume lets it through meanwhile",
                      by_hand ? "; ask again in " + wait : std::string());
}

std::string AboutHealth(const Violation& violation, const Explanation& explanation) {
  const Policy& policy = *explanation.answer.policy;
  const std::string profile =
      absl::StrCat("health profile '", policy.profiles[violation.profile].name, "'");
  const std::string& signal = SignalOf(policy, violation);
  if (violation.observed < 1 && violation.unread) {
    return absl::StrCat(signal.empty() ? "a signal of " + profile : signal,
                        " has to be readable again: headgate status shows its error");
  }
  const bool warming = violation.health_status == HealthStatus::kWarming;
  if (violation.observed < 1 && (warming || violation.health_status == HealthStatus::kStale)) {
    return absl::StrCat(profile, warming ? " needs its first sample" : " needs a recent sample",
                        ": see headgate status for the servers it is from");
  }
  if (signal.empty()) return absl::StrCat(profile, " has to open its gate again");
  const Measured measured = MeasuredBy(policy, violation);
  return absl::StrCat(signal, " has to fall below its hard threshold (", Number(measured.observed),
                      " now, below ", Number(measured.limit), " needed)");
}

std::string AboutRate(const std::string& budget, const BucketView* bucket) {
  const bool both = bucket != nullptr && bucket->burst == 0.0;
  return absl::StrCat(budget, " blocks everything: its rate", both ? " and its burst have" : " has",
                      " to be above 0");
}

// When the debt has drained, as far as that is known.
std::string Drains(const Violation& violation, const BucketView& bucket) {
  const std::string wait = ForAPerson(violation.retry_after);
  if (violation.retry_after == absl::InfiniteDuration()) return ", which it never does";
  if (!bucket.ask_again) return ", which it does in " + wait;
  if (bucket.speed > 0) {
    return absl::StrCat("; when is not known, for its rate may change: ask again in ", wait);
  }
  return absl::StrCat("; it stands still until health is better: ask again in ", wait);
}

std::string AboutBurst(const Violation& violation, const std::string& budget,
                       const BucketView* bucket) {
  if (violation.limit_value == 0) {
    return absl::StrCat(budget, " blocks everything: its burst has to be above 0");
  }
  if (bucket == nullptr || !bucket->burst.has_value()) return budget + " has to drain";
  const double burst = *bucket->burst;
  if (bucket->cost > burst) {
    return absl::StrCat(budget, " never holds a cost of ", Number(bucket->cost),
                        ": ask for at most its burst of ", Number(burst), ", or raise that");
  }
  // What is kept of the burst, for others or so that chunks start one after another.
  const double kept =
      burst - violation.limit_value + violation.observed - bucket->cost - bucket->debt;
  const bool is_kept = kept > kRounding * burst;
  const double drained = burst - bucket->cost - (is_kept ? kept : 0);
  std::string text = absl::StrCat(budget, " owes ", Amount(Number(bucket->debt), bucket->unit),
                                  " and has to drain to ", Amount(Number(drained), bucket->unit),
                                  Drains(violation, *bucket));
  const double room = burst - bucket->debt;
  if (room > 0 && !is_kept) absl::StrAppend(&text, "; or ask for at most ", Number(room), " now");
  return text;
}

std::string AboutMaxCost(const Violation& violation, const std::string& budget) {
  if (violation.limit_value == 0) {
    return absl::StrCat(budget, " blocks everything: its max_cost has to be above 0, or unset");
  }
  return absl::StrCat("ask for at most ", Number(violation.limit_value),
                      " at a time, or raise max_cost of ", budget);
}

std::string AboutConcurrency(const Violation& violation, const std::string& budget) {
  if (violation.limit_value == 0) {
    return absl::StrCat(budget,
                        " blocks everything: its max_concurrency has to be above 0, or unset");
  }
  // More than the limit where it was lowered since.
  const double too_many = std::max(violation.observed - violation.limit_value + 1, 1.0);
  return absl::StrCat(too_many > 1 ? Number(too_many) : std::string("one"), " of the ",
                      Number(violation.observed), " permits of ", budget,
                      too_many > 1 ? " have" : " has",
                      " to be reported or to expire, or max_concurrency be raised above ",
                      Number(violation.observed));
}

// Fewer permits than its configuration allows.
bool IsHeldByController(const Violation& violation, const Explanation& explanation) {
  const BudgetSpec& spec = explanation.answer.policy->budget_specs[violation.budget];
  return IsAuto(spec) && (!spec.max_concurrency.has_value() ||
                          violation.limit_value < static_cast<double>(*spec.max_concurrency));
}

std::string AboutPermitsAtOnce(const Violation& violation, const std::string& budget) {
  return absl::StrCat("one of the ", Number(violation.observed), " permits of ", budget,
                      " has to be reported or to expire: its controller lets ",
                      Number(violation.limit_value), " be out at once");
}

std::string AboutPermits(const Violation& violation) {
  return absl::StrCat("some of the ", Number(violation.observed),
                      " permits of its caller, or of its root identity where no caller is named, "
                      "have to be reported or to expire, or engine.max_permits or "
                      "engine.max_permit_share be raised: one holder may have ",
                      Number(violation.limit_value), " at present");
}

// Only a Report can put a prediction right.
std::string AboutPrediction(const Violation& violation, const std::string& budget) {
  return absl::StrCat(budget, " never admits the ",
                      Amount(Grouped(violation.predicted), violation.unit), " that ",
                      Grouped(static_cast<double>(violation.learnt_from)),
                      violation.learnt_from == 1 ? " Report predicts" : " Reports predict",
                      ": the next such Check "
                      "is let through to be measured in ",
                      ForAPerson(violation.retry_after),
                      "; or ask for less, or forget what was learnt (headgate costs forget)");
}

std::string About(const Violation& violation, const Explanation& explanation) {
  if (violation.limit == Limit::kRule) return AboutRule(violation, explanation);
  if (violation.limit == Limit::kHealth) return AboutHealth(violation, explanation);
  if (violation.limit == Limit::kPermits) return AboutPermits(violation);
  const std::string budget = BudgetName(explanation, violation.budget);
  const BucketView* bucket = FindBucket(explanation, violation);
  if (violation.learnt_from > 0) return AboutPrediction(violation, budget);
  switch (violation.limit) {
    case Limit::kRate:
      return AboutRate(budget, bucket);
    case Limit::kBurst:
      return AboutBurst(violation, budget, bucket);
    case Limit::kMaxCost:
      return AboutMaxCost(violation, budget);
    case Limit::kMaxConcurrency:
      return IsHeldByController(violation, explanation) ? AboutPermitsAtOnce(violation, budget)
                                                        : AboutConcurrency(violation, budget);
    case Limit::kProbe:
      return absl::StrCat("the foreground is being measured without the work of ", budget,
                          ": ask again in ", ForAPerson(violation.retry_after));
    case Limit::kLine:
      return absl::StrCat("others wait for ", budget,
                          " and are before it: its turn is expected in ",
                          ForAPerson(violation.retry_after));
    case Limit::kLineFull:
      return absl::StrCat("too many Checks wait already: ask again in ",
                          ForAPerson(violation.retry_after));
    case Limit::kRule:
    case Limit::kHealth:
    case Limit::kPermits:
    case Limit::kApproximate:  // which is never explained
      break;
  }
  return "";
}

// A budget that was not asked, since a rule or a gate denied before.
std::string AboutUnasked(const BucketView& bucket, const Explanation& explanation) {
  const std::string budget = BudgetName(explanation, bucket.budget);
  if (bucket.room_in == absl::InfiniteDuration()) {
    return absl::StrCat(budget, " would then never have room for a cost of ", Number(bucket.cost));
  }
  return absl::StrCat(budget, " has no room either",
                      bucket.ask_again ? ": ask again in " : ", for another ",
                      ForAPerson(bucket.room_in));
}

bool IsNamed(const BucketView& bucket, const CheckAnswer& answer) {
  return std::any_of(answer.violations.begin(), answer.violations.end(),
                     [&](const Violation& violation) { return violation.budget == bucket.budget; });
}

}  // namespace

std::vector<std::string> WhatWouldHelp(const Explanation& explanation) {
  std::vector<std::string> advice;
  if (explanation.answer.verdict == Verdict::kAllowed) return advice;
  for (const Violation& violation : explanation.answer.violations) {
    if (!violation.warn) advice.push_back(About(violation, explanation));
  }
  for (const BucketView& bucket : explanation.buckets) {
    const bool warns = explanation.answer.policy->budget_specs[bucket.budget].mode == Mode::kWarn;
    const bool has_room = bucket.room_in == absl::ZeroDuration();
    if (warns || has_room || IsNamed(bucket, explanation.answer)) continue;
    advice.push_back(AboutUnasked(bucket, explanation));
  }
  return advice;
}

}  // namespace headgate::engine
