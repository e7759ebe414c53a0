#include "server/decide/line/line_table.h"

#include "server/decide/engine/policy.h"
#include "server/decide/line/binding_limit.h"
#include "server/decide/line/line_names.h"

namespace headgate::line {

Line* LineTable::Find(uint64_t key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second.get();
}

void LineTable::NoteCause(Line& line, const engine::Violation& violation,
                          const engine::CheckAnswer& answer) {
  // Of those behind others it is known that the gate before them is open.
  const bool is_behind = violation.limit == engine::Limit::kLine && line.cause != nullptr;
  if (is_behind && line.cause->reason != engine::Reason::kHealth) return;
  const engine::CauseView cause = engine::WaitCauseOf(answer, violation);
  const RefusedBy by = {
      .reason = answer.reason,
      .limit = violation.limit,
      .signal = violation.signal,
      .budget = cause.budget.empty() ? engine::Violation::kNoBudget : violation.budget,
      .rule = cause.rule.empty() ? engine::kNoRule : violation.rule,
      .policy = answer.policy == nullptr ? 0 : answer.policy->version};
  line.observed = cause.observed;
  line.limit_value = cause.limit_value;
  if (line.cause != nullptr && line.refused_by == by) return;
  line.refused_by = by;
  line.cause = std::make_shared<const engine::Cause>(cause.ToCause());
}

Line& LineTable::LineOf(const engine::Violation& violation, const engine::CheckAnswer& answer,
                        const engine::CheckRequest& request) {
  std::unique_ptr<Line>& line = by_key_[violation.line_key];
  if (line == nullptr) {
    line = std::make_unique<Line>(violation.line_key,
                                  FairQueue::Options{.priority_floor = priority_floor_});
    line->is_bucket = IsOfBucket(violation.limit);
    line->names = NamesOf(violation, answer, request);
    if (answer.policy != nullptr) line->priced_by = answer.policy->version;
    // relaxed: whoever misses the new line is refused by the limit itself, as those in it were.
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  // Those who are behind others say nothing about what the others wait for.
  if (violation.limit != engine::Limit::kLine) line->limit = violation.limit;
  NoteCause(*line, violation, answer);
  return *line;
}

Line& LineTable::Join(WaitingCheck& waiting, const engine::Violation& binding,
                      const engine::CheckAnswer& answer) {
  Line& line = LineOf(binding, answer, waiting.Request());
  waiting.key = line.key;
  waiting.cost = CostAtLine(binding, answer);
  waiting.refused_again = 0;
  waiting.expected_ns = kNever;
  // In the queue it is its place that counts: what it held would hold up those before it.
  ReleaseTurn(waiting, line);
  line.queue.Push(waiting.ticket, answer.flow, waiting.cost, waiting.ticket);
  ++line.waiting;
  return line;
}

void LineTable::Part(WaitingCheck& waiting, int64_t now_ns) {
  Line* const line = Find(waiting.key);
  if (line == nullptr) return;
  line->queue.Remove(waiting.ticket);
  waiting.awaits_requeue = false;  // so it is skipped when those in to_requeue are put back
  if (--line->waiting == 0) line->empty_since_ns = now_ns;
  Touch(*line);
}

void LineTable::ReleaseTurn(WaitingCheck& waiting, Line& line) {
  const Turn* const turn = waiting.TurnAt(line.key);
  if (turn == nullptr) return;
  line.held_ns -= turn->held_ns;
  line.had_turn.erase(waiting.ticket);
  waiting.turns.erase(waiting.turns.begin() + (turn - waiting.turns.data()));
}

void LineTable::ReleaseTurns(WaitingCheck& waiting) {
  for (const Turn& turn : waiting.turns) {
    Line* const line = Find(turn.key);
    if (line == nullptr) continue;
    line->had_turn.erase(waiting.ticket);
    if (turn.held_ns == 0) continue;
    line->held_ns -= turn.held_ns;
    SetDue(*line, kAtOnce);
  }
  waiting.turns.clear();
}

void LineTable::SetDue(Line& line, int64_t due_ns) {
  if (line.due_ns == due_ns) return;
  if (line.due_ns != kNever) schedule_.erase({line.due_ns, line.key});
  line.due_ns = due_ns;
  if (due_ns != kNever) schedule_.insert({due_ns, line.key});
}

void LineTable::Erase(Line& line) {
  SetDue(line, kNever);
  by_key_.erase(line.key);
  // relaxed: as where it is counted up.
  count_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace headgate::line
