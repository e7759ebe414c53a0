#include "server/decide/engine/limits.h"

#include <algorithm>

#include "server/decide/engine/busy_time.h"
#include "server/decide/engine/line_order.h"
#include "server/decide/engine/prediction_probe.h"
#include "server/decide/engine/retry_after.h"
#include "server/decide/engine/violations.h"

namespace headgate::engine {
namespace {

// Whether a rule alone decides: exempt, deny, or the dice.
bool ExamineRules(Decision& decision, double dice) {
  const Match& match = decision.resolved.match;
  if (match.exempt != kNoRule) {
    decision.answer.reason = Reason::kExempt;
    return true;
  }
  const bool denies = match.deny != kNoRule;
  if (!denies && (match.reject == kNoRule || dice >= match.reject_ratio)) return false;
  DenyByRule(decision, dice);
  return true;
}

// Reads the health of a profile's gate.
void ReadGate(Decision& decision, uint32_t profile, HealthView& view) {
  const VirtualClock& clock = *decision.policy.targets[decision.resolved.target].gates[profile];
  clock.Read(decision.now.monotonic_ns, view);
  view.profile = profile;
  view.now_ns = decision.now.monotonic_ns;
  decision.clock_read = &clock;
  decision.virtual_now_ns = view.virtual_ns;
}

// Whether the gate is shut, which is not the first of its Check. The answer has the slowest.
bool ExamineAnotherGate(Decision& decision, const Gate& gate) {
  HealthView view;
  ReadGate(decision, gate.profile, view);
  if (view.health.gate_shut) ViolateGate(decision, view.health, gate);
  HealthView& seen = decision.answer.health;
  if (view.health.speed <= seen.health.speed) seen = view;
  return view.health.gate_shut;
}

// Whether the gate is shut.
inline bool ExamineGate(Decision& decision, const Gate& gate) {
  if (gate.profile == kNoRule) return false;
  HealthView& seen = decision.answer.health;
  if (seen.profile != kNoRule) return ExamineAnotherGate(decision, gate);
  ReadGate(decision, gate.profile, seen);
  if (!seen.health.gate_shut) [[likely]]
    return false;
  ViolateGate(decision, seen.health, gate);
  return true;
}

// Whether the gates of this Check are its rules', or its target's, and not its budgets'.
inline bool ExamineOwnGates(Decision& decision) {
  const Match& match = decision.resolved.match;
  for (int i = 0; i < match.gates_used; ++i) {
    ExamineGate(decision, {.profile = match.gates[i].profile, .rule = match.gates[i].rule});
  }
  if (match.gates_used > 0) return true;
  if (decision.resolved.candidates_used > 0) return false;
  ExamineGate(decision,
              {.profile = decision.policy.targets[decision.resolved.target].default_profile});
  return true;
}

// Where nothing is predicted. The answer has the largest of the budgets'; 1 where there is none
// that is charged for cost.
void TakeDefaultCosts(Decision& decision) {
  double cost = 0;
  bool is_charged = false;
  for (Candidate& candidate : decision.Candidates()) {
    candidate.cost = candidate.budget->default_cost;
    if (candidate.budget->unit != BudgetUnit::kCost) continue;
    cost = std::max(cost, candidate.cost);
    is_charged = true;
  }
  decision.answer.predicted_cost = is_charged ? cost : 1;
}

void ExamineConcurrency(Decision& decision, Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  const Tables& tables = decision.tables;
  const uint64_t key = ConcurrencyKeyOf(budget, candidate.tag);
  const int64_t most = MostPermitsOf(budget);
  if (tables.concurrency.Count(key) < most) return;
  const int64_t count = CountOutstanding(tables, budget, candidate.tag, decision.now.monotonic_ns);
  if (count >= most) ViolateConcurrency(decision, candidate, count);
}

// False: its controller has shut it for a moment.
bool ExamineAuto(Decision& decision, Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  budget.ledger->CountCheck();
  // A mean says nothing of a chunk of another size: its advice would be followed again and again.
  if (decision.busy_time.by_ratio) {
    decision.answer.chunk_scale =
        ChunkScaleFor(decision.busy_time.value, budget.ledger->chunk_seconds());
  }
  candidate.cost = std::min(candidate.cost, budget.max_charged);
  candidate.cost_ns = budget.FittedNs(Ledger::ToNs(candidate.cost, budget.ns_per_unit));
  candidate.held_ns = UnusedBurstOf(candidate);
  const Health health = budget.clock->Read(decision.now.monotonic_ns).health;
  if (!health.gate_shut) return true;
  ViolateLimit(decision, candidate, Limit::kProbe, {candidate.cost, 0},
               UntilNextSample(health, decision.now));
  return false;
}

// The limits that few budgets have. False: its debt does not matter.
bool ExamineOtherLimits(Decision& decision, Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  if (budget.blocked.has_value()) {
    ViolateLimit(decision, candidate, *budget.blocked, {candidate.cost, 0},
                 absl::InfiniteDuration());
  }
  if (budget.AllowsCost(candidate.cost)) {
    // Most are.
  } else if (MayProbe(decision, candidate, Limit::kMaxCost)) {
    if (budget.ledger != nullptr) decision.ReadDebt(candidate);
    TakeProbe(decision, candidate, Limit::kMaxCost);
  } else {
    ViolateLimit(decision, candidate, Limit::kMaxCost, {candidate.cost, budget.max_cost},
                 absl::InfiniteDuration());
  }
  if (budget.limits_concurrency) {
    ExamineConcurrency(decision, candidate);
    const bool in_line = decision.line != nullptr && budget.ledger == nullptr;
    if (in_line && budget.max_concurrency > 0) IsBehindOthers(decision, candidate);
  }
  if (budget.is_auto && !ExamineAuto(decision, candidate)) return false;
  return !budget.blocked.has_value();
}

// The answer to a Check that nothing refuses, with its cost.
inline void BeginAnswer(Decision& decision) {
  CheckAnswer& answer = decision.answer;
  const Resolved& resolved = decision.resolved;
  answer.verdict = Verdict::kAllowed;
  answer.reason = Reason::kNone;
  answer.permit = 0;
  answer.priority = resolved.match.priority;
  answer.chunk_scale = 0;
  answer.retry_after = absl::ZeroDuration();
  answer.health.profile = kNoRule;
  answer.violations.clear();
  answer.subject_key = resolved.subject_key;
  answer.repeated = false;
  answer.unmatched = !resolved.match.matched;
  answer.predicted_busy_time.reset();
  answer.probe.budget = Violation::kNoBudget;
  decision.cost = decision.tables.costs.PredictCost(resolved.cost_owner, resolved.cost_pattern,
                                                    decision.estimate);
  answer.predicted_cost = decision.cost.value;
  for (Candidate& candidate : decision.Candidates()) {
    candidate.cost = decision.cost.value;
    candidate.skip = candidate.charged = candidate.probes = false;
    candidate.held_ns = 0;
  }
  if (decision.cost.value < 0) TakeDefaultCosts(decision);
  if (resolved.charges_busy_time) PredictBusyTime(decision);
}

// Its debt would pass its burst.
void ExamineFull(Decision& decision, Candidate& candidate) {
  if (candidate.cost_ns > candidate.budget->burst_ns &&
      MayProbe(decision, candidate, Limit::kBurst) &&
      (!TakeProbe(decision, candidate, Limit::kBurst) ||
       candidate.debt_ns() <= candidate.budget->burst_ns - candidate.cost_ns)) {
    return;
  }
  ViolateBurst(decision, candidate);
}

// Others wait somewhere, and may be before it here.
void ExamineInLine(Decision& decision, Candidate& candidate) {
  candidate.others_waiting = 0;
  const int64_t burst_ns = candidate.budget->burst_ns;
  if (candidate.cost_ns > burst_ns && MayProbe(decision, candidate, Limit::kBurst) &&
      !TakeProbe(decision, candidate, Limit::kBurst)) {
    return;
  }
  if (candidate.cost_ns <= burst_ns && IsBehindOthers(decision, candidate)) return;
  if (candidate.debt_ns() > candidate.burst_ns() - candidate.cost_ns) {
    ViolateBurst(decision, candidate);
  }
}

// A chunk that is advised has to pass the other limits as well, and twice, so that a job which
// follows the advice is not denied for it. Where they leave no room to grow, nothing is advised.
void BoundAdvice(Decision& decision) {
  double& scale = decision.answer.chunk_scale;
  for (const Candidate& candidate : decision.Candidates()) {
    const Budget& budget = *candidate.budget;
    if (budget.is_auto || budget.warn || candidate.cost <= 0) continue;
    double most = budget.max_cost;
    if (budget.ledger != nullptr && !budget.blocked.has_value()) {
      most = std::min(most, budget.ledger->ToUnits(budget.burst_ns));
    }
    scale = std::min(scale, most / 2 / candidate.cost);
  }
  if (scale <= 1) scale = 0;
}

// The decision is made, but for what others charge meanwhile.
void Conclude(Decision& decision) {
  if (decision.denied) {
    ReturnProbes(decision);
    return DenyByViolations(decision);
  }
  TellProbe(decision);
}

}  // namespace

Outcome ExamineLimits(Decision& decision, double dice) {
  BeginAnswer(decision);
  if (!decision.resolved.match.only_charges && ExamineRules(decision, dice)) {
    return Outcome::kDecided;
  }
  const bool budgets_gate = !ExamineOwnGates(decision);
  uint32_t gated_by = kNoRule;
  for (Candidate& candidate : decision.Candidates()) {
    const Budget& budget = *candidate.budget;
    if (budget.profile != gated_by && budgets_gate) {
      const bool shut = ExamineGate(
          decision, {.profile = budget.profile, .budget = budget.spec, .warn = budget.warn});
      candidate.skip = shut && budget.warn;
      gated_by = shut ? kNoRule : budget.profile;
    }
    if (budget.limits_more && !ExamineOtherLimits(decision, candidate)) [[unlikely]]
      continue;
    if (budget.ledger == nullptr) continue;
    candidate.cost_ns = budget.FittedNs(Ledger::ToNs(candidate.cost, budget.ns_per_unit));
    decision.ReadDebt(candidate);
    if (candidate.empties_at_ns == Bucket::kMoved) [[unlikely]] {
      ReturnProbes(decision);
      return Outcome::kMoved;
    }
    if (decision.line != nullptr) [[unlikely]] {
      ExamineInLine(decision, candidate);
    } else if (candidate.debt_ns() > candidate.burst_ns() - candidate.cost_ns) [[unlikely]] {
      ExamineFull(decision, candidate);
    }
  }
  if (decision.answer.chunk_scale > 1) [[unlikely]]
    BoundAdvice(decision);
  if (decision.denied || decision.HasProbe()) [[unlikely]]
    Conclude(decision);
  return Outcome::kDecided;
}

void ExamineAllButBuckets(Decision& decision, double dice) {
  BeginAnswer(decision);
  const bool by_rule = !decision.resolved.match.only_charges && ExamineRules(decision, dice);
  const bool budgets_gate = !by_rule && !ExamineOwnGates(decision);
  for (Candidate& candidate : decision.Candidates()) {
    const Budget& budget = *candidate.budget;
    candidate.skip = by_rule || (budget.ledger == nullptr && !budget.limits_more);
    if (by_rule) continue;
    if (budgets_gate) {
      const bool shut = ExamineGate(
          decision, {.profile = budget.profile, .budget = budget.spec, .warn = budget.warn});
      candidate.skip |= shut && budget.warn;
    }
    candidate.cost = std::min(candidate.cost, budget.max_charged);
    if (budget.ledger != nullptr) {
      candidate.cost_ns = budget.FittedNs(Ledger::ToNs(candidate.cost, budget.ns_per_unit));
    }
    if (budget.blocked.has_value()) {
      ViolateLimit(decision, candidate, *budget.blocked, {candidate.cost, 0},
                   absl::InfiniteDuration());
    } else if (!budget.AllowsCost(candidate.cost)) {
      ViolateLimit(decision, candidate, Limit::kMaxCost, {candidate.cost, budget.max_cost},
                   absl::InfiniteDuration());
    } else if (budget.ledger != nullptr && candidate.cost_ns > budget.burst_ns) {
      ViolateLimit(decision, candidate, Limit::kBurst,
                   {candidate.cost, budget.ledger->ToUnits(budget.burst_ns)},
                   absl::InfiniteDuration());
    }
  }
  if (decision.denied && !by_rule) DenyByViolations(decision);
}

int64_t CountOutstanding(const Tables& tables, const Budget& budget, uint64_t tag, int64_t now_ns) {
  const uint64_t key = ConcurrencyKeyOf(budget, tag);
  const uint32_t cell = tables.concurrency.Find(key);
  if (cell == ConcurrencyTable::kNone) return 0;
  if (tables.concurrency.EarliestExpiry(key) <= now_ns) {
    tables.adopted.Expire(now_ns);
    tables.permits.Sweep(cell, now_ns, now_ns + tables.permit_ttl_ns / 2);
  }
  return tables.concurrency.Count(key);
}

}  // namespace headgate::engine
