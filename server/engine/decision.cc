#include "server/engine/decision.h"

#include <algorithm>

namespace headgate::engine {

inline bool Decision::ExamineGate(uint32_t profile, uint32_t rule, uint32_t budget, bool warn) {
  if (profile == kNoRule) return false;
  const VirtualClock& clock = *policy_.targets[resolved_.target].gates[profile];
  HealthView& seen = answer_.health;
  const bool first = seen.profile == kNoRule;
  HealthView another;
  HealthView& view = first ? seen : another;
  clock.Read(now_.monotonic_ns, view);
  view.profile = profile;
  view.now_ns = now_.monotonic_ns;
  clock_read_ = &clock;
  virtual_now_ns_ = view.virtual_ns;
  if (view.health.gate_shut) [[unlikely]]
    ViolateGate(view.health, profile, rule, budget, warn);
  const bool shut = view.health.gate_shut;
  if (!first && view.health.speed <= seen.health.speed) seen = view;
  return shut;
}

inline bool Decision::ExamineOwnGates() {
  const Match& match = resolved_.match;
  for (int i = 0; i < match.gates_used; ++i) {
    ExamineGate(match.gates[i].profile, match.gates[i].rule, Violation::kNoBudget, false);
  }
  if (match.gates_used > 0) return true;
  if (resolved_.candidates_used > 0) return false;
  ExamineGate(policy_.targets[resolved_.target].default_profile, kNoRule, Violation::kNoBudget,
              false);
  return true;
}

Decision::Outcome Decision::Examine(double estimate, double dice) {
  const Match& match = resolved_.match;
  answer_.verdict = Verdict::kAllowed;
  answer_.reason = Reason::kNone;
  answer_.permit = 0;
  answer_.priority = match.priority;
  answer_.chunk_scale = 0;
  answer_.retry_after = absl::ZeroDuration();
  answer_.health.profile = kNoRule;
  answer_.violations.clear();
  answer_.subject_key = resolved_.subject_key;
  answer_.repeated = false;
  const double predicted =
      tables_.costs.Predict(policy_.targets[resolved_.target].key, resolved_.pattern_key, estimate);
  answer_.predicted_cost = predicted >= 0 ? predicted : DefaultCost();
  // An estimate that came through unchanged has no learnt ratio behind it.
  learnt_ = predicted >= 0 && predicted != estimate;
  for (Candidate& candidate : Candidates()) {
    candidate.cost = predicted >= 0 ? predicted : candidate.budget->default_cost;
    candidate.skip = candidate.charged = false;
  }
  if (!match.only_charges && ExamineRules(dice)) return Outcome::kDecided;

  const bool budgets_gate = !ExamineOwnGates();
  uint32_t gated_by = kNoRule;
  for (Candidate& candidate : Candidates()) {
    const Budget& budget = *candidate.budget;
    if (budget.profile != gated_by && budgets_gate) {
      const bool shut = ExamineGate(budget.profile, kNoRule, budget.spec, budget.warn);
      candidate.skip = shut && budget.warn;
      gated_by = shut ? kNoRule : budget.profile;
    }
    if (budget.limits_more && !ExamineOtherLimits(candidate)) [[unlikely]]
      continue;
    if (budget.ledger == nullptr) continue;
    candidate.cost_ns = Ledger::ToNs(candidate.cost, budget.ns_per_unit);
    ReadDebt(candidate);
    if (candidate.empties_at_ns == Bucket::kMoved) [[unlikely]]
      return Outcome::kMoved;
    if (candidate.debt_ns() > budget.burst_ns - candidate.cost_ns) [[unlikely]]
      ViolateBurst(candidate);
  }
  if (denied_) DenyByViolations();
  return Outcome::kDecided;
}

inline Decision::Charged Decision::ChargeOne(Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  candidate.concurrency = ConcurrencyTable::kNone;
  if (budget.limits_concurrency || candidate.bucket == nullptr) return ChargeRarely(candidate);
  candidate.refunded_ns = budget.ledger->Refunded(candidate.tag);
  const ChargeResult result = Charge(*candidate.bucket, candidate.tag, candidate.now_ns,
                                     candidate.cost_ns, budget.burst_ns);
  if (result.outcome != ChargeOutcome::kCharged) [[unlikely]]
    return ChargeDebt(candidate);
  candidate.empties_at_ns = result.empties_at;
  return Charged::kYes;
}

// The permit is written only after the last exchange: each of those waits until all earlier stores
// have reached the cache, and a permit's lines are seldom there.
inline PermitId Decision::Issue(uint32_t slot, double estimate) {
  Permit& permit = tables_.permits.body(slot);
  permit.target_key = policy_.targets[resolved_.target].key;
  permit.pattern_key = resolved_.pattern_key;
  permit.policy_version = policy_.version;
  permit.estimate = estimate;
  bool holds_concurrency = false;
  uint32_t used = 0;
  for (const Candidate& candidate : Candidates()) {
    if (!candidate.charged) continue;
    const Budget& budget = *candidate.budget;
    PermitCharge& charge = permit.charges[used++];
    charge.tag = budget.ledger == nullptr ? 0 : candidate.tag;
    charge.ended_at_ns = candidate.empties_at_ns;
    charge.refunded_ns = candidate.refunded_ns;
    charge.cost = candidate.cost;
    charge.ledger = budget.slot;
    charge.concurrency = candidate.concurrency;
    holds_concurrency |= candidate.concurrency != ConcurrencyTable::kNone;
  }
  permit.holds_concurrency = holds_concurrency;
  permit.charges_used = used;
  return tables_.permits.Publish(slot, now_.monotonic_ns + tables_.permit_ttl_ns);
}

Decision::Outcome Decision::Admit(double estimate) {
  const uint32_t slot = tables_.permits.Claim(now_.monotonic_ns);
  if (slot == PermitTable::kNone) [[unlikely]] {
    return answer_.reason == Reason::kExempt ? Outcome::kDecided : Outcome::kNoPermit;
  }
  for (Candidate& candidate : Candidates()) {
    const Budget& budget = *candidate.budget;
    if (candidate.skip || (budget.ledger == nullptr && !budget.limits_concurrency)) continue;
    const Charged charged = ChargeOne(candidate);
    candidate.charged = charged == Charged::kYes;
    if (candidate.charged) [[likely]]
      continue;
    // A budget that only warns and has no room after all is left alone after all.
    if (charged != Charged::kMoved && budget.warn) continue;
    tables_.permits.Abandon(slot);
    return Rollback(charged);
  }
  answer_.permit = Issue(slot, estimate);
  return Outcome::kDecided;
}

}  // namespace headgate::engine
