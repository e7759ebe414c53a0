#include "server/decide/engine/violations.h"

#include <algorithm>

#include "server/decide/engine/cause.h"
#include "server/decide/engine/limits.h"
#include "server/decide/engine/line_order.h"
#include "server/decide/engine/retry_after.h"

namespace headgate::engine {
namespace {

void Deny(Decision& decision, Reason reason, absl::Duration retry_after) {
  decision.answer.verdict = Verdict::kDenied;
  decision.answer.reason = reason;
  decision.answer.retry_after = retry_after;
  decision.denied = true;
}

}  // namespace

void ViolateGate(Decision& decision, const Health& health, const Gate& gate) {
  Violation& violation = decision.answer.violations.emplace_back();
  violation.limit = Limit::kHealth;
  violation.profile = gate.profile;
  violation.rule = gate.rule;
  violation.budget = gate.budget;
  violation.warn = gate.warn;
  violation.signal = health.signal;
  violation.observed = static_cast<double>(health.pressure);
  violation.limit_value = 1;
  violation.health_status = health.status;
  if (health.sampled_at_ns != 0) {
    violation.sample_age =
        absl::Nanoseconds(std::max<int64_t>(decision.now.monotonic_ns - health.sampled_at_ns, 0));
  }
  violation.unread = health.unread;
  violation.retry_after = UntilNextSample(health, decision.now);
  violation.line_key = LineKeyOfGate(decision.policy.targets[decision.resolved.target],
                                     decision.policy.profiles[gate.profile].name);
  decision.denied |= !gate.warn;
}

void ViolateLimit(Decision& decision, Candidate& candidate, Limit limit, const Measured& measured,
                  absl::Duration retry_after) {
  const Budget& budget = *candidate.budget;
  Violation& violation = decision.answer.violations.emplace_back();
  violation.budget = budget.spec;
  violation.rule = candidate.rule;
  violation.limit = limit;
  violation.warn = budget.warn;
  violation.level = static_cast<int8_t>(BucketLevel(budget, decision.resolved.identity));
  violation.profile = budget.profile;
  if (budget.ledger != nullptr) {
    const Health health = budget.clock->Read(decision.now.monotonic_ns).health;
    violation.signal = health.speed < 1 ? health.signal : Violation::kNoSignal;
    violation.cost_ns = budget.FittedNs(budget.ledger->ToNs(candidate.cost));
  }
  violation.unit = budget.unit;
  violation.observed = measured.observed;
  violation.limit_value = measured.limit;
  violation.retry_after = retry_after;
  violation.line_key = LineKeyOf(budget, candidate.tag);
  candidate.skip = true;
  decision.denied |= !budget.warn;
}

void ViolateBurst(Decision& decision, Candidate& candidate) {
  const Ledger& ledger = *candidate.budget->ledger;
  const int64_t unused_ns = UnusedBurstOf(candidate);
  // What is held for others is as good as owed.
  const int64_t owed_ns = candidate.debt_ns() + candidate.held_ns - unused_ns;
  ViolateLimit(decision, candidate, Limit::kBurst,
               {ledger.ToUnits(owed_ns) + candidate.cost,
                ledger.ToUnits(candidate.budget->burst_ns - unused_ns)},
               RoomAt(candidate, decision.now).in);
  decision.answer.violations.back().reported_debt = ReportedDebtOf(decision, candidate);
}

std::optional<ReportedDebt> ReportedDebtOf(const Decision& decision, const Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  const int64_t above_ns = candidate.debt_ns() - budget.burst_ns;
  if (above_ns <= 0) return std::nullopt;
  const auto entry = decision.tables.reported_debts.Find(ConcurrencyKeyOf(budget, candidate.tag));
  if (!entry.has_value()) return std::nullopt;
  const VirtualClock::Reading reading = budget.clock->Read(decision.now.monotonic_ns);
  const int64_t at = reading.RealTimeOf(candidate.now_ns + above_ns);
  return ReportedDebt{.reported_at = absl::FromUnixNanos(entry->reported_at_ns),
                      .reported = entry->reported,
                      .owed = budget.ledger->ToUnits(candidate.debt_ns()),
                      .owed_for = at == VirtualClock::kNever
                                      ? absl::InfiniteDuration()
                                      : absl::Nanoseconds(at - decision.now.monotonic_ns)};
}

void ViolateConcurrency(Decision& decision, Candidate& candidate, int64_t count) {
  const int64_t limit = MostPermitsOf(*candidate.budget);
  ViolateLimit(decision, candidate, Limit::kMaxConcurrency,
               {static_cast<double>(count), static_cast<double>(limit)},
               limit == 0 ? absl::InfiniteDuration() : kAskAgainForPermit);
}

void ViolatePermits(Decision& decision, const PermitHolders::Standing& standing) {
  Violation& violation = decision.answer.violations.emplace_back();
  violation.limit = Limit::kPermits;
  violation.observed = static_cast<double>(standing.permits);
  violation.limit_value = static_cast<double>(standing.limit);
  violation.retry_after = kAskAgainForPermit;
  violation.line_key = LineKeyOfHolder(decision.resolved.holder);
  decision.denied = true;
}

void DenyByRule(Decision& decision, double dice) {
  const Match& match = decision.resolved.match;
  const bool denies = match.deny != kNoRule;
  Violation& violation = decision.answer.violations.emplace_back();
  violation.rule = denies ? match.deny : match.reject;
  violation.retry_after = UntilRuleEnds(decision.policy.rules, violation.rule, decision.now);
  if (!denies) {
    violation.observed = dice;
    violation.limit_value = match.reject_ratio;
    if (match.reject_ratio < 1) violation.retry_after = std::min(violation.retry_after, kAskAgain);
  }
  violation.line_key = LineKeyOfRule(decision.policy.targets[decision.resolved.target],
                                     decision.policy.rules.name(violation.rule));
  Deny(decision, denies ? Reason::kDenyRule : Reason::kRejectRatio, violation.retry_after);
}

void DenyByViolations(Decision& decision) {
  Reason reason = Reason::kApproximate;
  for (const Violation& violation : decision.answer.violations) {
    if (!violation.warn) reason = std::min(reason, StageOf(violation.limit));  // stages in order
  }
  Deny(decision, reason, LongestRetryAfter(decision.answer));
}

}  // namespace headgate::engine
