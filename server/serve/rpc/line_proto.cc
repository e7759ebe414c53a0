#include "server/serve/rpc/line_proto.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/serve/rpc/decision_proto.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

// Null: the policy has none of these names any more.
const engine::Budget* FindBudget(const engine::Policy& policy, std::string_view target,
                                 std::string_view budget) {
  uint32_t place = 0;
  if (budget.empty() || !policy.ResolveTarget(target, place).ok()) return nullptr;
  for (size_t i = 0; i < policy.budget_specs.size(); ++i) {
    if (policy.budget_specs[i].name == budget) return &policy.BudgetsOf(place)[i];
  }
  return nullptr;
}

// Of virtual time, in the budget's unit.
double Units(const engine::Budget* budget, double virtual_ns) {
  if (budget == nullptr || budget->ledger == nullptr) return 0;
  return budget->ledger->ToUnits(std::llround(virtual_ns));
}

void FillWaiter(const line::WaitingView& from, const engine::Budget* budget, v1::LineWaiter& to) {
  to.set_identity(from.identity);
  to.set_cost(Units(budget, from.cost_ns));
  SetDuration(from.waited, *to.mutable_waited());
  to.set_position(static_cast<int64_t>(from.position));
  if (from.expected != absl::InfiniteDuration()) {
    SetDuration(from.expected, *to.mutable_expected_turn());
  }
  SetDuration(from.left, *to.mutable_max_wait_left());
  to.set_priority(from.priority);
  to.set_caller(from.caller);
}

// Room or a permit.
std::string RoomIn(std::string_view budget, std::string_view bucket) {
  std::string words = absl::StrCat("room in budget ", Sv(budget));
  if (!bucket.empty()) absl::StrAppend(&words, ", bucket ", Sv(bucket));
  return words;
}

// What a violation that is of no bucket makes one wait for.
std::string WaitsFor(const engine::Violation& violation, const engine::Policy& policy) {
  if (violation.limit == engine::Limit::kPermits) return "a permit";
  if (violation.limit == engine::Limit::kHealth && violation.profile < policy.profiles.size()) {
    return absl::StrCat("the gate of health profile ", policy.profiles[violation.profile].name);
  }
  if (violation.rule < policy.rules.size()) {
    return absl::StrCat("the end of rule ", Sv(policy.rules.name(violation.rule)));
  }
  return "";
}

void FillPlace(const line::PlaceView& from, int priority, v1::LineState& to) {
  to.set_waiting(static_cast<int64_t>(from.waiting));
  SetDuration(from.oldest, *to.mutable_longest_waited());
  to.set_position(static_cast<int64_t>(from.position));
  if (from.expected != absl::InfiniteDuration()) {
    SetDuration(from.expected, *to.mutable_expected_turn());
  }
  to.set_priority(priority);
}

}  // namespace

void FillLine(const line::LineView& from, const engine::Policy& policy, v1::LineStatus& to) {
  const engine::Budget* const budget = FindBudget(policy, from.target, from.budget);
  to.set_target(from.target);
  if (!from.profile.empty()) {
    to.set_profile(from.profile);
  } else if (!from.budget.empty()) {
    to.set_budget(from.budget);
    to.set_bucket(from.bucket);
    to.set_cost(Units(budget, from.cost_ns));
    to.set_held(Units(budget, static_cast<double>(from.held_ns)));
    if (budget != nullptr) to.set_unit(ToBudgetUnit(budget->unit));
  } else if (!from.rule.empty()) {
    to.set_rule(from.rule);
  }
  to.set_waiting(static_cast<int64_t>(from.waiting));
  SetDuration(from.oldest, *to.mutable_longest_waited());
  for (const line::WaitingView& waiting : from.first) {
    FillWaiter(waiting, budget, *to.add_next());
  }
  if (!to.next().empty() && to.next(0).has_expected_turn()) {
    *to.mutable_expected_turn() = to.next(0).expected_turn();
  }
}

void FillWaiting(const line::LineStats& from, v1::WaitingStatus& to) {
  to.set_waiting(static_cast<int64_t>(from.waiting));
  to.set_max_waiting(static_cast<int64_t>(from.max_waiting));
  to.set_max_share(from.max_waiting_share);
  to.set_lines(static_cast<int64_t>(from.waited_in));
  if (from.waiting > 0) SetDuration(from.oldest, *to.mutable_longest_waited());
  to.set_admitted(static_cast<int64_t>(from.admitted()));
  to.set_timed_out(static_cast<int64_t>(from.timed_out()));
  to.set_left(static_cast<int64_t>(from.left()));
  to.set_turned_away(static_cast<int64_t>(from.refused_full + from.refused_caller_full));
}

void FillPlaces(const engine::Explanation& explanation, line::WaitingLines& lines, Now now,
                v1::ExplainResponse& response) {
  const engine::Policy& policy = *explanation.answer.policy;
  const int priority = explanation.flow.priority;
  absl::flat_hash_set<uint64_t> told;
  for (size_t i = 0; i < explanation.buckets.size(); ++i) {
    const engine::BucketView& bucket = explanation.buckets[i];
    told.insert(bucket.line_key);
    const line::PlaceView place = lines.ReadPlace({.key = bucket.line_key,
                                                   .subject_key = explanation.answer.subject_key,
                                                   .flow = explanation.flow,
                                                   .cost_ns = bucket.cost_ns},
                                                  now);
    if (place.waiting == 0) continue;
    v1::BucketState& state = *response.mutable_buckets(static_cast<int>(i));
    v1::LineState& line = *state.mutable_line();
    FillPlace(place, priority, line);
    line.set_waits_for(RoomIn(state.budget(), state.bucket()));
    line.set_unit(state.unit());
    if (bucket.ns_per_unit > 0) line.set_cost_ahead(place.cost_ahead_ns / bucket.ns_per_unit);
    *response.add_lines() = line;
  }
  for (const engine::Violation& violation : explanation.answer.violations) {
    if (violation.line_key == 0 || violation.warn || !told.insert(violation.line_key).second) {
      continue;
    }
    const line::PlaceView place = lines.ReadPlace({.key = violation.line_key,
                                                   .subject_key = explanation.answer.subject_key,
                                                   .flow = explanation.flow},
                                                  now);
    if (place.waiting == 0) continue;
    v1::LineState& line = *response.add_lines();
    FillPlace(place, priority, line);
    line.set_waits_for(WaitsFor(violation, policy));
  }
}

}  // namespace headgate::rpc
