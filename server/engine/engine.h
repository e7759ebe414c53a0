// The decision: may this identity do work of this cost now?
//
// One Engine holds the policy, the buckets, the permits and the learnt costs of a process. It does
// no I/O, reads no clock and draws no random number of its own: `now` comes with each call, and the
// seed with the options. Its memory is fixed by the options and the policy.
//
// Guarantees, at every bucket, for any number of threads and any schedule of theirs:
// - cost admitted in an interval <= burst + rate x health-time elapsed + refunds granted in it;
// - a Check is charged to all of its budgets or to none, and a refused one writes nothing;
// - replacing the policy forgets neither debt nor permits.
// docs/algorithm.md derives them, and says what is inexact and by how much.
//
// Thread-safe. Check on the common path takes no lock and allocates nothing. A `now` that lags, or
// jumps back, makes Check refuse too much, never too little, while a lagging Report may give back
// what has just drained; one that jumps ahead drains and expires what would have drained and
// expired by then.
//
//   Engine engine({.seed = random_seed});
//   absl::Status installed = engine.Install(policy_spec, clock.Read());
//   CheckAnswer answer;
//   absl::Status status = engine.Check({.identity = "job-7:etl", .estimated_cost = 250},
//                                      clock.Read(), answer);
//   if (status.ok() && answer.verdict == Verdict::kAllowed) {
//     ... the work ...
//     engine.Report(answer.permit, {.cost = 310}, clock.Read());
//   }

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/published.h"
#include "server/engine/adopted_permits.h"
#include "server/engine/answer.h"
#include "server/engine/bucket_names.h"
#include "server/engine/budget_view.h"
#include "server/engine/concurrency_table.h"
#include "server/engine/control_states.h"
#include "server/engine/cost_model.h"
#include "server/engine/decision.h"
#include "server/engine/learnt_cost.h"
#include "server/engine/ledger_book.h"
#include "server/engine/line_gate.h"
#include "server/engine/permit_table.h"
#include "server/engine/policy.h"
#include "server/engine/reported_debts.h"
#include "server/engine/request_index.h"
#include "server/engine/resolve.h"
#include "server/engine/saved_state.h"
#include "server/engine/saved_target.h"
#include "server/engine/settlement.h"
#include "server/engine/spec.h"

namespace headgate::engine {

struct EngineOptions {
  // Secret and random, or the one of the state to restore: keys the hashes, starts permit ids and
  // the dice.
  uint64_t seed = 0;
  // Random, where others have the same seed: starts permit ids instead of it, so that no two
  // processes issue the same ones.
  std::optional<uint64_t> permit_seed = std::nullopt;
  absl::Duration permit_ttl = absl::Minutes(1);  // 1 ms to one day
  size_t max_permits = size_t{1} << 15;          // 2^6 to 2^24; 826 bytes each, counts included
  double max_permit_share = 0.5;                 // of one holder; up to 1: see permit_holders.h
  size_t max_patterns = size_t{1} << 14;         // 2^6 to 2^24; 144 bytes each, and its names
  size_t bucket_bytes = size_t{256} << 20;       // of all split budgets on all targets
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Whom to ask where others wait, and to tell of what is admitted (line_gate.h). Before Checks
  // come; it outlives the engine, or what is asked of it.
  void AttachLine(LineGate* gate) {
    line_ = gate;
    permits_.AttachLine(gate);
    adopted_.AttachLine(gate);
  }

  // Replaces the policy as a whole; the old one stays in force where this fails. Checks go on
  // meanwhile; one that meets a budget whose debt is being moved waits for it, 10 ns a bucket.
  // InvalidArgument lists everything that is wrong; ResourceExhausted: too many buckets.
  absl::Status Install(PolicySpec spec, Now now) ABSL_LOCKS_EXCLUDED(install_mutex_);

  // `answer` may be reused from call to call. A denial is an answer, not an error; after an error
  // the answer says denied. Errors: InvalidArgument names the field, NotFound an unknown target,
  // ResourceExhausted: the table of permits is full, try again (the answer then says that, for
  // whoever counts); FailedPrecondition: more budgets than a Check may have.
  absl::Status Check(const CheckRequest& request, Now now, CheckAnswer& answer);

  // As many Checks in order. Requests that share the views of the one before are resolved once.
  // The spans are of one size. Each Check has a status of its own.
  void CheckBatch(absl::Span<const CheckRequest> requests, Now now, absl::Span<CheckAnswer> answers,
                  absl::Span<absl::Status> statuses);

  // What Check would answer, and why; nothing is charged. A rule that denies a share of Checks
  // denies none of these, which are told the share, or its share of them.
  enum class Dice : uint8_t { kNotRolled, kRolled };
  absl::StatusOr<Explanation> Explain(const CheckRequest& request, Now now,
                                      Dice dice = Dice::kNotRolled);

  // Settles a permit with what the work cost, and learns from it. Harmless if repeated.
  // InvalidArgument for a bad cost or busy time, NotFound for a permit that this process never
  // issued.
  absl::StatusOr<Settlement> Report(PermitId permit, const ActualCost& actual, Now now);

  // Undoes an admitted answer that could not be delivered, as if its Check had never been made:
  // what has not drained of its charges is given back, its permit and its concurrency too, its
  // request id is free, and nothing is learnt. An answer that was repeated since is left alone, for
  // somebody has it; so is one without a permit, whose charges nobody knows. Harmless if repeated,
  // or after a Report. `request` is the Check's, with its request id at least.
  void Withdraw(const CheckRequest& request, const CheckAnswer& answer, Now now);

  // What was learnt of costs, what was reported last first. Reads all of it: for an operator, not
  // for hot paths.
  std::vector<LearntCost> ReadLearntCosts(const LearntCostFilter& filter, Now now) const;
  // Forgets it: predictions begin anew. NotFound: the target, or nothing was learnt of it.
  // InvalidArgument: the identity is none, or there are several targets and none is named.
  absl::StatusOr<ForgottenCosts> ForgetCosts(const LearntCostFilter& filter, Now now);
  // Takes what it owes, and `most_units` at most, from the bucket that the identity's work is
  // charged to; `tag_value` says which, where the budget is split by a tag. What is reported later
  // of permits that were issued before gives nothing back. InvalidArgument as ForgetCosts;
  // NotFound: target, budget, or no rule charges the identity to it; FailedPrecondition: the budget
  // holds no debt, since it has no rate.
  absl::StatusOr<ForgivenDebt> ForgiveDebt(
      std::string_view target, std::string_view identity, std::string_view budget,
      std::string_view tag_value, Now now,
      double most_units = std::numeric_limits<double>::infinity());
  // What ForgiveDebt would forgive, or its error. Given that, and the same `now`, it forgives just
  // as much, whatever is charged in between; less only where somebody has been refunded.
  absl::StatusOr<ForgivenDebt> ReadDebt(std::string_view target, std::string_view identity,
                                        std::string_view budget, std::string_view tag_value,
                                        Now now) const;

  // Sets the health of a target's profile. NotFound names what is unknown.
  absl::Status SetHealth(std::string_view target, std::string_view profile, const Health& health,
                         Now now);
  // Sets what was found for a budget whose rate is `auto`.
  struct AutoRateSetting {
    double rate = 0;    // busy seconds a second, 0 to 1024
    bool shut = false;  // deny every Check: the foreground is being measured alone
    // Monotonic; when the controller will think again, so that no denial is told to wait for
    // longer. 0: not known.
    int64_t next_change_at_ns = 0;
    double chunk_seconds = 0;  // busy time that a chunk should take; 0: as usual, 5 to 50 ms
    // Busy seconds that may be owed where a Check begins. Below the burst it makes chunks start one
    // after another, at the rate, also after a pause in which all has drained.
    double start_level = std::numeric_limits<double>::infinity();
    // What the rate comes to over time, for those who look; absent: as it is now.
    std::optional<double> shown_rate = {};
    // Reports say less than what is seen at work: busy time is the time since the permit was
    // issued, where that is more.
    bool distrusts_reports = false;
  };
  absl::Status SetAutoRate(std::string_view target, std::string_view budget,
                           const AutoRateSetting& setting, Now now);

  // What the controller of a target's auto budgets learnt, for its successor: in another process or
  // with the target's next owner. The engine carries it unread, with a count of the adoptions that
  // it came by. Install drops that of targets that are gone; what is set meanwhile, the next one.
  ControlState ReadControlState(std::string_view target) const;
  // NotFound: the target. InvalidArgument: longer than kMaxControlBytes. Aborted: the target has
  // been adopted since its state was read, so what is known is another owner's.
  absl::Status SetControlState(std::string_view target, std::string_view bytes, uint64_t adoption);

  // What has to survive a restart, as it is now. Checks and Reports go on, one with a request id
  // once its stripe is copied; Install waits. A Check or a Report that is under way may be in it,
  // or not, or by its charges only: then more is owed than need be. `state` may be reused.
  void Save(Now now, SavedState& state) ABSL_LOCKS_EXCLUDED(install_mutex_);
  // Once, before the first Install, which then does to the debt what a reload does. The engine was
  // made with the state's seed. `elapsed_ns`: how long ago it was saved, or a bound from below; by
  // so much clocks go on, each at the speed it had. InvalidArgument: no engine saved this;
  // ResourceExhausted: permit ids have run out. The engine is then of no use.
  absl::Status Restore(const SavedState& state, Now now, int64_t elapsed_ns)
      ABSL_LOCKS_EXCLUDED(install_mutex_);

  // Of a server that decides for some of its targets only: what the next owner of each has to know,
  // in the order of the targets, none of which is named twice. The permits are gone through once,
  // however many targets there are. As Save; nothing is to be decided for a target meanwhile, or
  // its next owner will not know of it. NotFound: there is no such target.
  std::vector<absl::StatusOr<SavedTarget>> SaveTargets(absl::Span<const std::string> targets,
                                                       Now now) ABSL_LOCKS_EXCLUDED(install_mutex_);
  // What the owner before may have admitted beyond what it saved.
  enum class Unsaved : uint8_t { kNothing, kUpToBurst };
  // Goes on with a target where its owner before left it; null: that one saved nothing. Debts are
  // what they were then, as nobody knows for certain how much has drained since. What this engine
  // knew of the target itself is forgotten. kUpToBurst: every bucket may be full; so what is
  // admitted first is what drains from now on. Nothing is to be decided for the target meanwhile.
  // NotFound; InvalidArgument: no engine saved this, or not with this one's seed.
  absl::Status AdoptTarget(std::string_view target, const SavedTarget* saved, Unsaved unsaved,
                           Now now) ABSL_LOCKS_EXCLUDED(install_mutex_);

  // The policy in force; null before the first Install.
  std::shared_ptr<const Policy> policy() const { return policies_.Get(); }

  struct Stats {
    size_t permits_live = 0;
    size_t buckets = 0;  // room, in split budgets
    size_t buckets_owing = 0;
    uint64_t live_evictions = 0;  // debts that were inherited
    size_t request_ids = 0;
  };
  // Reads all tables: for status pages, not for hot paths.
  Stats ReadStats(Now now) const;
  struct PermitStats {
    size_t capacity = 0;
    size_t live = 0;
    size_t overdue = 0;           // expired, not reported, and still known
    uint64_t abandoned = 0;       // expired, and forgotten before a Report came
    uint64_t recycled_early = 0;  // lost their place to one of the same holder before their time
    int64_t turned_away = 0;      // Checks, by the share of their holder or a full table
    int64_t without = 0;          // Checks that were charged, and could do without a permit
    double max_share = 0;         // of one holder, alone
    int64_t most_for_one = 0;     // that one who has none could come to now
  };
  PermitStats ReadPermitStats(Now now) const;
  // Who has permits, or was turned away: most permits first.
  std::vector<PermitHolderView> ReadPermitHolders(size_t most) const {
    return permits_.holders().Top(most);
  }
  // All budgets on all targets, in the policy's order.
  std::vector<BudgetView> ReadBudgets(Now now) const;
  // The buckets of split budgets that owe most, fullest first; of one target or budget where named.
  std::vector<FullBucket> ReadFullestBuckets(std::string_view target, std::string_view budget,
                                             size_t most, Now now) const;
  // What the controller of an auto budget reads, many times a second. NotFound as SetAutoRate.
  absl::StatusOr<AutoActivity> ReadAutoActivity(std::string_view target, std::string_view budget,
                                                Now now) const;

 private:
  // Check, CheckBatch, Explain and Report do not copy the pointer to their policy, for all threads
  // would count on one number: their reference shows what this thread got last from any
  // Published<Policy> (common/published.h). So nothing that they call may ask another engine on the
  // same thread: the policy that they are using would be swapped for that engine's, and may be
  // gone.
  using PolicyRef = std::shared_ptr<const Policy>;

  // Far from where adding a time to live overflows.
  static Now Bounded(Now now);
  static absl::Status NotInstalled();

  // Resolves a subject, unless that is done and the policy still the same.
  absl::Status Refresh(const CheckRequest& request, const Now& now, Resolved& resolved,
                       const PolicyRef& policy) const;
  // Resolves and decides.
  absl::Status CheckOne(const CheckRequest& request, const Now& now, Resolved& resolved,
                        const PolicyRef& policy, CheckAnswer& answer);
  // The same, but that an error leaves the answer as it is.
  absl::Status TryCheck(const CheckRequest& request, const Now& now, Resolved& resolved,
                        const PolicyRef& policy, CheckAnswer& answer);
  // With a request id: decides, or repeats the answer.
  absl::Status CheckOnce(const CheckRequest& request, const Now& now, Resolved& resolved,
                         const PolicyRef& policy, CheckAnswer& answer);
  absl::Status Decide(const CheckRequest& request, const Now& now, Resolved& resolved,
                      const PolicyRef& policy, CheckAnswer& answer);
  // Decides the first of `requests`, and those right behind it that can be charged together with
  // it. Returns how many are decided.
  size_t CheckRun(absl::Span<const CheckRequest> requests, const Now& now, Resolved& resolved,
                  const PolicyRef& policy, absl::Span<CheckAnswer> answers,
                  absl::Span<absl::Status> statuses);
  // In nanoseconds of virtual time; below zero: the bucket was moved to a newer policy.
  using OwedNs =
      absl::FunctionRef<int64_t(const Budget& budget, uint64_t bucket, int64_t virtual_now_ns)>;
  // Finds the bucket that the identity's work is charged to, and tells what is owed there.
  absl::StatusOr<ForgivenDebt> DebtOf(std::string_view target, std::string_view identity,
                                      std::string_view budget, std::string_view tag_value, Now now,
                                      OwedNs owed) const;
  // Waits until a policy newer than `version` is published: `policy` references then show it.
  void AwaitNewer(uint64_t version) const;
  // Where to find an auto budget: its ledger, or why there is none.
  absl::StatusOr<const Budget*> FindAuto(const Policy& policy, std::string_view target,
                                         std::string_view budget) const;
  AutoActivity ActivityOf(const Budget& budget, Now now) const;
  BudgetView ViewBudget(const Policy& policy, const Budget& budget, const Target& target,
                        Now now) const;
  // Remembers whose buckets refused, for ReadFullestBuckets.
  void NoteNames(const CheckRequest& request, const Resolved& resolved, const CheckAnswer& answer);
  // Of names that the cost model asks for.
  void NoteCostNames(const CheckRequest& request, const Resolved& resolved);
  // What the work cost, in each unit; none: the prediction stands.
  struct ActualAmounts {
    std::optional<double> cost;
    double busy_seconds = 0;
    double seconds_since = 0;  // the permit was issued
  };
  // Where the permit's charge at a place stands; null: it is to be left as it is.
  static Ledger* LedgerOf(const Policy& policy, const Permit& permit, uint32_t place);
  // All of it that has not drained.
  void TakeBack(const Permit& permit, uint32_t place, const Now& now);
  // The gate, where somebody is in line; else null.
  LineGate* GateIfAnybodyIsHere() const {
    return line_ != nullptr && line_->IsAnybodyHere() ? line_ : nullptr;
  }
  void TellSettled(const Budget* budget, const Permit& permit, uint32_t place,
                   int64_t delta_ns) const;
  void TellChanged() const {
    if (LineGate* const gate = GateIfAnybodyIsHere(); gate != nullptr) gate->Changed();
  }
  uint64_t RequestKeyOf(uint64_t subject_key, const CheckRequest& request) const;
  // As Report does it.
  void SettlePermit(const Permit& permit, const ActualCost& actual, const Now& now,
                    Settlement& settlement);
  // The permit's charge at a place.
  void SettleCharge(const Permit& permit, uint32_t place, const ActualAmounts& actual, Now now,
                    Settlement& settlement);
  // Where a Report is settled; the budget is null where the policy has no such budget.
  struct SettledAt {
    Ledger* ledger;
    const Budget* budget;
    double reported;
  };
  // Makes the charge one of `amount`. Returns how much of it is charged; none: the bucket was
  // moved.
  std::optional<double> SettleTo(double amount, const SettledAt& at, const Permit& permit,
                                 uint32_t place, const Now& now);
  // What a Report is measured by, `since` seconds after its permit was issued: see overrun.h.
  static double ExpectedOf(const PermitCharge& charge, const Ledger& ledger, double since);
  // Whether Reports of busy time are not believed for one of its budgets.
  bool DistrustsReports(const Permit& permit) const;
  void LearnFrom(const Permit& permit, const ActualAmounts& actual, Now now);
  // Of a Check that a reject rule matches.
  double Roll(const Match& match);
  // What Policy::shape has to be.
  uint64_t ShapeOf(const Policy& policy) const;

  const EngineOptions options_;
  CostModel costs_;
  ConcurrencyTable concurrency_;
  PermitTable permits_;
  AdoptedPermits adopted_;
  RequestIndex requests_;
  BucketNames names_;
  ReportedDebts reported_debts_;
  ControlStates control_states_;
  const Tables tables_;
  LineGate* line_ = nullptr;
  std::atomic<uint64_t> dice_;
  Published<Policy> policies_;

  Mutex install_mutex_;
  LedgerBook book_ ABSL_GUARDED_BY(install_mutex_);
  uint64_t version_ ABSL_GUARDED_BY(install_mutex_) = 0;
  // Of the policy that restored answers were given under, until there is a policy again.
  std::optional<uint64_t> restored_shape_ ABSL_GUARDED_BY(install_mutex_);
};

}  // namespace headgate::engine
