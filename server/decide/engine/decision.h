// One decision while it is being made: what its parts read and write.
//
//   limits.h            which limits refuse; it only reads: refusing writes to no shared memory
//   violations.h        what the answer says about a limit that refuses
//   retry_after.h       when to ask again
//   prediction_probe.h  what is let through now and then though its prediction never would be
//   busy_time.h         what it is charged to budgets of busy time
//   charging.h          what is charged: all of the budgets, or none
//   explanations.h      the same for Explain, which shows the buckets and charges none of them
//
// A budget that only warns is left alone where it would refuse: its debt is what it would be if it
// enforced.
//
// A Decision lives on one thread's stack for one Check.
//
//   Decision decision(policy, tables, resolved, now, answer, estimate);
//   Outcome outcome = ExamineLimits(decision, dice);
//   if (outcome == Outcome::kDecided && answer.verdict == Verdict::kAllowed) {
//     outcome = Admit(decision);
//   }

#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "absl/base/attributes.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/hash.h"
#include "server/decide/engine/adopted_permits.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/concurrency_table.h"
#include "server/decide/engine/cost_model.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/permit_table.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/reported_debts.h"
#include "server/decide/engine/resolve.h"

namespace headgate::engine {

// What a decision reads and writes besides the policy.
struct Tables {
  CostModel& costs;
  ConcurrencyTable& concurrency;
  PermitTable& permits;
  AdoptedPermits& adopted;
  const ReportedDebts& reported_debts;
  int64_t permit_ttl_ns;
};

enum class Outcome : uint8_t {
  kDecided,
  kMoved,     // a new policy is just coming in: decide again under it
  kNoPermit,  // no room for another permit, or for counting another bucket's
};

// See prediction_probe.h.
struct ProbeTurn {
  CostModel::Cell* cell = nullptr;    // whose turn the decision has taken; null: none
  int64_t before_ns, taken_until_ns;  // unset without one
};

struct Decision {
  // From here on the answer has the policy. A reused one mostly has it already, and counting
  // references is not free.
  Decision(const std::shared_ptr<const Policy>& under, const Tables& tables, Resolved& resolved,
           const Now& now, CheckAnswer& answer, double estimate)
      : policy(*under),
        tables(tables),
        resolved(resolved),
        now(now),
        answer(answer),
        estimate(estimate),
        life_ns(tables.permit_ttl_ns) {
    if (answer.policy != under) answer.policy = under;
  }

  absl::Span<Candidate> Candidates() {
    return {resolved.candidates.data(), static_cast<size_t>(resolved.candidates_used)};
  }

  absl::Span<const Candidate> Candidates() const {
    return {resolved.candidates.data(), static_cast<size_t>(resolved.candidates_used)};
  }

  // Inline in any case: for each bucket of a Check, a call would cost as much again.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void ReadDebt(Candidate& candidate) {
    const Budget& budget = *candidate.budget;
    Ledger& ledger = *budget.ledger;
    candidate.now_ns = ledger.Now(VirtualNow(*budget.clock));
    candidate.bucket = ledger.Find(candidate.tag);
    candidate.empties_at_ns = candidate.bucket != nullptr
                                  ? candidate.bucket->EmptiesAt()
                                  : ledger.EmptiesAt(candidate.tag, candidate.now_ns);
  }
  const CostModel::Prediction& PredictionOf(BudgetUnit unit) const {
    return unit == BudgetUnit::kCost ? cost : busy_time;
  }

  // Whether the cost model would like to know the names.
  bool IsUnnamed() const { return cost.unnamed || busy_time.unnamed; }

  bool HasProbe() const { return probe_turns[0].cell != nullptr || probe_turns[1].cell != nullptr; }

  // Budgets mostly share a clock: it is read once.
  int64_t VirtualNow(const VirtualClock& clock) {
    if (clock_read != &clock) {
      virtual_now_ns = clock.Read(now.monotonic_ns).virtual_ns;
      clock_read = &clock;
    }
    return virtual_now_ns;
  }

  const Policy& policy;
  const Tables& tables;
  Resolved& resolved;
  const Now& now;
  CheckAnswer& answer;
  const double estimate;  // CostModel::kNone: there is none; of a lease: one piece's
  const LeaseTerms* lease = nullptr;
  int64_t life_ns;  // of its permit
  bool denied = false;
  bool explains = false;  // and charges nothing
  // Where others wait, and only there: whom to ask. See line_order.h.
  LineInterface* line = nullptr;
  const CheckRequest* request = nullptr;  // null where nobody waits and it is no lease
  CostModel::Prediction cost;
  CostModel::Prediction busy_time;       // where budgets of it are charged
  std::array<ProbeTurn, 2> probe_turns;  // by unit
  const VirtualClock* clock_read = nullptr;
  int64_t virtual_now_ns;  // of clock_read; unset without one
};

// Counts the permits of one bucket.
inline uint64_t ConcurrencyKeyOf(const Budget& budget, uint64_t tag) {
  return CombineHash(budget.concurrency_key, tag);
}

}  // namespace headgate::engine
