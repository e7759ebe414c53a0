// What an Engine holds, and what its parts read and write. Each part answers one question:
//
//   policy_install.h   which policy is in force
//   checks.h           may this work be done now
//   approximate_checks.h  the same, where nobody who knows the buckets can be asked
//   explanations.h     what would be answered, and why
//   settlements.h      what a Report settles, and what an answer that got lost gives back
//   learnt_costs.h     what was learnt of costs, listed and forgotten
//   forgive_debt.h     what a bucket owes, and forgiving it
//   engine_controls.h  what monitors and controllers set
//   engine_views.h     what is shown
//   engine_state.h     what is saved, and restored after a restart
//   target_handover.h  what one server tells the next that decides for a target
//
// The parts hold nothing but a reference to this. engine.h is the one door to them.
//
// Thread-safe, as the tables are; `line` is set before Checks come.
//
//   EngineCore core(options);
//   Checks checks(core);

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/published.h"
#include "server/decide/engine/adopted_permits.h"
#include "server/decide/engine/bucket_names.h"
#include "server/decide/engine/concurrency_table.h"
#include "server/decide/engine/cost_model.h"
#include "server/decide/engine/decision.h"
#include "server/decide/engine/engine_options.h"
#include "server/decide/engine/learnt_controls.h"
#include "server/decide/engine/lease_names.h"
#include "server/decide/engine/ledger_book.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/permit_table.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/reported_debts.h"
#include "server/decide/engine/request_index.h"
#include "server/decide/engine/rule_times.h"
#include "server/decide/engine/safe_rates.h"

namespace headgate::engine {

// Checks, Explain and Report do not copy the pointer to their policy, for all threads would count
// on one number: their reference shows what this thread got last from any Published<Policy>
// (common/published.h). So nothing that they call may ask another engine on the same thread: the
// policy that they are using would be swapped for that engine's, and may be gone.
using PolicyRef = std::shared_ptr<const Policy>;

struct EngineCore {
  explicit EngineCore(const EngineOptions& options);
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;

  // See Engine::AttachLine.
  void AttachLine(LineInterface* attached) {
    line = attached;
    permits.AttachLine(attached);
    adopted.AttachLine(attached);
  }
  // Far from where adding a time to live overflows.
  static Now Bounded(Now now);
  static absl::Status NotInstalled();

  // Waits until a newer policy than this version is published: a PolicyRef then shows it.
  void AwaitNewer(uint64_t than) const;
  // What requests are known by: the subject, and the request's id.
  uint64_t RequestKeyOf(uint64_t subject_key, const CheckRequest& request) const;
  // Rolls the dice for a Check that a reject rule matches.
  double Roll(const Match& match);

  // The line, where somebody is in it; else null.
  LineInterface* LineIfAnybodyIsHere() const {
    return line != nullptr && line->IsAnybodyHere() ? line : nullptr;
  }
  // What is charged though nobody asked for it: before anything is decided, settled or saved.
  void ChargeSafeRates(const Now& now) { safe_rates.ChargeIfDue(*this, now); }
  void TellPolicyChanged() const {
    if (line != nullptr) line->PolicyChanged();
  }
  void TellChanged() const {
    if (line != nullptr) line->Changed();
  }

  const EngineOptions options;
  RuleTimes rule_times;
  CostModel costs;
  ConcurrencyTable concurrency;
  PermitTable permits;
  AdoptedPermits adopted;
  RequestIndex requests;
  SafeRates safe_rates;
  BucketNames names;
  LeaseNames lease_names;
  ReportedDebts reported_debts;
  LearntControls learnt_controls;
  const Tables tables;
  LineInterface* line = nullptr;
  std::atomic<uint64_t> dice;
  Published<Policy> policies;

  Mutex install_mutex;
  LedgerBook book ABSL_GUARDED_BY(install_mutex);
  uint64_t version ABSL_GUARDED_BY(install_mutex) = 0;
  // The shape of the policy that restored answers were given under, until there is a policy
  // again.
  std::optional<uint64_t> restored_shape ABSL_GUARDED_BY(install_mutex);
};

}  // namespace headgate::engine
