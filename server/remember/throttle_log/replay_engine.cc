#include "server/remember/throttle_log/replay_engine.h"

#include <algorithm>
#include <string_view>

#include "server/decide/engine/policy.h"

namespace headgate::throttle_log {
namespace {

// Counted under no identity at all.
constexpr std::string_view kNobody = "*";

// Each permit is reported at once, so one would do; nothing has a pattern.
engine::EngineOptions OptionsOf(size_t bucket_bytes, uint64_t seed) {
  return {.seed = seed, .max_permits = 64, .max_patterns = 64, .bucket_bytes = bucket_bytes};
}

// With auto budgets open: nobody finds a rate for them here.
engine::PolicySpec WithoutControllers(engine::PolicySpec policy) {
  for (engine::BudgetSpec& budget : policy.budgets) {
    if (!engine::IsAuto(budget)) continue;
    budget.unit = engine::UnitOf(budget);
    budget.rate.reset();
    budget.burst.reset();
  }
  return policy;
}

}  // namespace

ReplayEngine::ReplayEngine(const engine::PolicySpec& policy, size_t bucket_bytes, uint64_t seed)
    : policy_(policy), seed_(seed), engine_(OptionsOf(bucket_bytes, seed)) {}

Now ReplayEngine::At(int64_t at_ns) const {
  constexpr int64_t kSecondNs = 1'000'000'000;  // the engine's times begin above zero
  return {.monotonic_ns = at_ns - started_ns_ + kSecondNs, .wall_ns = at_ns};
}

absl::Status ReplayEngine::Start(int64_t at_ns) {
  // What the transformed policy would be refused for was refused before it was transformed.
  if (absl::Status valid = engine::Validate(policy_); !valid.ok()) return valid;
  started_ns_ = at_ns;
  return engine_.Install(WithoutControllers(policy_), At(at_ns));
}

ReplayEngine::Decided ReplayEngine::Decide(const Row& row, int64_t at_ns) {
  if (row.key.folded) ++facts_.folded;
  if (row.key.identity == kNobody) {
    ++facts_.nameless;
    return Decided::kNot;
  }
  const Now now = At(at_ns);
  const engine::CheckRequest request{
      .identity = row.key.identity,
      .target = row.key.target,
      .estimated_cost = row.counts.cost / static_cast<double>(row.counts.checks)};
  if (row.key.outcome == Outcome::kDenied) {
    const absl::Status status = engine::Resolve(*engine_.policy(), seed_, request, now, resolved_);
    if (!status.ok()) return Undecided(status);
    if (StaysDenied(row)) return Decided::kDenied;
    const bool by_budget = row.key.cause.reason == engine::Reason::kCapacity;
    if (by_budget && !row.key.cause.signal.empty()) ++facts_.slowed;
  }
  return DecideAnew(request, now);
}

ReplayEngine::Decided ReplayEngine::DecideAnew(const engine::CheckRequest& request,
                                               const Now& now) {
  const absl::Status status = engine_.Check(request, now, answer_);
  if (!status.ok()) return Undecided(status);
  if (answer_.verdict == engine::Verdict::kDenied) return Decided::kDenied;
  if (answer_.permit != 0) {
    // Settles nothing, as what was predicted and what is reported are the same; only frees the
    // permit.
    static_cast<void>(engine_.Report(
        answer_.permit, {.cost = answer_.predicted_cost, .busy_time = answer_.predicted_busy_time},
        now));
  }
  return Decided::kAllowed;
}

ReplayEngine::Decided ReplayEngine::Undecided(const absl::Status& why) {
  if (facts_.undecided++ == 0) facts_.why_undecided = std::string(why.message());
  return Decided::kNot;
}

bool ReplayEngine::StaysDenied(const Row& row) {
  if (resolved_.match.exempt != engine::kNoRule) return false;
  const Cause& cause = row.key.cause;
  if (cause.reason == engine::Reason::kHealth) {
    const bool stays = IsGated();
    facts_.kept_by_health += stays ? 1 : 0;
    return stays;
  }
  // Only Checks that would hold concurrency are denied for want of a permit.
  if (cause.reason == engine::Reason::kMaxConcurrency || cause.reason == engine::Reason::kPermits) {
    const bool stays =
        IsCharged([](const engine::Budget& budget) { return budget.limits_concurrency; });
    facts_.kept_by_concurrency += stays ? 1 : 0;
    return stays;
  }
  const bool by_debt = cause.limit == engine::Limit::kBurst ||
                       cause.limit == engine::Limit::kProbe || cause.limit == engine::Limit::kLine;
  const bool stays = by_debt && IsCharged([&](const engine::Budget& budget) {
                       const engine::BudgetSpec& spec = policy_.budgets[budget.spec];
                       return engine::IsAuto(spec) && spec.name == cause.budget;
                     });
  facts_.kept_by_auto += stays ? 1 : 0;
  return stays;
}

bool ReplayEngine::IsGated() const {
  if (resolved_.match.gates_used > 0) return true;
  if (resolved_.candidates_used == 0) {
    return engine_.policy()->targets[resolved_.target].default_profile != engine::kNoRule;
  }
  return IsCharged([](const engine::Budget& budget) { return budget.profile != engine::kNoRule; });
}

bool ReplayEngine::IsCharged(absl::FunctionRef<bool(const engine::Budget&)> to_such) const {
  const auto begin = resolved_.candidates.begin();
  return std::any_of(begin, begin + resolved_.candidates_used,
                     [&](const engine::Candidate& candidate) {
                       return !candidate.budget->warn && to_such(*candidate.budget);
                     });
}

}  // namespace headgate::throttle_log
