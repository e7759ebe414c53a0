// One decision: all limits are looked at, then all are charged, or none.
//
// Examine reads only. It goes through the stages in their order (exempt, deny, reject ratio, health
// gate, then every limit of every budget) and writes the answer; a refusal ends there, so refusing
// costs no write to shared memory. Admit then charges bucket after bucket, those of the deepest
// rules first. Each charge decides again on what it exchanges, for others may have charged
// meanwhile; if one refuses, those before it are undone and the Check is refused after all.
//
// A budget that only warns is left alone where it would refuse: its debt is what it would be if it
// enforced.
//
// A Decision lives on one thread's stack for one Check. decision.cc holds what every Check goes
// through, decision_refuse.cc what only refusals, warnings and rarer limits need.

#ifndef HEADGATE_SERVER_ENGINE_DECISION_H_
#define HEADGATE_SERVER_ENGINE_DECISION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/clock.h"
#include "common/hash.h"
#include "server/engine/answer.h"
#include "server/engine/concurrency_table.h"
#include "server/engine/cost_model.h"
#include "server/engine/permit_table.h"
#include "server/engine/policy.h"
#include "server/engine/subject.h"

namespace headgate::engine {

// What a decision reads and writes besides the policy.
struct Tables {
  CostModel& costs;
  ConcurrencyTable& concurrency;
  PermitTable& permits;
  int64_t permit_ttl_ns;
};

// Counts the permits of one bucket.
inline uint64_t ConcurrencyKeyOf(const Budget& budget, uint64_t tag) {
  return CombineHash(budget.concurrency_key, tag);
}
// Permits of a bucket that are out and have not expired; the budget limits them.
int64_t CountOutstanding(const Tables& tables, const Budget& budget, uint64_t tag, int64_t now_ns);

class Decision {
 public:
  enum class Outcome : uint8_t {
    kDecided,
    kMoved,     // a new policy is just coming in: decide again under it
    kNoPermit,  // no room for another permit, or for counting another bucket's
  };

  // From here on the answer has the policy. A reused one mostly has it already, and counting
  // references is not free.
  Decision(const std::shared_ptr<const Policy>& policy, const Tables& tables, Resolved& resolved,
           const Now& now, CheckAnswer& answer)
      : policy_(*policy), tables_(tables), resolved_(resolved), now_(now), answer_(answer) {
    if (answer.policy != policy) answer.policy = policy;
  }

  // `estimate` is negative where there is none. `dice` in [0, 1): the Check is rejected where it is
  // below a rule's ratio; 1 never rejects.
  Outcome Examine(double estimate, double dice);

  // After Examine has allowed.
  Outcome Admit(double estimate);

  // Instead of Admit, for a run of Checks that resolve alike and have the same estimate; `answers`
  // are theirs, the first being the one that was examined. Returns how many of the first were
  // admitted, with their answers; 0 where they have to be decided one by one.
  size_t AdmitTogether(double estimate, absl::Span<CheckAnswer> answers);

  // The buckets that the Check would be charged to, once Examine has run. `request` is the one that
  // was resolved.
  std::vector<BucketView> View(const CheckRequest& request);

 private:
  absl::Span<Candidate> Candidates() {
    return {resolved_.candidates.data(), static_cast<size_t>(resolved_.candidates_used)};
  }

  // Whether a rule alone decides: exempt, deny, or the dice.
  bool ExamineRules(double dice);
  // Whether the gates of this Check are its rules', or its target's, and not its budgets'.
  bool ExamineOwnGates();
  // Whether the gate is shut.
  bool ExamineGate(uint32_t profile, uint32_t rule, uint32_t budget, bool warn);
  double DefaultCost() const;  // the largest of the budgets'
  // False: its debt does not matter.
  bool ExamineOtherLimits(Candidate& candidate);
  // False: its controller has shut it for a moment.
  bool ExamineAuto(Candidate& candidate);
  void ExamineConcurrency(Candidate& candidate);
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
    if (clock_read_ != &clock) {
      virtual_now_ns_ = clock.Read(now_.monotonic_ns).virtual_ns;
      clock_read_ = &clock;
    }
    return virtual_now_ns_;
  }

  // Adds a violation of `candidate`, which denies unless the budget only warns.
  void Violate(Candidate& candidate, Limit limit, double observed, double limit_value,
               absl::Duration retry_after);
  void ViolateGate(const Health& health, uint32_t profile, uint32_t rule, uint32_t budget,
                   bool warn);
  void ViolateBurst(Candidate& candidate);
  void ViolateConcurrency(Candidate& candidate, int64_t count);
  struct Room {
    absl::Duration in = absl::ZeroDuration();  // infinite: never
    bool known = true;                         // false: `in` is when to ask again
  };
  Room RoomAt(const Candidate& candidate) const;
  void Deny(Reason reason);
  void DenyByViolations();
  BucketView ViewOne(Candidate& candidate, const CheckRequest& request);

  enum class Charged : uint8_t { kYes, kRefused, kMoved, kTableFull };
  Charged ChargeOne(Candidate& candidate);
  // The rarer ways: concurrency, no bucket yet, refused after all.
  Charged ChargeRarely(Candidate& candidate);
  Charged ChargeDebt(Candidate& candidate);
  Charged AcquireConcurrency(Candidate& candidate);
  // Takes back what the last `count` Checks were charged, and what they hold.
  void UndoLast(int count);
  // Undoes this Check, and turns `why` into the outcome.
  Outcome Rollback(Charged why);
  // How many such Checks fit at every bucket, as Examine saw them; 1 where that is not known.
  int RoomFor(int most);
  bool ChargeTogether(int count);
  void MovePlaces(int checks);
  PermitId Issue(uint32_t slot, double estimate);
  uint64_t ConcurrencyKey(const Candidate& candidate) const {
    return ConcurrencyKeyOf(*candidate.budget, candidate.tag);
  }

  const Policy& policy_;
  const Tables& tables_;
  Resolved& resolved_;
  const Now& now_;
  CheckAnswer& answer_;
  bool denied_ = false;
  bool learnt_ = false;  // the predicted cost comes from Reports
  const VirtualClock* clock_read_ = nullptr;
  int64_t virtual_now_ns_ = 0;  // of clock_read_
};

}  // namespace headgate::engine

#endif  // HEADGATE_SERVER_ENGINE_DECISION_H_
