#include "server/decide/engine/line_order.h"

#include <algorithm>

#include "common/hash.h"
#include "server/decide/engine/violations.h"

namespace headgate::engine {
namespace {

// Lines of different kinds from one target's secret.
constexpr uint64_t kGateStream = 0x676174656c696e65;
constexpr uint64_t kRuleStream = 0x72756c656c696e65;
constexpr uint64_t kHolderStream = 0x686f6c646c696e65;

constexpr absl::Duration kShortestTurn = absl::Nanoseconds(1);

const LineFlow& FlowOf(Decision& decision) {
  LineFlow& flow = decision.answer.flow;
  if (flow.depth == 0) {
    flow = LineFlowOf(decision.policy, decision.resolved, *decision.request, decision.now);
  }
  return flow;
}

bool IsRefusedForGood(const CheckAnswer& answer) {
  return std::any_of(answer.violations.begin(), answer.violations.end(),
                     [](const Violation& violation) {
                       return !violation.warn && violation.retry_after == absl::InfiniteDuration();
                     });
}

}  // namespace

uint64_t LineKeyOfGate(const Target& target, std::string_view profile) {
  return HashBytes(profile, target.key ^ kGateStream) | 1;
}

uint64_t LineKeyOfRule(const Target& target, std::string_view rule) {
  return HashBytes(rule, target.key ^ kRuleStream) | 1;
}

uint64_t LineKeyOfHolder(const PermitHolder& holder) {
  return CombineHash(holder.key, kHolderStream) | 1;
}

LineFlow LineFlowOf(const Policy& policy, const Resolved& resolved, const CheckRequest& request,
                    const Now& now) {
  const Identity& identity = resolved.identity;
  LineFlow flow;
  flow.priority = resolved.match.priority;
  flow.depth = identity.depth();
  const RuleSet::Weights weights =
      policy.rules.FindWeights({.identity = &identity,
                                .tags = request.tags,
                                .remote_address = request.remote_address,
                                .target = resolved.target,
                                .wall_ns = now.wall_ns});
  const uint64_t target_key = policy.targets[resolved.target].key;
  for (int depth = 1; depth <= flow.depth; ++depth) {
    const auto place = static_cast<size_t>(depth - 1);
    // As Resolved::subject_key, which is the leaf's.
    flow.levels[place] = {.key = CombineHash(target_key, identity.LevelHash(depth)) | 1,
                          .weight = weights[place]};
  }
  return flow;
}

bool IsBehindOthers(Decision& decision, Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  if (budget.warn || IsRefusedForGood(decision.answer)) return false;
  const bool owes = budget.ledger != nullptr;
  const CheckRequest& request = *decision.request;
  // A holder of leases that does not wait has others of its own who do: a place that was kept for
  // its return would be in their way.
  const bool only_looks = request.lease != nullptr && !request.waits && request.ticket == 0;
  const LineArrival arrival{
      .key = LineKeyOf(budget, candidate.tag),
      .flow = FlowOf(decision),
      .subject_key = decision.resolved.subject_key,
      .ticket = request.ticket,
      .waits = request.waits || decision.explains,
      .explains = decision.explains || only_looks,
      .cost_ns = owes ? candidate.cost_ns : 0,
      .burst_ns = owes ? budget.burst_ns : 0,
      .start_level_ns = owes ? budget.ledger->start_level_ns() : 0,
      .debt_ns = owes ? candidate.debt_ns() : 0,
      .speed = owes ? budget.clock->Read(decision.now.monotonic_ns).health.speed : 1,
      .now = decision.now};
  const PlaceInLine standing = decision.line->Arrive(arrival);
  candidate.held_ns =
      std::clamp<int64_t>(candidate.held_ns + standing.held_ns, 0, arrival.burst_ns);
  candidate.others_waiting = standing.others;
  if (!standing.behind) return false;
  Measured measured;
  if (owes) {
    const Ledger& ledger = *budget.ledger;
    measured = {ledger.ToUnits(arrival.debt_ns) + candidate.cost, ledger.ToUnits(budget.burst_ns)};
  }
  ViolateLimit(decision, candidate, Limit::kLine, measured,
               std::max(standing.turn_in, kShortestTurn));
  return true;
}

void TellAdmitted(Decision& decision) {
  for (const Candidate& candidate : decision.Candidates()) {
    if (!candidate.charged) continue;
    const int64_t cost_ns = candidate.budget->ledger == nullptr ? 0 : candidate.cost_ns;
    decision.line->Admitted({.key = LineKeyOf(*candidate.budget, candidate.tag),
                             .flow = FlowOf(decision),
                             .subject_key = decision.resolved.subject_key,
                             .cost_ns = cost_ns,
                             .ticket = decision.request->ticket});
  }
}

void TellUndone(Decision& decision) {
  for (const Candidate& candidate : decision.Candidates()) {
    if (candidate.charged) decision.line->RoomFreed(LineKeyOf(*candidate.budget, candidate.tag));
  }
}

}  // namespace headgate::engine
