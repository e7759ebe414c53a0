#include "server/health/control_loop.h"

#include <algorithm>
#include <utility>

namespace headgate::health {
namespace {

constexpr int64_t kLatelyNs = 5'000'000'000;
constexpr double kMaxDrain = 1024;  // that the engine takes

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
    case ControlPhase::kBlind:
      return "blind";
  }
  return "";
}

}  // namespace

absl::Duration ControlLoop::OnWork(const absl::StatusOr<WorkCounters>& sample, Now now) {
  MutexLock lock(&mutex_);
  if (spec_.budgets.empty()) return absl::InfiniteDuration();
  now_ns_ = now.monotonic_ns;
  setting_ =
      sample.ok() ? controller_.Step(Read(*sample, now)) : controller_.Miss(now.monotonic_ns);
  next_ns_ = now.monotonic_ns + absl::ToInt64Nanoseconds(setting_.next);
  Apply(now);
  return setting_.next;
}

ControlSample ControlLoop::Read(const WorkCounters& work, Now now) {
  ControlSample sample;
  sample.work = work;
  asked_budgets_.resize(spec_.budgets.size());
  for (size_t i = 0; i < spec_.budgets.size(); ++i) {
    const absl::StatusOr<engine::AutoActivity> activity =
        engine_.ReadAutoActivity(spec_.target, spec_.budgets[i].budget, now);
    if (!activity.ok()) continue;  // a reload has just taken it away
    sample.checks += activity->checks;
    sample.transactions += activity->reports;
    sample.busy_seconds += activity->reported_cost;
    sample.outstanding += activity->outstanding;
    Note(i, *activity, now);
  }
  return sample;
}

void ControlLoop::Note(size_t place, const engine::AutoActivity& activity, Now now) {
  AskedBudget& asked = asked_budgets_[place];
  if (activity.checks > asked.checks) asked.asked_at_ns = now.monotonic_ns;
  asked.checks = activity.checks;
}

bool ControlLoop::Asked(size_t place) const {
  if (place >= asked_budgets_.size() || asked_budgets_[place].asked_at_ns == 0) return false;
  return now_ns_ - asked_budgets_[place].asked_at_ns < kLatelyNs;
}

double ControlLoop::ShareOf(size_t place) const {
  size_t sharing = Asked(place) ? 0 : 1;
  for (size_t i = 0; i < spec_.budgets.size(); ++i) sharing += Asked(i) ? 1 : 0;
  return 1 / static_cast<double>(sharing);
}

double ControlLoop::SpeedOf(std::string_view profile) const {
  for (const HealthSpeed& speed : speeds_) {
    if (speed.profile == profile) return speed.speed;
  }
  return 1;
}

void ControlLoop::Apply(Now now) {
  for (size_t i = 0; i < spec_.budgets.size(); ++i) {
    const ControlledBudget& budget = spec_.budgets[i];
    (void)engine_.SetAutoRate(
        spec_.target, budget.budget,
        {.rate = std::min(kMaxDrain, setting_.drain * ShareOf(i)) * SpeedOf(budget.profile),
         .shut = setting_.shut,
         .next_change_at_ns = next_ns_},
        now);
  }
}

void ControlLoop::OnHealth(std::string_view profile, const engine::Health& health, Now now) {
  MutexLock lock(&mutex_);
  const bool changed = SpeedOf(profile) != health.speed;
  const auto known = std::find_if(speeds_.begin(), speeds_.end(), [&](const HealthSpeed& speed) {
    return speed.profile == profile;
  });
  if (known != speeds_.end()) {
    known->speed = health.speed;
  } else {
    speeds_.push_back({std::string(profile), health.speed});
  }
  if (changed && next_ns_ != 0) Apply(now);
}

void ControlLoop::Reconfigure(ControlSpec spec) {
  MutexLock lock(&mutex_);
  if (spec.options != spec_.options) controller_ = AutoController(spec.options);
  const auto same = [](const ControlledBudget& a, const ControlledBudget& b) {
    return a.budget == b.budget;
  };
  if (!std::equal(spec.budgets.begin(), spec.budgets.end(), spec_.budgets.begin(),
                  spec_.budgets.end(), same)) {
    asked_budgets_.clear();
  }
  spec_ = std::move(spec);
}

std::vector<ControllerSnapshot> ControlLoop::Snapshot() const {
  MutexLock lock(&mutex_);
  std::vector<ControllerSnapshot> snapshots;
  for (size_t i = 0; i < spec_.budgets.size(); ++i) {
    const ControlledBudget& budget = spec_.budgets[i];
    snapshots.push_back({.budget = budget.budget,
                         .phase = NameOf(setting_.phase),
                         .rate = setting_.rate * ShareOf(i) * SpeedOf(budget.profile),
                         .foreground_alone = setting_.alone,
                         .foreground_with_batch = setting_.with_batch});
  }
  return snapshots;
}

}  // namespace headgate::health
