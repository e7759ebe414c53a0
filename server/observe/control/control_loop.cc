#include "server/observe/control/control_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/control/control_explanation.h"
#include "server/observe/control/rate_shares.h"

namespace headgate::control {
namespace {

constexpr int64_t kLatelyNs = 5'000'000'000;
constexpr double kMaxDrain = 1024;  // that the engine takes
constexpr double kUsedFor = 3;      // s over which what is used is smoothed
constexpr int64_t kJudgedAfterNs = 5'000'000'000;

}  // namespace

health::WorkWish ControlLoop::OnWork(const absl::StatusOr<health::WorkCounters>& sample, Now now) {
  MutexLock lock(&mutex_);
  if (spec_.budgets.empty()) return {.after = absl::InfiniteDuration()};
  sampled_ = now;
  // Of a database that cannot be seen yet the rate would fall, and have to grow again.
  if (sample.ok()) Restore(now);
  if (sample.ok()) {
    ControlSample read = Read(*sample, now);
    yielding_.Note({.outstanding = read.outstanding, .busy_seconds = read.busy_seconds},
                   now.monotonic_ns);
    (void)controller_.SetYields(yielding_.Yields(now.monotonic_ns));
    read.processor_share = yielding_.processor_share();
    setting_ = controller_.Step(read);
  } else {
    (void)controller_.SetYields(yielding_.Yields(now.monotonic_ns));
    setting_ = controller_.Miss(now.monotonic_ns);
  }
  asked_budgets_.resize(spec_.budgets.size());
  if (sample.ok()) {
    missing_ = sample->statements_missing;
    note_ = sample->statements_note;
  }
  if (sample.ok() || setting_.phase == ControlPhase::kBlind) {
    for (AskedBudget& asked : asked_budgets_) asked.is_new = false;
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
    sample.outstanding += activity->outstanding;
    Count(i, *activity, now);
  }
  read_at_ns_ = now.monotonic_ns;
  sample.checks = totals_.checks;
  sample.transactions = totals_.reports;
  sample.busy_seconds = totals_.busy_seconds;
  sample.speed = Speed();
  return sample;
}

// What the engine has counted of one that was not read before is of a time in which it was not this
// loop's; but with the first sample of all it has just been asked for.
void ControlLoop::Count(size_t place, const engine::AutoActivity& activity, Now now) {
  AskedBudget& asked = asked_budgets_[place];
  engine::AutoActivity before =
      asked.counted.value_or(read_at_ns_ == 0 ? engine::AutoActivity{} : activity);
  // It was taken away, forgotten, and put back.
  if (activity.checks < before.checks || activity.reports < before.reports) before = {};
  asked.counted = activity;
  const double busy_seconds = std::max(0.0, activity.reported_cost - before.reported_cost);
  totals_.checks += activity.checks - before.checks;
  totals_.reports += activity.reports - before.reports;
  totals_.busy_seconds += busy_seconds;
  const double seconds = static_cast<double>(now.monotonic_ns - read_at_ns_) / 1e9;
  if (read_at_ns_ != 0 && seconds > 0) {
    asked.used += (1 - std::exp(-seconds / kUsedFor)) * (busy_seconds / seconds - asked.used);
  }
  if (activity.checks == before.checks) return;
  if (now.monotonic_ns - asked.asked_at_ns > kLatelyNs) asked.asked_since_ns = now.monotonic_ns;
  asked.asked_at_ns = now.monotonic_ns;
}

bool ControlLoop::Asked(size_t place) const {
  if (place >= asked_budgets_.size() || asked_budgets_[place].asked_at_ns == 0) return false;
  return sampled_.monotonic_ns - asked_budgets_[place].asked_at_ns < kLatelyNs;
}

// What one uses is known when it has asked for a while.
void ControlLoop::Divide() {
  std::vector<ShareClaim> claims(spec_.budgets.size());
  for (size_t i = 0; i < claims.size(); ++i) {
    const AskedBudget& asked = asked_budgets_[i];
    const bool is_judged = sampled_.monotonic_ns - asked.asked_since_ns > kJudgedAfterNs;
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
  is_divided_anew_ = false;
  (void)engine_.SetProcessorShare(spec_.target, setting_.yields ? yielding_.processor_share() : 1);
  for (size_t i = 0; i < spec_.budgets.size(); ++i) {
    const ControlledBudget& budget = spec_.budgets[i];
    const bool is_new = i < asked_budgets_.size() && asked_budgets_[i].is_new;
    const double drain = is_new ? 0 : std::min(kMaxDrain, setting_.drain * ShareOf(i));
    (void)engine_.SetAutoRate(spec_.target, budget.budget,
                              {.rate = drain * SpeedOf(budget.profile),
                               .shut = setting_.shut,
                               .next_change_at_ns = next_ns_,
                               .chunk_seconds = setting_.chunk,
                               .start_level = setting_.start_level,
                               .most_permits = MostPermits(ShareOf(i)),
                               .shown_rate = is_new ? 0 : RateOf(i),
                               .distrusts_reports = setting_.understated},
                              now);
  }
}

// One at least, so that all shares together may be a few more: what drains bounds them as well.
int64_t ControlLoop::MostPermits(double share) const {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  if (!std::isfinite(setting_.most_sessions)) return kMost;
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(setting_.most_sessions * share)));
}

void ControlLoop::OnYielding(const Yielding& told, Now now) {
  MutexLock lock(&mutex_);
  yielding_.Tell(told, now.monotonic_ns);
  const bool stops = controller_.yields() && !yielding_.Yields(now.monotonic_ns);
  if (!stops || next_ns_ == 0 || spec_.budgets.empty()) return;
  setting_ = controller_.SetYields(false);
  Apply(now);
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
  if ((changed || is_divided_anew_) && next_ns_ != 0) Apply(now);
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
