#include "server/serve/rpc/decision_proto.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/share_text.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/to_be_allowed.h"
#include "server/observe/health/condition.h"
#include "server/serve/rpc/matched_rules.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

// Both sides count alike, so that a conversion is no more than an addition.
constexpr int kFromVerdict = 1;
static_assert(v1::VERDICT_ALLOWED == static_cast<int>(engine::Verdict::kAllowed) + kFromVerdict);
static_assert(v1::VERDICT_DENIED == static_cast<int>(engine::Verdict::kDenied) + kFromVerdict);

static_assert(v1::REASON_UNSPECIFIED == static_cast<int>(engine::Reason::kNone));
static_assert(v1::REASON_EXEMPT == static_cast<int>(engine::Reason::kExempt));
static_assert(v1::REASON_DENY_RULE == static_cast<int>(engine::Reason::kDenyRule));
static_assert(v1::REASON_REJECT_RATIO == static_cast<int>(engine::Reason::kRejectRatio));
static_assert(v1::REASON_HEALTH == static_cast<int>(engine::Reason::kHealth));
static_assert(v1::REASON_MAX_COST == static_cast<int>(engine::Reason::kMaxCost));
static_assert(v1::REASON_MAX_CONCURRENCY == static_cast<int>(engine::Reason::kMaxConcurrency));
static_assert(v1::REASON_CAPACITY == static_cast<int>(engine::Reason::kCapacity));
static_assert(v1::REASON_PERMITS == static_cast<int>(engine::Reason::kPermits));
static_assert(v1::REASON_UNMATCHED == static_cast<int>(engine::Reason::kUnmatched));
static_assert(v1::REASON_LINE == static_cast<int>(engine::Reason::kLine));
static_assert(v1::REASON_LINE_FULL == static_cast<int>(engine::Reason::kLineFull));
static_assert(v1::REASON_APPROXIMATE == static_cast<int>(engine::Reason::kApproximate));

constexpr int kFromLimit = 1;
static_assert(v1::LIMIT_KIND_RULE == static_cast<int>(engine::Limit::kRule) + kFromLimit);
static_assert(v1::LIMIT_KIND_HEALTH == static_cast<int>(engine::Limit::kHealth) + kFromLimit);
static_assert(v1::LIMIT_KIND_RATE == static_cast<int>(engine::Limit::kRate) + kFromLimit);
static_assert(v1::LIMIT_KIND_BURST == static_cast<int>(engine::Limit::kBurst) + kFromLimit);
static_assert(v1::LIMIT_KIND_MAX_COST == static_cast<int>(engine::Limit::kMaxCost) + kFromLimit);
static_assert(v1::LIMIT_KIND_MAX_CONCURRENCY ==
              static_cast<int>(engine::Limit::kMaxConcurrency) + kFromLimit);
static_assert(v1::LIMIT_KIND_PROBE == static_cast<int>(engine::Limit::kProbe) + kFromLimit);
static_assert(v1::LIMIT_KIND_PERMITS == static_cast<int>(engine::Limit::kPermits) + kFromLimit);
static_assert(v1::LIMIT_KIND_LINE == static_cast<int>(engine::Limit::kLine) + kFromLimit);
static_assert(v1::LIMIT_KIND_LINE_FULL == static_cast<int>(engine::Limit::kLineFull) + kFromLimit);
static_assert(v1::LIMIT_KIND_APPROXIMATE ==
              static_cast<int>(engine::Limit::kApproximate) + kFromLimit);

constexpr int kFromState = 1;
static_assert(v1::HEALTH_STATE_UNMONITORED ==
              static_cast<int>(engine::HealthStatus::kUnmonitored) + kFromState);
static_assert(v1::HEALTH_STATE_WARMING ==
              static_cast<int>(engine::HealthStatus::kWarming) + kFromState);
static_assert(v1::HEALTH_STATE_HEALTHY ==
              static_cast<int>(engine::HealthStatus::kHealthy) + kFromState);
static_assert(v1::HEALTH_STATE_STALE ==
              static_cast<int>(engine::HealthStatus::kStale) + kFromState);

constexpr int kFromUnit = 1;
static_assert(v1::BUDGET_UNIT_COST == static_cast<int>(engine::BudgetUnit::kCost) + kFromUnit);
static_assert(v1::BUDGET_UNIT_BUSY_TIME ==
              static_cast<int>(engine::BudgetUnit::kBusyTime) + kFromUnit);

// The last `depth` segments; empty for depth 0.
std::string_view Level(std::string_view identity, int depth) {
  size_t begin = identity.size() + 1;
  while (depth-- > 0 && begin > 0) {
    const size_t colon = begin < 2 ? std::string_view::npos : identity.rfind(':', begin - 2);
    begin = colon == std::string_view::npos ? 0 : colon + 1;
  }
  return begin > identity.size() ? std::string_view() : identity.substr(begin);
}

void FillReportedDebt(const engine::ReportedDebt& from, v1::ReportedDebt& to) {
  SetTimestamp(from.reported_at, *to.mutable_reported_at());
  to.set_reported(from.reported);
  SetDuration(from.owed_for, *to.mutable_owed_for());
}

void FillViolation(const engine::Violation& from, const engine::Policy& policy,
                   std::string_view identity, v1::Violation& to) {
  if (from.budget < policy.budget_specs.size()) {
    to.set_budget(policy.budget_specs[from.budget].name);
  }
  if (from.rule < policy.rules.size()) to.set_rule(policy.rules.name(from.rule));
  to.set_limit_kind(static_cast<v1::LimitKind>(static_cast<int>(from.limit) + kFromLimit));
  const std::string_view level = Level(identity, from.level);
  to.set_level(level.data(), level.size());
  const engine::Measured measured = engine::MeasuredBy(policy, from);
  to.set_observed(measured.observed);
  to.set_limit(measured.limit);
  to.set_signal(engine::SignalOf(policy, from));
  to.set_warn(from.warn);
  if (from.budget != engine::Violation::kNoBudget && from.limit != engine::Limit::kHealth) {
    to.set_unit(ToBudgetUnit(from.unit));
  }
  if (from.reported_debt.has_value()) {
    FillReportedDebt(*from.reported_debt, *to.mutable_reported_debt());
  }
  if (from.retry_after != absl::InfiniteDuration()) {
    SetDuration(from.retry_after, *to.mutable_retry_after());
  }
}

void FillHealthOf(const engine::CheckAnswer& answer, const engine::Policy& policy,
                  v1::Decision& decision) {
  const engine::HealthView& from = answer.health;
  if (from.profile >= policy.profiles.size()) {
    decision.clear_health();
    return;
  }
  v1::Health& to = *decision.mutable_health();
  // Mostly they stand there already, and to compare costs less than to copy.
  const std::string& profile = policy.profiles[from.profile].name;
  const std::string& signal = engine::SignalOf(policy, from.profile, from.health.signal);
  if (to.profile() != profile) to.set_profile(profile);
  if (to.signal() != signal) to.set_signal(signal);
  FillHealth(from.health, to);
  if (from.health.sampled_at_ns == 0) {
    to.clear_sample_age();
  } else {
    SetDuration(std::max<int64_t>(from.now_ns - from.health.sampled_at_ns, 0),
                *to.mutable_sample_age());
  }
}

// Nothing but the common answer goes without the engine's own sentence.
void FillMessage(const engine::CheckAnswer& answer, v1::Decision& decision) {
  const bool common = answer.verdict == engine::Verdict::kAllowed &&
                      answer.reason == engine::Reason::kNone && answer.violations.empty() &&
                      !answer.probe && !answer.unmatched;
  if (!common) {
    decision.set_message(answer.Sentence());
  } else if (decision.message() != "Allowed.") {
    decision.set_message("Allowed.");
  }
}

void FillBucket(const engine::BucketView& from, const engine::Policy& policy, v1::BucketState& to) {
  to.set_budget(policy.budget_specs[from.budget].name);
  to.set_rule(policy.rules.name(from.rule));
  to.set_bucket(from.bucket);
  to.set_cost(from.cost);
  to.set_debt(from.debt);
  if (from.burst.has_value()) to.set_burst(*from.burst);
  if (from.rate.has_value()) to.set_rate(*from.rate);
  to.set_speed(from.speed);
  to.set_outstanding(from.outstanding);
  if (from.max_concurrency.has_value()) to.set_max_concurrency(*from.max_concurrency);
  if (from.max_cost.has_value()) to.set_max_cost(*from.max_cost);
  if (from.room_in != absl::InfiniteDuration()) SetDuration(from.room_in, *to.mutable_room_in());
  to.set_ask_again(from.ask_again);
  to.set_unit(ToBudgetUnit(from.unit));
  if (from.reported_debt.has_value()) {
    FillReportedDebt(*from.reported_debt, *to.mutable_reported_debt());
  }
}

// "Allowed." alone would promise what the dice may not keep.
void QualifyMessage(v1::ExplainResponse& response) {
  v1::Decision& decision = *response.mutable_decision();
  if (decision.verdict() != v1::VERDICT_ALLOWED || !(response.reject_ratio() > 0)) return;
  decision.set_message(absl::StrCat(decision.message(), " But a rule rejects ",
                                    ShareText(response.reject_ratio()),
                                    " of such Checks by chance."));
}

}  // namespace

v1::BudgetUnit ToBudgetUnit(engine::BudgetUnit unit) {
  return static_cast<v1::BudgetUnit>(static_cast<int>(unit) + kFromUnit);
}

void FillHealth(const engine::Health& from, v1::Health& to) {
  to.set_state(static_cast<v1::HealthState>(static_cast<int>(from.status) + kFromState));
  to.set_speed(from.speed);
  to.set_pressure(static_cast<double>(from.pressure));
  to.set_condition(static_cast<v1::ConditionKind>(health::KindOf(from)));
}

void FillDecision(const engine::CheckAnswer& answer, std::string_view identity,
                  v1::Decision& decision) {
  const engine::Policy& policy = *answer.policy;
  decision.set_verdict(static_cast<v1::Verdict>(static_cast<int>(answer.verdict) + kFromVerdict));
  decision.set_reason(static_cast<v1::Reason>(answer.reason));
  if (answer.permit != 0) {
    decision.set_permit_id(answer.permit);
  } else {
    decision.clear_permit_id();
  }
  decision.set_predicted_cost(answer.predicted_cost);
  if (answer.predicted_busy_time.has_value()) {
    SetDuration(*answer.predicted_busy_time, *decision.mutable_predicted_busy_time());
  } else {
    decision.clear_predicted_busy_time();
  }
  decision.set_probe(static_cast<bool>(answer.probe));
  if (answer.verdict == engine::Verdict::kDenied &&
      answer.retry_after != absl::InfiniteDuration()) {
    SetDuration(answer.retry_after, *decision.mutable_retry_after());
  } else {
    decision.clear_retry_after();
  }
  decision.clear_violations();
  for (const engine::Violation& violation : answer.violations) {
    FillViolation(violation, policy, identity, *decision.add_violations());
  }
  FillHealthOf(answer, policy, decision);
  FillMessage(answer, decision);
  decision.set_priority(answer.priority);
  if (answer.chunk_scale > 0) {
    decision.set_chunk_scale(answer.chunk_scale);
  } else {
    decision.clear_chunk_scale();
  }
}

void FillExplanation(const engine::Explanation& explanation, std::string_view identity,
                     v1::ExplainResponse& response) {
  const engine::Policy& policy = *explanation.answer.policy;
  FillDecision(explanation.answer, identity, *response.mutable_decision());
  response.set_reject_ratio(explanation.reject_ratio);
  for (const uint32_t rule : explanation.rules) response.add_rules(policy.rules.name(rule));
  FillMatchedRules(explanation, *response.mutable_matched_rules());
  for (const engine::BucketView& bucket : explanation.buckets) {
    FillBucket(bucket, policy, *response.add_buckets());
  }
  for (std::string& sentence : engine::WhatWouldHelp(explanation)) {
    response.add_to_be_allowed(std::move(sentence));
  }
  QualifyMessage(response);
}

}  // namespace headgate::rpc
