#include "server/health/control_loop.h"

#include <utility>

namespace headgate::health {
namespace {

const char* NameOf(ControlPhase phase) {
  switch (phase) {
    case ControlPhase::kRest:
      return "rest";
    case ControlPhase::kIdle:
      return "idle";
    case ControlPhase::kOff:
      return "off";
    case ControlPhase::kOn:
      return "on";
  }
  return "";
}

}  // namespace

absl::Duration ControlLoop::OnWork(const absl::StatusOr<WorkCounters>& sample, Now now) {
  MutexLock lock(&mutex_);
  if (spec_.budgets.empty()) return absl::InfiniteDuration();
  setting_ =
      sample.ok() ? controller_.Step(Read(*sample, now)) : controller_.Miss(now.monotonic_ns);
  next_ns_ = now.monotonic_ns + absl::ToInt64Nanoseconds(setting_.next);
  Apply(now);
  return setting_.next;
}

ControlSample ControlLoop::Read(const WorkCounters& work, Now now) const {
  ControlSample sample;
  sample.work = work;
  for (const ControlledBudget& budget : spec_.budgets) {
    const absl::StatusOr<engine::AutoActivity> activity =
        engine_.ReadAutoActivity(spec_.target, budget.budget, now);
    if (!activity.ok()) continue;  // a reload has just taken it away
    sample.checks += activity->checks;
    sample.transactions += activity->reports;
    sample.outstanding += activity->outstanding;
  }
  return sample;
}

double ControlLoop::SpeedOf(std::string_view profile) const {
  for (const Guard& guard : guards_) {
    if (guard.profile == profile) return guard.speed;
  }
  return 1;
}

void ControlLoop::Apply(Now now) {
  for (const ControlledBudget& budget : spec_.budgets) {
    // What nobody may use does not pile up: the next window would open with a rush.
    const double rate = setting_.shut ? 0 : setting_.rate * SpeedOf(budget.profile);
    (void)engine_.SetAutoRate(spec_.target, budget.budget,
                              {.rate = rate, .shut = setting_.shut, .next_change_at_ns = next_ns_},
                              now);
  }
}

void ControlLoop::OnHealth(std::string_view profile, const engine::Health& health, Now now) {
  MutexLock lock(&mutex_);
  for (Guard& guard : guards_) {
    if (guard.profile != profile) continue;
    const bool changed = guard.speed != health.speed;
    guard.speed = health.speed;
    if (changed && next_ns_ != 0) Apply(now);
    return;
  }
  guards_.push_back({std::string(profile), health.speed});
}

void ControlLoop::Reconfigure(ControlSpec spec) {
  MutexLock lock(&mutex_);
  if (spec.options != spec_.options) controller_ = AutoController(spec.options);
  spec_ = std::move(spec);
}

std::vector<ControllerSnapshot> ControlLoop::Snapshot() const {
  MutexLock lock(&mutex_);
  std::vector<ControllerSnapshot> snapshots;
  for (const ControlledBudget& budget : spec_.budgets) {
    snapshots.push_back({.budget = budget.budget,
                         .phase = NameOf(setting_.phase),
                         .rate = setting_.rate * SpeedOf(budget.profile),
                         .foreground_alone = setting_.alone,
                         .foreground_with_batch = setting_.with_batch});
  }
  return snapshots;
}

}  // namespace headgate::health
