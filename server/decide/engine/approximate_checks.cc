// What a bucket owes at an instant is when it empties on its clock. A charge from before adds to
// that as it would have then: the later of when it emptied and the instant of the charge, and the
// cost. What has not drained since is owed from now on in any case.

#include "server/decide/engine/approximate_checks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "common/hash.h"
#include "server/decide/engine/limits.h"
#include "server/decide/engine/line_order.h"
#include "server/decide/engine/retry_after.h"
#include "server/decide/engine/violations.h"

namespace headgate::engine {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

// Units a second, as things are; none: it is not known here.
std::optional<double> ApproximateRateOf(const Budget& budget, const Now& now) {
  const Ledger& ledger = *budget.ledger;
  if (budget.is_auto) {
    const double found = ledger.shown_rate();
    return found >= 0 ? std::optional(found) : std::nullopt;
  }
  return 1e9 / budget.ns_per_unit * budget.clock->Read(now.monotonic_ns).health.speed;
}

// One that nobody can examine: its violation names no part of a rate.
void RefuseUnknown(Decision& decision, Candidate& candidate) {
  ViolateLimit(decision, candidate, Limit::kApproximate, {candidate.cost, 0}, kAskAgain);
}

void RefuseFull(Decision& decision, Candidate& candidate, const ApproximateBucket& bucket) {
  ViolateLimit(decision, candidate, Limit::kApproximate, {candidate.cost, bucket.share},
               bucket.retry_after);
}

struct Asking {
  std::array<ApproximateBucket, kMaxBudgetsPerCheck> buckets;
  std::array<Candidate*, kMaxBudgetsPerCheck> candidates;
  size_t used = 0;
};

// Those that know a rate; what cannot be known is refused.
void FindBuckets(Decision& decision, Asking& asking) {
  for (Candidate& candidate : decision.Candidates()) {
    if (candidate.skip) continue;
    const Budget& budget = *candidate.budget;
    std::optional<double> rate;
    if (budget.ledger != nullptr) rate = ApproximateRateOf(budget, decision.now);
    // Permits of an auto budget are its controller's to bound, which keeps to the rate as well.
    const bool counts_permits = budget.max_concurrency < std::numeric_limits<int64_t>::max();
    if (counts_permits || (budget.ledger != nullptr && !(rate.value_or(0) > 0))) {
      RefuseUnknown(decision, candidate);
      continue;
    }
    if (budget.ledger == nullptr) continue;
    asking.candidates[asking.used] = &candidate;
    asking.buckets[asking.used++] = {.budget = decision.policy.budget_specs[budget.spec].name,
                                     .key = LineKeyOf(budget, candidate.tag),
                                     .bucket = candidate.tag,
                                     .cost = candidate.cost,
                                     .rate = *rate,
                                     .warn = budget.warn};
  }
}

// Null: it is gone, holds no debt, or what is charged is no bucket of it.
const Budget* BudgetOf(const Policy& policy, uint32_t target, const ApproximateCharge& charge) {
  for (uint32_t i = 0; i < policy.budget_specs.size(); ++i) {
    if (policy.budget_specs[i].name != charge.budget) continue;
    const Budget& budget = policy.BudgetsOf(target)[i];
    const bool is_split = budget.ledger != nullptr && budget.ledger->table() != nullptr;
    const bool is_bucket = is_split || charge.bucket == Ledger::kSingleTag;
    return budget.ledger != nullptr && is_bucket ? &budget : nullptr;
  }
  return nullptr;
}

// False: the bucket was moved to a newer policy.
bool ChargeOne(const ApproximateCharge& charge, const Budget& budget, const Now& now) {
  Ledger& ledger = *budget.ledger;
  const VirtualClock::Reading clock = ledger.clock().Read(now.monotonic_ns);
  const int64_t now_ns = ledger.Now(clock.virtual_ns);
  const double since_ns = absl::ToDoubleNanoseconds(charge.since) * clock.health.speed;
  const int64_t then_ns = now_ns - static_cast<int64_t>(std::clamp(since_ns, 0.0, 0x1p60));
  const int64_t empties_at = ledger.EmptiesAt(charge.bucket, then_ns);
  if (empties_at == Bucket::kMoved) return false;
  const int64_t undrained_ns = ledger.ToNs(std::min(charge.undrained, charge.cost));
  const int64_t drained_ns = ledger.ToNs(charge.cost) - undrained_ns;
  const int64_t owed_until =
      std::max(std::max(empties_at, then_ns) + drained_ns, now_ns) + undrained_ns;
  const int64_t more_ns = owed_until - std::max(empties_at, now_ns);
  if (more_ns <= 0) return true;
  int64_t charged_ns = 0;
  return ledger.ChargeUpTo(charge.bucket, now_ns, more_ns, budget.burst_ns, charged_ns).outcome !=
         ChargeOutcome::kMoved;
}

}  // namespace

absl::Status ApproximateChecks::Check(const Asked& asked, Now now, CheckAnswer& answer) {
  absl::Status status = Decide(asked, core_.policies.Get(), EngineCore::Bounded(now), answer);
  if (!status.ok()) answer.Clear();
  return status;
}

absl::Status ApproximateChecks::Decide(const Asked& asked, const PolicyRef& policy, Now now,
                                       CheckAnswer& answer) {
  const CheckRequest& request = asked.request;
  if (policy == nullptr) return EngineCore::NotInstalled();
  Resolved resolved;
  absl::Status status = Resolve(*policy, core_.options.seed, request, now, resolved);
  if (status.ok() && request.estimated_cost.has_value()) {
    status = ValidateCost("estimated_cost", *request.estimated_cost);
  }
  if (status.ok()) status = ValidateRequestId(request.request_id);
  if (!status.ok()) return status;
  Decision decision(policy, core_.tables, resolved, now, answer,
                    request.estimated_cost.value_or(CostModel::kNone));
  const bool rolls = resolved.match.reject != kNoRule;
  ExamineAllButBuckets(decision, rolls ? core_.Roll(resolved.match) : 1);
  if (decision.denied) return absl::OkStatus();
  Asking asking;
  FindBuckets(decision, asking);
  const absl::Span<ApproximateBucket> buckets(asking.buckets.data(), asking.used);
  if (!buckets.empty()) {
    answer.reason = Reason::kApproximate;
    asked.buckets.Examine({.target = policy->targets[resolved.target].name,
                           .buckets = buckets,
                           .luck = LuckOf(request, now),
                           .only_asks = asked.only_asks || decision.denied,
                           .now = now});
  }
  for (size_t i = 0; i < buckets.size(); ++i) {
    if (buckets[i].refuses) RefuseFull(decision, *asking.candidates[i], buckets[i]);
  }
  if (decision.denied) DenyByViolations(decision);
  return absl::OkStatus();
}

double ApproximateChecks::LuckOf(const CheckRequest& request, Now now) {
  uint64_t bits = 0;
  if (request.request_id.empty()) {
    // relaxed: every caller gets a number of its own, in whatever order.
    bits = CombineHash(core_.dice.fetch_add(1, std::memory_order_relaxed), core_.options.seed);
  } else {
    const uint64_t id = HashBytes(request.request_id, core_.options.seed);
    bits = CombineHash(id, static_cast<uint64_t>(now.wall_ns / kNsPerSecond));
  }
  return static_cast<double>(FinishHash(bits) >> 11) * 0x1p-53;
}

absl::StatusOr<int> ApproximateChecks::Charge(std::string_view target,
                                              absl::Span<const ApproximateCharge> charges,
                                              Now now) {
  now = EngineCore::Bounded(now);
  int unknown = 0;
  for (const PolicyRef& policy = core_.policies.Get();; core_.AwaitNewer(policy->version)) {
    if (policy == nullptr) return EngineCore::NotInstalled();
    uint32_t place = 0;
    if (absl::Status found = policy->ResolveTarget(target, place); !found.ok()) return found;
    bool has_moved = false;
    while (!charges.empty() && !has_moved) {
      const ApproximateCharge& charge = charges.front();
      const Budget* const budget = BudgetOf(*policy, place, charge);
      unknown += budget == nullptr ? 1 : 0;
      has_moved = budget != nullptr && !ChargeOne(charge, *budget, now);
      if (!has_moved) charges.remove_prefix(1);
    }
    if (!has_moved) return unknown;
  }
}

}  // namespace headgate::engine
