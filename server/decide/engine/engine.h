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
// This class is the door. What it holds is in engine_core.h, and each question that it answers is a
// part of its own, whose header says what is promised and what can fail.
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

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/approximate_checks.h"
#include "server/decide/engine/budget_view.h"
#include "server/decide/engine/checks.h"
#include "server/decide/engine/engine_controls.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/engine_options.h"
#include "server/decide/engine/engine_state.h"
#include "server/decide/engine/engine_views.h"
#include "server/decide/engine/explanations.h"
#include "server/decide/engine/forgive_debt.h"
#include "server/decide/engine/learnt_cost.h"
#include "server/decide/engine/learnt_costs.h"
#include "server/decide/engine/lease_pieces.h"
#include "server/decide/engine/lease_view.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/policy_install.h"
#include "server/decide/engine/saved_state.h"
#include "server/decide/engine/saved_target.h"
#include "server/decide/engine/settlement.h"
#include "server/decide/engine/settlements.h"
#include "server/decide/engine/spec.h"
#include "server/decide/engine/target_handover.h"

namespace headgate::engine {

class Engine {
 public:
  using AutoRateSetting = engine::AutoRateSetting;
  using Dice = Explanations::Dice;
  using PermitStats = engine::PermitStats;
  using Stats = EngineStats;
  using Unsaved = engine::Unsaved;

  explicit Engine(const EngineOptions& options) : core_(options) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Whom to ask where others wait, and to tell of what is admitted (line_interface.h). Before
  // Checks come; it outlives the engine, or what is asked of it.
  void AttachLine(LineInterface* line) { core_.AttachLine(line); }

  // Which policy is in force: policy_install.h. Null before the first one.
  absl::Status Install(PolicySpec spec, Now now) {
    return PolicyInstall(core_).Install(std::move(spec), now);
  }
  std::shared_ptr<const Policy> policy() const { return core_.policies.Get(); }

  // May this work be done now: checks.h. CheckBatch is as many Checks in order; the spans are of
  // one size.
  absl::Status Check(const CheckRequest& request, Now now, CheckAnswer& answer) {
    return checks_.Check(request, now, answer);
  }
  void CheckBatch(absl::Span<const CheckRequest> requests, Now now, absl::Span<CheckAnswer> answers,
                  absl::Span<absl::Status> statuses) {
    checks_.CheckBatch({requests, answers, statuses}, now);
  }
  // The same where nobody who knows the buckets can be asked, and what was admitted so:
  // approximate_checks.h.
  absl::Status CheckApproximately(const ApproximateChecks::Asked& asked, Now now,
                                  CheckAnswer& answer) {
    return ApproximateChecks(core_).Check(asked, now, answer);
  }
  absl::StatusOr<int> ChargeApproximately(std::string_view target,
                                          absl::Span<const ApproximateCharge> charges, Now now) {
    return ApproximateChecks(core_).Charge(target, charges, now);
  }
  // What Check would answer, and why: explanations.h.
  absl::StatusOr<Explanation> Explain(const CheckRequest& request, Now now,
                                      Dice dice = Dice::kNotRolled) {
    return Explanations(core_).Explain(request, now, dice);
  }

  // What the work cost, or that its answer got lost: settlements.h.
  absl::StatusOr<Settlement> Report(PermitId permit, const ActualCost& actual, Now now) {
    return settlements_.Report(permit, actual, now);
  }
  void Withdraw(const CheckRequest& request, const CheckAnswer& answer, Now now) {
    settlements_.Withdraw(request, answer, now);
  }

  // Whose pieces a holder of a lease tells of: lease_pieces.h.
  absl::StatusOr<PieceSubject> FindPieceSubject(const CheckRequest& request, Now now) const {
    return engine::FindPieceSubject(core_, request, now);
  }

  // What an operator looks up and forgets: learnt_costs.h, forgive_debt.h.
  std::vector<LearntCost> ReadLearntCosts(const LearntCostFilter& filter) {
    return LearntCosts(core_).Read(filter);
  }
  absl::StatusOr<ForgottenCosts> ForgetCosts(const LearntCostFilter& filter) {
    return LearntCosts(core_).Forget(filter);
  }
  absl::StatusOr<ForgivenDebt> ReadDebt(const DebtQuery& query, Now now) {
    return Debts(core_).Read(query, now);
  }
  absl::StatusOr<ForgivenDebt> ForgiveDebt(
      const DebtQuery& query, Now now,
      double most_units = std::numeric_limits<double>::infinity()) {
    return Debts(core_).Forgive(query, now, most_units);
  }

  // What monitors and controllers set: engine_controls.h.
  absl::Status SetHealth(std::string_view target, std::string_view profile, const Health& health,
                         Now now) {
    return EngineControls(core_).SetHealth(target, profile, health, now);
  }
  absl::Status SetAutoRate(std::string_view target, std::string_view budget,
                           const AutoRateSetting& setting, Now now) {
    return EngineControls(core_).SetAutoRate(target, budget, setting, now);
  }
  absl::Status SetProcessorShare(std::string_view target, double share) {
    return EngineControls(core_).SetProcessorShare(target, share);
  }
  LearntControlBytes ReadLearntControl(std::string_view target) {
    return EngineControls(core_).ReadLearntControl(target);
  }
  absl::Status SetLearntControl(std::string_view target, std::string_view bytes,
                                uint64_t adoption) {
    return EngineControls(core_).SetLearntControl(target, bytes, adoption);
  }

  // What outlives the process: engine_state.h.
  void Save(Now now, SavedState& state) { EngineState(core_).Save(now, state); }
  absl::Status Restore(const SavedState& state, Now now, int64_t elapsed_ns) {
    return EngineState(core_).Restore(state, now, elapsed_ns);
  }
  // What another server goes on with, or this one after another: target_handover.h.
  std::vector<absl::StatusOr<SavedTarget>> SaveTargets(absl::Span<const std::string> targets,
                                                       Now now) {
    return TargetHandover(core_).Save(targets, now);
  }
  absl::Status AdoptTarget(std::string_view target, const SavedTarget* saved, Unsaved unsaved,
                           Now now) {
    return TargetHandover(core_).Adopt({target, saved, unsaved}, now);
  }

  // What is shown: engine_views.h.
  int64_t held_bytes() const { return EngineViews(core_).held_bytes(); }
  Stats ReadStats(Now now) const { return EngineViews(core_).ReadStats(now); }
  PermitStats ReadPermitStats(Now now) const { return EngineViews(core_).ReadPermitStats(now); }
  std::vector<PermitHolderView> ReadPermitHolders(size_t most) const {
    return EngineViews(core_).ReadPermitHolders(most);
  }
  std::vector<BudgetView> ReadBudgets(Now now) const { return EngineViews(core_).ReadBudgets(now); }
  std::vector<FullBucket> ReadFullestBuckets(std::string_view target, std::string_view budget,
                                             size_t most, Now now) const {
    return EngineViews(core_).ReadFullestBuckets({target, budget, most}, now);
  }
  LeasesView ReadLeases(const LeaseQuery& query, Now now) const {
    return EngineViews(core_).ReadLeases(query, now);
  }
  absl::StatusOr<AutoActivity> ReadAutoActivity(std::string_view target, std::string_view budget,
                                                Now now) const {
    return EngineViews(core_).ReadAutoActivity(target, budget, now);
  }

 private:
  EngineCore core_;
  Checks checks_{core_};
  Settlements settlements_{core_};
};

}  // namespace headgate::engine
