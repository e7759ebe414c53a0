// One decision while it is being made: what its parts read and write.
//
//   limits.h       which limits refuse; only reads, so refusing costs no write to shared memory
//   violations.h   what the answer says about a limit that refuses
//   retry_after.h  when to ask again
//   charging.h     what is charged: all of the budgets, or none
//   explain.cc     the same for Explain, which shows the buckets and charges none of them
//
// A budget that only warns is left alone where it would refuse: its debt is what it would be if it
// enforced.
//
// A Decision lives on one thread's stack for one Check.
//
//   Decision decision(policy, tables, resolved, now, answer);
//   Outcome outcome = ExamineLimits(decision, estimate, dice);
//   if (outcome == Outcome::kDecided && answer.verdict == Verdict::kAllowed) {
//     outcome = Admit(decision, estimate);
//   }

#pragma once

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "common/clock.h"
#include "common/hash.h"
#include "server/engine/answer.h"
#include "server/engine/concurrency_table.h"
#include "server/engine/cost_model.h"
#include "server/engine/permit_table.h"
#include "server/engine/policy.h"
#include "server/engine/resolve.h"

namespace headgate::engine {

// What a decision reads and writes besides the policy.
struct Tables {
  CostModel& costs;
  ConcurrencyTable& concurrency;
  PermitTable& permits;
  int64_t permit_ttl_ns;
};

enum class Outcome : uint8_t {
  kDecided,
  kMoved,     // a new policy is just coming in: decide again under it
  kNoPermit,  // no room for another permit, or for counting another bucket's
};

struct Decision {
  // From here on the answer has the policy. A reused one mostly has it already, and counting
  // references is not free.
  Decision(const std::shared_ptr<const Policy>& under, const Tables& tables, Resolved& resolved,
           const Now& now, CheckAnswer& answer)
      : policy(*under), tables(tables), resolved(resolved), now(now), answer(answer) {
    if (answer.policy != under) answer.policy = under;
  }

  absl::Span<Candidate> Candidates() {
    return {resolved.candidates.data(), static_cast<size_t>(resolved.candidates_used)};
  }

  void ReadDebt(Candidate& candidate) {
    Ledger& ledger = *candidate.budget->ledger;
    candidate.now_ns = ledger.Now(VirtualNow(*candidate.budget->clock));
    candidate.bucket = ledger.Find(candidate.tag);
    candidate.empties_at_ns = candidate.bucket != nullptr
                                  ? candidate.bucket->EmptiesAt()
                                  : ledger.EmptiesAt(candidate.tag, candidate.now_ns);
  }
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
  bool denied = false;
  bool learnt = false;  // the predicted cost comes from Reports
  const VirtualClock* clock_read = nullptr;
  int64_t virtual_now_ns = 0;  // of clock_read
};

// Counts the permits of one bucket.
inline uint64_t ConcurrencyKeyOf(const Budget& budget, uint64_t tag) {
  return CombineHash(budget.concurrency_key, tag);
}

}  // namespace headgate::engine
