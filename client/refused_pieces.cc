#include "client/refused_pieces.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace headgate::client::internal {
namespace {

constexpr size_t kMostCauses = 99;  // and one for all others

}  // namespace

Cause CauseOf(const Answer& answer) {
  const Violation* binding = nullptr;
  const auto wait = [](const Violation& each) {
    return each.retry_after.value_or(absl::InfiniteDuration());
  };
  for (const Violation& each : answer.violations) {
    if (each.warn != answer.allowed()) continue;
    if (binding == nullptr || wait(each) > wait(*binding)) binding = &each;
  }
  if (binding == nullptr) return {answer.reason, std::nullopt, {}, {}, {}};
  return {answer.reason, binding->limit_kind, binding->budget, binding->rule, binding->signal};
}

void RefusedPieces::Add(const Cause& cause, double cost) {
  if (cause == kNoRoom) {
    ++unexplained_.pieces;
    unexplained_.cost += cost;
  } else {
    AddSum(cause, {1, cost});
  }
}

void RefusedPieces::Explain(const Cause& cause) { AddSum(cause, std::exchange(unexplained_, {})); }

void RefusedPieces::AddSum(const Cause& cause, const Sum& sum) {
  if (sum.pieces == 0) return;
  const bool is_known = by_cause_.contains(cause) || by_cause_.size() < kMostCauses;
  Sum& all = by_cause_[is_known ? cause : Cause{std::get<0>(cause), std::nullopt, {}, {}, {}}];
  all.pieces += sum.pieces;
  all.cost = std::min(all.cost + sum.cost, kMaxCost);  // no server takes more
}

std::vector<PieceCount> RefusedPieces::Take() {
  if (unexplained_.pieces == 0) noticed_ns_ = 0;
  std::vector<PieceCount> counts;
  for (const auto& [cause, sum] : std::exchange(by_cause_, {})) {
    const auto& [reason, limit_kind, budget, rule, signal] = cause;
    counts.push_back({.verdict = Verdict::kDenied,
                      .reason = reason,
                      .limit_kind = limit_kind,
                      .budget = budget,
                      .rule = rule,
                      .signal = signal,
                      .pieces = sum.pieces,
                      .cost = sum.cost});
  }
  return counts;
}

}  // namespace headgate::client::internal
