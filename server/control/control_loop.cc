#include "server/control/control_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/control/control_words.h"
#include "server/control/learnt_control.h"
#include "server/control/rate_shares.h"

namespace headgate::control {
namespace {

constexpr int64_t kLatelyNs = 5'000'000'000;
constexpr double kMaxDrain = 1024;  // that the engine takes
constexpr double kUsedFor = 3;      // s over which what is used is smoothed
constexpr int64_t kJudgedAfterNs = 5'000'000'000;
constexpr int64_t kKeepAfterNs = 1'000'000'000;

}  // namespace

health::WorkWish ControlLoop::OnWork(const absl::StatusOr<health::WorkCounters>& sample, Now now) {
  MutexLock lock(&mutex_);
  if (spec_.budgets.empty()) return {.after = absl::InfiniteDuration()};
  now_ns_ = now.monotonic_ns;
  // Of a database that cannot be seen yet the rate would fall, and have to grow again.
  if (sample.ok()) TakeUp(now);
  setting_ =
      sample.ok() ? controller_.Step(Read(*sample, now)) : controller_.Miss(now.monotonic_ns);
  asked_budgets_.resize(spec_.budgets.size());
  if (sample.ok()) {
    missing_ = sample->statements_missing;
    note_ = sample->statements_note;
  }
  Divide();
  next_ns_ = now.monotonic_ns + absl::ToInt64Nanoseconds(setting_.next);
  Apply(now);
  Keep(now);
  return {.after = setting_.next, .statements = setting_.statements};
}

ControlSample ControlLoop::Read(const health::WorkCounters& work, Now now) {
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
  read_at_ns_ = now.monotonic_ns;
  sample.speed = Speed();
  return sample;
}

void ControlLoop::Note(size_t place, const engine::AutoActivity& activity, Now now) {
  AskedBudget& asked = asked_budgets_[place];
  const double seconds = static_cast<double>(now.monotonic_ns - read_at_ns_) / 1e9;
  if (read_at_ns_ != 0 && seconds > 0) {
    const double newest = (activity.reported_cost - asked.busy_seconds) / seconds;
    asked.used += (1 - std::exp(-seconds / kUsedFor)) * (newest - asked.used);
  }
  asked.busy_seconds = activity.reported_cost;
  if (activity.checks > asked.checks) {
    if (now.monotonic_ns - asked.asked_at_ns > kLatelyNs) asked.asked_since_ns = now.monotonic_ns;
    asked.asked_at_ns = now.monotonic_ns;
  }
  asked.checks = activity.checks;
}

bool ControlLoop::Asked(size_t place) const {
  if (place >= asked_budgets_.size() || asked_budgets_[place].asked_at_ns == 0) return false;
  return now_ns_ - asked_budgets_[place].asked_at_ns < kLatelyNs;
}

// What one uses is known when it has asked for a while.
void ControlLoop::Divide() {
  std::vector<ShareClaim> claims(spec_.budgets.size());
  for (size_t i = 0; i < claims.size(); ++i) {
    const AskedBudget& asked = asked_budgets_[i];
    const bool is_judged = now_ns_ - asked.asked_since_ns > kJudgedAfterNs;
    const double allowed = setting_.rate * SpeedOf(spec_.budgets[i].profile);
    claims[i] = {.weight = spec_.budgets[i].weight,
                 .asks = Asked(i),
                 .had = asked.share,
                 .used = is_judged && allowed > 0 ? asked.used / allowed : 1};
  }
  const std::vector<double> shares = DivideByWeight(claims);
  for (size_t i = 0; i < claims.size(); ++i) asked_budgets_[i].share = shares[i];
}

double ControlLoop::ShareOf(size_t place) const {
  return place < asked_budgets_.size() ? asked_budgets_[place].share : 1;
}

double ControlLoop::RateOf(size_t place) const {
  return setting_.rate * ShareOf(place) * SpeedOf(spec_.budgets[place].profile);
}

double ControlLoop::Speed() const {
  double speed = 0, shares = 0;
  for (size_t i = 0; i < spec_.budgets.size(); ++i) {
    if (!Asked(i)) continue;
    speed += ShareOf(i) * SpeedOf(spec_.budgets[i].profile);
    shares += ShareOf(i);
  }
  return shares > 0 ? speed / shares : 1;
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
         .next_change_at_ns = next_ns_,
         .chunk_seconds = setting_.chunk,
         .start_level = setting_.start_level,
         .shown_rate = RateOf(i),
         .distrusts_reports = setting_.understated},
        now);
  }
}

// Whoever gives a target away, or takes one over of which nothing is left, begins anew: what it
// learnt as its owner may be long ago, and the foreground that it saw since may have been beside
// another owner's batch.
void ControlLoop::TakeUp(Now now) {
  const engine::ControlState known = engine_.ReadControlState(spec_.target);
  if (known.adoption == adoption_) return;
  adoption_ = known.adoption;
  const absl::StatusOr<LearntControl> learnt = ParseLearntControl(known.bytes);
  const bool is_of_use = learnt.ok() && learnt->IsWith(spec_.options);
  if (is_of_use) {
    controller_.TakeUp(*learnt, learnt->SecondsUntil(now.wall_ns));
  } else {
    controller_ = Controller(spec_.options);
  }
  lessons_ = controller_.lessons();
}

// Where the target has been adopted in between, it is taken up at the next sample.
void ControlLoop::Keep(Now now) {
  if (controller_.lessons() == lessons_) return;
  if (kept_at_ns_ != 0 && now.monotonic_ns - kept_at_ns_ < kKeepAfterNs) return;
  LearntControl learnt = controller_.Learnt();
  const auto since_ns = static_cast<int64_t>(controller_.since_learnt() * 1e9);
  learnt.at_wall_ns = std::max<int64_t>(0, now.wall_ns - since_ns);
  (void)engine_.SetControlState(spec_.target, ToText(learnt), adoption_.value_or(0));
  lessons_ = controller_.lessons();
  kept_at_ns_ = now.monotonic_ns;
}

void ControlLoop::OnHealth(std::string_view profile, const engine::Health& health, Now now) {
  MutexLock lock(&mutex_);
  const double speed = health.gate_shut ? 0 : health.speed;
  const bool changed = SpeedOf(profile) != speed;
  const auto known = std::find_if(speeds_.begin(), speeds_.end(),
                                  [&](const HealthSpeed& one) { return one.profile == profile; });
  if (known != speeds_.end()) {
    known->speed = speed;
  } else {
    speeds_.push_back({std::string(profile), speed});
  }
  if (changed && next_ns_ != 0) Apply(now);
}

void ControlLoop::Reconfigure(ControlSpec spec) {
  MutexLock lock(&mutex_);
  if (spec.options != spec_.options) {
    controller_ = Controller(spec.options);
    lessons_ = 0;
    adoption_.reset();  // what is kept may have been learnt with these
  }
  const auto same = [](const ControlledBudget& a, const ControlledBudget& b) {
    return a.budget == b.budget;
  };
  if (!std::equal(spec.budgets.begin(), spec.budgets.end(), spec_.budgets.begin(),
                  spec_.budgets.end(), same)) {
    asked_budgets_.clear();
  }
  spec_ = std::move(spec);
}

std::vector<health::ControllerSnapshot> ControlLoop::Snapshot() const {
  MutexLock lock(&mutex_);
  std::vector<health::ControllerSnapshot> snapshots;
  for (size_t i = 0; i < spec_.budgets.size(); ++i) {
    const ControlledBudget& budget = spec_.budgets[i];
    const double speed = SpeedOf(budget.profile);
    const bool is_there = HasForeground(setting_);
    snapshots.push_back({.budget = budget.budget,
                         .phase = NameOf(setting_.phase),
                         .rate = RateOf(i),
                         .foreground_alone = is_there ? setting_.alone : 0,
                         .foreground_with_batch = is_there ? setting_.with_batch : 0,
                         .effects = EffectsOf(setting_),
                         .explanation = absl::StrCat(ExplainSpeed(budget.profile, speed),
                                                     Explain(setting_, missing_, note_))});
  }
  return snapshots;
}

}  // namespace headgate::control
