// Who asks, resolved: the first half of a decision, which depends on neither cost nor debt.
//
// Resolving parses the identity, finds the target and the rules, and the tag of every bucket that
// the rules charge. A batch whose requests come from one job resolves it once.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/identity.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/cost_model.h"
#include "server/decide/engine/permit_holder.h"
#include "server/decide/engine/policy.h"

namespace headgate::engine {

// One bucket that a Check is to be charged to.
struct Candidate {
  Candidate() {}  // NOLINT(modernize-use-equals-default): arrays of these stay unset

  // Of the subject.
  const Budget* budget;
  uint64_t tag;
  uint32_t rule;
  // Of one decision about it.
  bool skip;  // a WARN budget that would have refused
  bool charged;
  bool probes;     // see prediction_probe.h
  Bucket* bucket;  // null: not there yet
  double cost;     // in the unit of the budget
  int64_t cost_ns;
  int64_t held_ns;         // of the burst: unused, or for those who are before it in line
  int64_t others_waiting;  // for it; unset where nobody is in any line
  int64_t now_ns;          // on the budget's clock
  int64_t empties_at_ns;   // before the charge, and after it
  int64_t refunded_ns;     // see Ledger::Charged
  uint32_t concurrency;    // cell to release; kNone

  int64_t debt_ns() const { return std::max<int64_t>(empties_at_ns - now_ns, 0); }
  // As this Check sees it.
  int64_t burst_ns() const { return budget->burst_ns - held_ns; }
};

// What a candidate's cost and the level at which it may start leave of its burst: where chunks are
// to start one after another, nobody gets it. The cost in nanoseconds is known.
inline int64_t UnusedBurstOf(const Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  return std::max<int64_t>(budget.burst_ns - candidate.cost_ns - budget.ledger->start_level_ns(),
                           0);
}

struct Resolved {
  // NOLINTNEXTLINE(modernize-use-equals-default): leaves unset what Resolve sets in any case
  Resolved() {}

  uint64_t policy_version = 0;  // 0: not resolved
  Identity identity;
  uint32_t target;
  int candidates_used;
  uint64_t subject_key;  // of the target and the whole identity; odd
  PermitHolder holder;   // whose permit it would be
  CostSubject cost_subject;
  uint64_t cost_owner;     // its keys in the cost model
  uint64_t cost_pattern;   // 0: none
  bool charges_busy_time;  // perhaps; false is certain
  Match match;
  std::array<Candidate, kMaxBudgetsPerCheck> candidates;
};

// InvalidArgument that names the field, NotFound for an unknown target, FailedPrecondition where
// the rules charge more budgets than a Check may have.
absl::Status Resolve(const Policy& policy, uint64_t seed, const CheckRequest& request,
                     const Now& now, Resolved& resolved);

// Whether two requests resolve alike: the same views, not merely the same text.
bool SameSubject(const CheckRequest& a, const CheckRequest& b);

// Ok, or InvalidArgument that names the field. NaN is refused as well.
absl::Status CostError(const char* field, double cost);
inline absl::Status ValidateCost(const char* field, double cost) {
  if (cost >= 0 && cost <= kMaxAmount) [[likely]]
    return absl::OkStatus();
  return CostError(field, cost);
}

// Ok, or InvalidArgument.
absl::Status ValidateRequestId(std::string_view request_id);

// The tag of the bucket that a budget uses for this identity and these tags.
uint64_t BucketTagOf(const Budget& budget, const Identity& identity, absl::Span<const Tag> tags,
                     uint64_t seed);

// The level whose bucket a budget uses for this identity; 0 where it is not split by level.
inline int BucketLevel(const Budget& budget, const Identity& identity) {
  if (budget.split != SplitKind::kDepth) return 0;
  return std::min<int>(budget.split_depth, identity.depth());
}

}  // namespace headgate::engine
