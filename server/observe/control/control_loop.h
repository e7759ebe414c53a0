// ControlLoop: drives the controller of one target's auto budgets from samples of its work.
//
// A target without any is not sampled, until a reload gives it one.
//
// All auto budgets of a target have one controller, since what is tolerated is the harm that they
// do together. The rate that it finds is divided by their weights among the budgets that were asked
// for lately, and what one does not use goes to the others (rate_shares.h); one that was not asked
// for gets what would be its share, so that its first Check is not denied for that. A budget's rate
// is its share times the speed of its health profile: health speeds watch what the foreground's
// speed does not show, such as lag. Auto budgets are not split, which the configuration sees to.
//
// A reload that adds or takes away budgets, or changes their weights, divides the same rate anew,
// by what is known of those that stay. One that is new drains nothing before the next sample, which
// shows whether it is asked for; what it did before it was one of these is not counted.
//
// What was learnt is kept in the engine, at most once a second, and so goes with its snapshot to
// the next process, and with the target to its next owner. Where another loop or another owner has
// left something there, this one goes on from it.
//
// Thread-safe.
//
//   ControlLoop loop({.target = "orders", .budgets = {{"backfill", "standard"}}}, engine);
//   health::TargetMonitor monitor(spec, probes, {.work = &loop, ...});

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/engine.h"
#include "server/observe/control/controller.h"
#include "server/observe/control/yielding_meter.h"
#include "server/observe/health/probe.h"
#include "server/observe/health/snapshot.h"
#include "server/observe/health/work_listener.h"

namespace headgate::control {

struct ControlledBudget {
  std::string budget;
  std::string profile;  // that guards it; empty: none
  double weight = 1;    // of its share
};

struct ControlSpec {
  std::string target;
  std::vector<ControlledBudget> budgets;
  ControlOptions options;
};

class ControlLoop final : public health::WorkListener {
 public:
  // The engine outlives the loop.
  ControlLoop(ControlSpec spec, engine::Engine& engine)
      : spec_(std::move(spec)), engine_(engine), controller_(spec_.options) {}

  health::WorkWish OnWork(const absl::StatusOr<health::WorkCounters>& sample, Now now) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  // From the target's monitor.
  void OnHealth(std::string_view profile, const engine::Health& health, Now now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // From the agent beside the database, about twice a second; at once where nothing yields any
  // more. Where it says nothing for 2 s it is taken to have gone.
  void OnYielding(const Yielding& told, Now now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of the same target, after the engine has the budgets. What was found stays, unless the options
  // are others: then what is kept is taken up where it was learnt with those. In force from the
  // next sample or health on, whichever comes first.
  void Reconfigure(ControlSpec spec) ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<health::ControllerSnapshot> Snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct HealthSpeed {
    std::string profile;
    double speed = 1;  // 0 where its gate is shut
  };
  // For one budget, in their order.
  struct AskedBudget {
    // As the engine counted it last; absent: it has not been read yet.
    std::optional<engine::AutoActivity> counted;
    int64_t asked_at_ns = 0;     // 0: never
    int64_t asked_since_ns = 0;  // without a break
    double used = 0;             // busy seconds a second, smoothed
    double share = 1;            // of what was found
    bool is_new = false;         // a reload brought it, and no sample has come since
  };
  // What all budgets did while they were this loop's. They grow, whatever a reload adds or takes
  // away.
  struct Totals {
    uint64_t checks = 0, reports = 0;
    double busy_seconds = 0;
  };

  ControlSample Read(const health::WorkCounters& work, Now now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(size_t place, const engine::AutoActivity& activity, Now now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What is known of the budgets of `spec`.
  std::vector<AskedBudget> Carried(const ControlSpec& spec) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Asked(size_t place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Divide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double ShareOf(size_t place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of what was found, what a budget has over time.
  double RateOf(size_t place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of all budgets, by their shares.
  double Speed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double SpeedOf(std::string_view profile) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Permits that may be out at once of a budget with this share of what was found.
  int64_t MostPermits(double share) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Apply(Now now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where another owner has decided since, or this one begins, or has other options.
  void Restore(Now now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(Now now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  ControlSpec spec_ ABSL_GUARDED_BY(mutex_);
  engine::Engine& engine_;
  Controller controller_ ABSL_GUARDED_BY(mutex_);
  YieldingMeter yielding_ ABSL_GUARDED_BY(mutex_);
  ControlSetting setting_ ABSL_GUARDED_BY(mutex_);
  Now sampled_ ABSL_GUARDED_BY(mutex_);             // when the last sample came
  int64_t next_ns_ ABSL_GUARDED_BY(mutex_) = 0;     // of the next one
  int64_t read_at_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // when the engine was asked
  // The adoption whose bytes were taken up last.
  std::optional<uint64_t> adoption_ ABSL_GUARDED_BY(mutex_);
  uint64_t lessons_ ABSL_GUARDED_BY(mutex_) = 0;  // of the controller, that were kept
  int64_t kept_at_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string missing_ ABSL_GUARDED_BY(mutex_), note_ ABSL_GUARDED_BY(mutex_);  // of statements
  std::vector<AskedBudget> asked_budgets_ ABSL_GUARDED_BY(mutex_);
  Totals totals_ ABSL_GUARDED_BY(mutex_);
  bool is_divided_anew_ ABSL_GUARDED_BY(mutex_) = false;  // and the engine does not know it yet
  std::vector<HealthSpeed> speeds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::control
