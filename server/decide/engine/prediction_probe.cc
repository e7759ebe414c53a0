#include "server/decide/engine/prediction_probe.h"

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "server/decide/engine/violations.h"

namespace headgate::engine {
namespace {

const CostModel::Prediction& PredictionOf(const Decision& decision, const Candidate& candidate) {
  return decision.PredictionOf(candidate.budget->unit);
}

ProbeTurn& TurnOf(Decision& decision, const Candidate& candidate) {
  return decision.probe_turns[static_cast<size_t>(candidate.budget->unit)];
}

// 0: the next turn may be taken. One that is further ahead than any can be was taken before time
// ran back.
int64_t UntilTurn(int64_t next_ns, const Now& now) {
  const int64_t wait_ns = next_ns - now.monotonic_ns;
  return wait_ns > 0 && wait_ns <= kProbeIntervalNs ? wait_ns : 0;
}

// Whether the decision has a turn of the cell, which it takes if it can.
bool Take(Decision& decision, ProbeTurn& turn, CostModel::Cell& cell) {
  for (const ProbeTurn& taken : decision.probe_turns) {
    if (taken.cell == &cell) return true;
  }
  // relaxed, here and below: the number stands for nothing but itself.
  int64_t next = cell.next_probe_ns.load(std::memory_order_relaxed);
  if (UntilTurn(next, decision.now) > 0) return false;
  const int64_t then = decision.now.monotonic_ns + kProbeIntervalNs;
  // Whoever loses the exchange has no turn.
  if (!decision.explains &&
      !cell.next_probe_ns.compare_exchange_strong(next, then, std::memory_order_relaxed)) {
    return false;
  }
  turn.cell = &cell;
  turn.before_ns = next;
  turn.taken_until_ns = then;
  return true;
}

// What is charged at most: a burst.
void Cap(Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  if (budget.ledger == nullptr) return;
  candidate.cost = std::min(candidate.cost, budget.ledger->ToUnits(budget.burst_ns));
  candidate.cost_ns = std::min(Ledger::ToNs(candidate.cost, budget.ns_per_unit), budget.burst_ns);
}

}  // namespace

bool MayProbe(const Decision& decision, const Candidate& candidate, Limit limit) {
  const Budget& budget = *candidate.budget;
  if (PredictionOf(decision, candidate).by == nullptr || budget.blocked.has_value()) return false;
  // The estimate says something only of a budget in its own unit.
  const double asked = budget.unit == BudgetUnit::kCost ? decision.estimate : CostModel::kNone;
  if (limit == Limit::kBurst) {
    return budget.FittedNs(Ledger::ToNs(asked, budget.ns_per_unit)) <= budget.burst_ns;
  }
  return budget.max_cost != 0 && asked <= budget.max_cost;
}

bool TakeProbe(Decision& decision, Candidate& candidate, Limit limit) {
  const double predicted = PredictionOf(decision, candidate).value;
  CostModel::Cell& cell = *PredictionOf(decision, candidate).by;
  if (Take(decision, TurnOf(decision, candidate), cell)) {
    candidate.probes = true;
    Cap(candidate);
    return true;
  }
  const Budget& budget = *candidate.budget;
  Measured measured{predicted, budget.max_cost};
  if (limit == Limit::kBurst) {
    measured = {budget.ledger->ToUnits(candidate.debt_ns()) + predicted,
                budget.ledger->ToUnits(budget.burst_ns)};
  }
  ViolateLimit(decision, candidate, limit, measured, RoomForProbe(decision, candidate).in);
  Violation& violation = decision.answer.violations.back();
  violation.predicted = predicted;
  violation.learnt_from = static_cast<int64_t>(decision.tables.costs.ReportsOf(cell));
  return false;
}

void ReturnProbes(Decision& decision) {
  for (ProbeTurn& turn : decision.probe_turns) {
    if (turn.cell == nullptr) continue;
    int64_t taken = turn.taken_until_ns;
    // Somebody else's turn since is left alone.
    if (!decision.explains) {
      turn.cell->next_probe_ns.compare_exchange_strong(taken, turn.before_ns,
                                                       std::memory_order_relaxed);
    }
    turn.cell = nullptr;
  }
}

void TellProbe(Decision& decision) {
  for (const Candidate& candidate : decision.Candidates()) {
    if (!candidate.probes || candidate.skip) continue;
    const Budget& budget = *candidate.budget;
    const CostModel::Prediction& prediction = PredictionOf(decision, candidate);
    double most = budget.max_cost;
    if (budget.ledger != nullptr) most = std::min(most, budget.ledger->ToUnits(budget.burst_ns));
    decision.answer.probe = {
        .budget = budget.spec,
        .predicted = prediction.value,
        .most = most,
        .learnt_from = static_cast<int64_t>(decision.tables.costs.ReportsOf(*prediction.by))};
    return;
  }
}

Room RoomForProbe(const Decision& decision, const Candidate& candidate) {
  const CostModel::Cell& cell = *PredictionOf(decision, candidate).by;
  const int64_t wait_ns =
      UntilTurn(cell.next_probe_ns.load(std::memory_order_relaxed), decision.now);
  Room room;
  if (candidate.budget->ledger != nullptr) {
    Candidate capped = candidate;
    Cap(capped);
    room = RoomAt(capped, decision.now);
  }
  room.in = std::max(room.in, absl::Nanoseconds(wait_ns));
  return room;
}

}  // namespace headgate::engine
