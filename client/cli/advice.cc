#include "client/cli/advice.h"

#include "absl/strings/str_cat.h"
#include "client/cli/proto_text.h"
#include "client/cli/values.h"

namespace headgate::cli {
namespace {

// "in 2.5s", or "" where time alone will not do it.
std::string ByWaiting(const v1::Violation& violation) {
  if (!violation.has_retry_after()) return "";
  return absl::StrCat("in ", ShortDuration(FromProto(violation.retry_after())));
}

const v1::BucketState* FindBucket(const v1::ExplainResponse& explanation,
                                  const v1::Violation& violation) {
  for (const v1::BucketState& bucket : explanation.buckets()) {
    if (bucket.budget() != violation.budget()) continue;
    if (violation.level().empty() || bucket.bucket() == violation.level()) return &bucket;
  }
  return nullptr;
}

// Others that do the same would deny in its place.
std::string OthersLike(const std::string& name, const v1::ExplainResponse& explanation) {
  std::string action;
  for (const v1::MatchedRule& rule : explanation.matched_rules()) {
    if (rule.name() == name) action = rule.action();
  }
  std::string others;
  for (const v1::MatchedRule& rule : explanation.matched_rules()) {
    if (rule.name() == name || rule.action() != action) continue;
    absl::StrAppend(&others, others.empty() ? "; so does '" : "', '", rule.name());
  }
  return others.empty() ? "" : others + "'";
}

std::string AboutRule(const v1::Violation& violation, const v1::ExplainResponse& explanation) {
  const std::string rule = absl::StrCat("rule '", violation.rule(), "'");
  const bool by_chance = explanation.decision().reason() == v1::REASON_REJECT_RATIO;
  if (by_chance && violation.limit() < 1) {
    return absl::StrCat(rule, " rejects ", ShortNumber(100 * violation.limit()),
                        " % of Checks: ask again, or change the rule");
  }
  const std::string wait = ByWaiting(violation);
  return absl::StrCat(
      rule, wait.empty() ? " has to be removed" : absl::StrCat(" has to end, which it does ", wait),
      ", or no longer match this identity", OthersLike(violation.rule(), explanation),
      "; headgate resume lets it through meanwhile");
}

std::string AboutHealth(const v1::Violation& violation, const v1::Health& health) {
  if (health.state() == v1::HEALTH_STATE_STALE || health.state() == v1::HEALTH_STATE_WARMING) {
    return absl::StrCat("health profile '", health.profile(), "' needs a recent sample (it is ",
                        Word(health.state()), "): see headgate status for the servers it is from");
  }
  if (violation.signal().empty()) {
    return absl::StrCat("health profile '", health.profile(), "' has to open its gate again");
  }
  return absl::StrCat(violation.signal(), " has to fall below its hard threshold (",
                      ShortNumber(violation.observed()), " now, below ",
                      ShortNumber(violation.limit()), " needed)");
}

std::string AboutBurst(const v1::Violation& violation, const v1::BucketState* bucket) {
  std::string text = absl::StrCat("budget '", violation.budget(), "'");
  if (bucket == nullptr || !bucket->has_burst()) {
    const std::string wait = ByWaiting(violation);
    return absl::StrCat(text, " has to drain", wait.empty() ? "" : absl::StrCat(": ", wait));
  }
  if (bucket->cost() > bucket->burst()) {
    return absl::StrCat(text, " never holds a cost of ", ShortNumber(bucket->cost()),
                        ": ask for at most its burst of ", ShortNumber(bucket->burst()),
                        ", or raise that");
  }
  absl::StrAppend(&text, " owes ", ShortNumber(bucket->debt()), " and has to drain to ",
                  ShortNumber(bucket->burst() - bucket->cost()));
  const std::string wait = ByWaiting(violation);
  absl::StrAppend(&text, wait.empty() ? ", which it does not at its present speed"
                                      : absl::StrCat(", which it does ", wait));
  const double room = bucket->burst() - bucket->debt();
  if (room > 0) absl::StrAppend(&text, "; or ask for at most ", ShortNumber(room), " now");
  return text;
}

std::string About(const v1::Violation& violation, const v1::ExplainResponse& explanation) {
  const std::string budget = absl::StrCat("budget '", violation.budget(), "'");
  switch (violation.limit_kind()) {
    case v1::LIMIT_KIND_RULE:
      return AboutRule(violation, explanation);
    case v1::LIMIT_KIND_HEALTH:
      return AboutHealth(violation, explanation.decision().health());
    case v1::LIMIT_KIND_RATE:
      return absl::StrCat(budget, " blocks everything: its rate has to be above 0");
    case v1::LIMIT_KIND_BURST:
      return AboutBurst(violation, FindBucket(explanation, violation));
    case v1::LIMIT_KIND_MAX_COST:
      return absl::StrCat("ask for at most ", ShortNumber(violation.limit()),
                          " at a time, or raise max_cost of ", budget);
    case v1::LIMIT_KIND_MAX_CONCURRENCY:
      return absl::StrCat("one of the ", ShortNumber(violation.observed()), " permits of ", budget,
                          " has to be reported or to expire, or max_concurrency be raised above ",
                          ShortNumber(violation.limit()));
    case v1::LIMIT_KIND_PROBE: {
      const std::string wait = ByWaiting(violation);
      return absl::StrCat("the foreground is being measured without the work of ", budget,
                          wait.empty() ? "" : ": over ", wait);
    }
    default:
      return absl::StrCat(budget, " has to have room");
  }
}

}  // namespace

std::vector<std::string> WhatWouldHelp(const v1::ExplainResponse& explanation) {
  std::vector<std::string> advice;
  if (explanation.decision().verdict() != v1::VERDICT_DENIED) return advice;
  for (const v1::Violation& violation : explanation.decision().violations()) {
    if (!violation.warn()) advice.push_back(About(violation, explanation));
  }
  return advice;
}

}  // namespace headgate::cli
