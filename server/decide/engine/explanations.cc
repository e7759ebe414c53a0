#include "server/decide/engine/explanations.h"

#include <algorithm>
#include <optional>
#include <string>

#include "server/decide/engine/charging.h"
#include "server/decide/engine/limits.h"
#include "server/decide/engine/line_order.h"
#include "server/decide/engine/prediction_probe.h"
#include "server/decide/engine/retry_after.h"
#include "server/decide/engine/violations.h"

namespace headgate::engine {
namespace {

void ViewDebt(Decision& decision, Candidate& candidate, BucketView& view) {
  const Budget& budget = *candidate.budget;
  candidate.cost_ns = budget.FittedNs(budget.ledger->ToNs(candidate.cost));
  if (candidate.probes) candidate.cost_ns = std::min(candidate.cost_ns, budget.burst_ns);
  decision.ReadDebt(candidate);  // a rule may have decided before anyone looked
  if (candidate.empties_at_ns == Bucket::kMoved) candidate.empties_at_ns = 0;
  view.speed = budget.clock->Read(decision.now.monotonic_ns).health.speed;
  const std::optional<double> rate = RateOf(decision.policy.budget_specs[budget.spec],
                                            decision.policy.target_specs[decision.resolved.target]);
  view.rate = rate.value_or(view.speed / Ledger::kAutoSpeed);
  if (!rate.has_value()) view.speed = 1;  // the speed is the rate
  view.burst = budget.ledger->ToUnits(budget.burst_ns);
  view.debt = budget.ledger->ToUnits(candidate.debt_ns());
  view.reported_debt = ReportedDebtOf(decision, candidate);
  const Room room = RoomAt(candidate, decision.now);
  view.room_in = room.in;
  view.ask_again = !room.known;
}

// What is predicted for it, before anything is capped.
double PredictedFor(const Decision& decision, const Budget& budget) {
  const double predicted = decision.PredictionOf(budget.unit).value;
  return predicted >= 0 ? predicted : budget.default_cost;
}

BucketView ViewBucket(Decision& decision, Candidate& candidate) {
  const CheckRequest& request = *decision.request;
  const Budget& budget = *candidate.budget;
  const BudgetSpec& spec = decision.policy.budget_specs[budget.spec];
  const Identity& identity = decision.resolved.identity;
  BucketView view;
  view.budget = budget.spec;
  view.unit = budget.unit;
  view.rule = candidate.rule;
  view.level = BucketLevel(budget, identity);
  if (view.level > 0) view.bucket = std::string(identity.Level(view.level));
  for (const Tag& tag : request.tags) {
    if (budget.split == SplitKind::kTag && tag.key == budget.split_tag) view.bucket = tag.value;
  }
  view.max_cost = spec.max_cost;
  view.max_concurrency = spec.max_concurrency;
  if (budget.limits_concurrency) {
    view.outstanding =
        CountOutstanding(decision.tables, budget, candidate.tag, decision.now.monotonic_ns);
  }
  const double predicted = PredictedFor(decision, budget);
  const bool too_costly = !budget.AllowsCost(predicted);
  if (!candidate.probes) candidate.cost = std::min(predicted, budget.max_charged);
  view.cost = candidate.cost;
  view.line_key = LineKeyOf(budget, candidate.tag);
  if (budget.ledger != nullptr) {
    ViewDebt(decision, candidate, view);
    view.cost_ns = candidate.cost_ns;
    view.ns_per_unit = budget.ledger->axis().ns_per_unit;
  }
  const bool may_probe =
      (!too_costly || MayProbe(decision, candidate, Limit::kMaxCost)) &&
      (view.room_in != absl::InfiniteDuration() || MayProbe(decision, candidate, Limit::kBurst));
  if ((too_costly || view.room_in == absl::InfiniteDuration()) && may_probe) {
    const Room room = RoomForProbe(decision, candidate);
    view.room_in = room.in;
    view.ask_again |= !room.known;
  }
  if (budget.limits_concurrency && view.outstanding >= MostPermitsOf(budget)) {
    view.room_in = std::max(view.room_in, kAskAgainForPermit);
    view.ask_again = true;
  }
  if (budget.blocked.has_value() || (too_costly && !may_probe) || budget.max_concurrency == 0) {
    view.room_in = absl::InfiniteDuration();
  }
  view.ask_again &= view.room_in != absl::InfiniteDuration();
  return view;
}

// Whether its holder may have the permit that it cannot do without.
void ExaminePermits(Decision& decision) {
  if (decision.answer.verdict != Verdict::kAllowed || !NeedsPermit(decision)) return;
  decision.tables.permits.LookForExpired(decision.now.monotonic_ns);
  const PermitHolders::Standing standing =
      decision.tables.permits.holders().StandingOf(decision.resolved.holder);
  if (standing.may_take) return;
  ViolatePermits(decision, standing);
  DenyByViolations(decision);
}

// The rules that match, which of them lets it through what others refuse, and those others.
void ExplainRules(const Decision& decision, Explanation& explanation) {
  const CheckRequest& request = *decision.request;
  const Resolved& resolved = decision.resolved;
  const Now& now = decision.now;
  const Match& match = resolved.match;
  const RuleSet& rules = explanation.answer.policy->rules;
  const bool rolls = match.exempt == kNoRule && match.deny == kNoRule;
  explanation.reject_ratio = rolls ? match.reject_ratio : 0;
  explanation.rules = rules.FindAll({.identity = &resolved.identity,
                                     .tags = request.tags,
                                     .remote_address = request.remote_address,
                                     .target = resolved.target,
                                     .wall_ns = now.wall_ns});
  explanation.shorter_prefix = rules.FindShorterPrefix({.identity = &resolved.identity,
                                                        .tags = request.tags,
                                                        .remote_address = request.remote_address,
                                                        .target = resolved.target,
                                                        .wall_ns = now.wall_ns});
  int longest = -1;
  for (const uint32_t rule : explanation.rules) {
    const int length = rules.ViewOf(rule).prefix_length;
    if (length > longest) explanation.longest_prefix = rule;
    longest = std::max(longest, length);
  }
  if (match.exempt == kNoRule) explanation.resumed_by = match.resume;
  for (const uint32_t rule : explanation.rules) {
    const uint32_t resume = explanation.resumed_by;
    if (resume != kNoRule && rules.Lifts(resume, rule)) explanation.lifted.push_back(rule);
  }
}

}  // namespace

absl::StatusOr<Explanation> Explanations::Explain(const CheckRequest& request, Now now, Dice dice) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  const PolicyRef& policy = core_.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  Resolved resolved;
  for (;;) {
    absl::Status status = Resolve(*policy, core_.options.seed, request, now, resolved);
    if (status.ok() && request.estimated_cost.has_value()) {
      status = ValidateCost("estimated_cost", *request.estimated_cost);
    }
    if (!status.ok()) return status;
    Explanation explanation;
    Decision decision(policy, core_.tables, resolved, now, explanation.answer,
                      request.estimated_cost.value_or(CostModel::kNone));
    decision.explains = true;
    decision.line = core_.LineIfAnybodyIsHere();
    decision.request = &request;
    const double wins = resolved.match.reject_ratio >= 1 ? 0 : 1;  // but where all are denied
    const double rolled = dice == Dice::kRolled ? core_.Roll(resolved.match) : wins;
    if (ExamineLimits(decision, rolled) == Outcome::kMoved) {
      core_.AwaitNewer(policy->version);
      continue;
    }
    ExaminePermits(decision);
    ExplainRules(decision, explanation);
    explanation.flow = LineFlowOf(*policy, resolved, request, now);
    for (Candidate& candidate : decision.Candidates()) {
      explanation.buckets.push_back(ViewBucket(decision, candidate));
    }
    return explanation;
  }
}

}  // namespace headgate::engine
