#include "server/observe/control/controller.h"

#include <algorithm>
#include <cmath>

namespace headgate::control {
namespace {

// So that something is learnt, and nobody starves; beside a database that cannot be seen, the
// latter.
constexpr double kLeastRate = 0.03, kLeastSessions = 0.1, kBlindRate = 0.02;
constexpr double kMaxGrowth = 1.25;     // from one time of work to the next
constexpr double kIdleGrowth = 16;      // a second
constexpr double kIdleSmooth = 1.5;     // s over which it is seen what is used meanwhile
constexpr double kMostDrainedEach = 2;  // for what is used; else nobody waits for it
constexpr double kSpareCore = 0.5;      // cores that are left to a foreground too sparse to measure

// Machines have better and worse moments of all lengths. The shorter the times that are compared,
// the more of them there are, and each says as much.
constexpr double kWork = 1, kPause = 0.3;  // s
// A pause loses what nobody else wants, and so is rarer where sessions yield.
constexpr double kYieldingWork = 2;  // s
// A reading of statements that had to be waited for is worth a longer pause: this share of the time
// since the one before.
constexpr double kPauseShare = 0.15, kMostPause = 1.5;  // s
constexpr double kJitter = 0.2;   // a periodic foreground must not fall into step
constexpr double kLongChunk = 1;  // s; each is a time of work by itself
constexpr double kShortestPause = 3, kLongestPause = 30;  // s, where batch work does not end
constexpr double kChunksPause = 3;                        // times as long as a chunk

constexpr double kHeldBack = 0.7;   // of what was allowed is used where somebody waits for it,
constexpr double kNewestUse = 0.3;  // smoothed
constexpr double kUnusedFor = 60,
                 kUnusedRoom = 1.5;  // s in which W falls to so much of what is used

constexpr double kRestTick = 0.5;          // s
constexpr double kWholePause = 0.95;       // of what was meant: timers are not exact
constexpr double kBlindAfter = 2;          // s
constexpr double kOtherForeground = 0.15;  // weight of the prior against what was learnt before
constexpr double kNotTheSame = 0.5;        // the same, where it does another amount of work
constexpr double kAlikeWork = 0.5;         // logarithm
constexpr double kFew = 20;                // transactions a second
// Transactions that pauses would have had if there were as many in them as beside batch work.
// Chance leaves out all of so many once in 150 times, and twice in a row once in 20,000.
constexpr double kMissed = 5, kNone = 1;
constexpr double kSmooth = 0.1;   // of what status shows
constexpr double kWritesFor = 3;  // s over which transactions are smoothed

}  // namespace

Controller::Controller(const ControlOptions& options)
    : options_(options),
      dice_(options.seed),
      limits_(options),
      other_limits_(options, WorkLimits::kFirstSessions),
      rate_(FindRate()),
      pause_for_(kPause) {}

LearntControl Controller::Learnt() const {
  LearntControl learnt;
  learnt.options = options_;
  learnt.foreground = met_;
  (yields_ ? learnt.yielding.emplace() : learnt.indicators) = limits_.Learnt();
  if (!yields_ && !learnt_yielding_) return learnt;
  // As of the same moment.
  WorkLimits others = other_limits_;
  const double apart = OtherAge() - since_learnt_;
  others.Age(std::max(0.0, apart), FirstPrior(!yields_));
  (yields_ ? learnt.indicators : learnt.yielding.emplace()) = others.Learnt();
  return learnt;
}

// The foreground is the same until it is seen to be another. What time has blurred is filled up by
// the most careful prior, since nothing is known yet of what the foreground leaves. Of what was
// seen here until now nothing is compared: the batch of another owner was at work, unseen.
void Controller::Restore(const LearntControl& learnt, double seconds) {
  WorkLimits& without = yields_ ? other_limits_ : limits_;
  without.Restore(learnt.indicators);
  without.Age(seconds, FirstPrior(false));
  WorkLimits& with = yields_ ? limits_ : other_limits_;
  with = WorkLimits(options_, WorkLimits::kFirstSessions);
  if (learnt.yielding.has_value()) {
    with.Restore(*learnt.yielding);
    with.Age(seconds, FirstPrior(true));
  }
  learnt_yielding_ = learnt.yielding.has_value();
  other_since_ns_ = sampled_at_ns_;
  since_learnt_ = 0;
  ++lessons_;
  met_ = learnt.foreground;
  if (sampled_at_ns_ == 0) presence_.Expect(met_);
  alone_ = with_batch_ = 0;
  meter_.Forget();
  estimate_.Clear();
  glances_.Clear();
  Enter(ControlPhase::kPause);
  rate_ = FindRate();
}

double Controller::Jitter() {
  // Knuth's MMIX generator: any would do.
  dice_ = dice_ * 6364136223846793005 + 1442695040888963407;
  const double unit = static_cast<double>(dice_ >> 11) * 0x1p-53;
  return 1 + kJitter * (2 * unit - 1);
}

ControlSetting Controller::Step(const ControlSample& sample) {
  sampled_at_ns_ = sample.work.sampled_at_ns;
  if (other_since_ns_ == 0) other_since_ns_ = sampled_at_ns_;
  speed_ = sample.speed;
  Flow flow, glance;
  const FlowMeter::Outcome outcome = meter_.Take(sample, flow, glance);
  for (Flow* const seen : {&flow, &glance}) seen->in_flight *= sample.processor_share;
  if (outcome == FlowMeter::Outcome::kBroken) {
    presence_.Begin(meter_.active());
    estimate_.Clear();
    glances_.Clear();
    if (phase_ != ControlPhase::kIdle) Enter(ControlPhase::kPause);
    return Setting(absl::Seconds(kIdleTick * Jitter()));
  }
  const bool complete = outcome == FlowMeter::Outcome::kFlow;
  if (complete) {
    presence_.Look(flow, meter_.active());
    estimate_.Add(flow);
  } else {
    presence_.Glance(glance, meter_.active());
  }
  glances_.Add(glance);
  age_ += glance.seconds;
  since_learnt_ += glance.seconds;
  used_ += glance.in_flight * glance.seconds;
  transactions_ +=
      (1 - std::exp(-glance.seconds / kWritesFor)) * (glance.transactions - transactions_);
  const Foreground foreground = presence_.foreground();
  if (!presence_.somebody_asks() && sample.outstanding == 0) {
    if (phase_ != ControlPhase::kRest) Enter(ControlPhase::kRest);
    for (EffectEstimate* estimate : {&estimate_, &glances_}) estimate->KeepLast(kBaseline);
    return Setting(absl::Seconds(kRestTick * Jitter()));
  }
  if (foreground == Foreground::kNone) {
    // What went as soon as batch work was kept out may have been its own transactions.
    const bool went_in_pause =
        phase_ == ControlPhase::kPause && glances_.Seconds(EffectEstimate::Kind::kWorked) > 0;
    if (went_in_pause) meter_.BlameBatch();
    StepIdle(glance);
  } else if (foreground != met_ && (foreground == Foreground::kBusy || met_ == Foreground::kNone)) {
    Meet();
  } else {
    StepBusy({.glance = glance,
              .completes_flow = complete,
              .flow_seconds = complete ? flow.seconds : 0,
              .outstanding = sample.outstanding});
  }
  met_ = foreground;
  return Setting(absl::Seconds(Next(sample.outstanding)));
}

void Controller::StepBusy(const News& news) {
  if (phase_ == ControlPhase::kPause) {
    StepPause(news);
  } else if (phase_ == ControlPhase::kWork) {
    StepWork(news);
  } else {
    Open();
  }
}

void Controller::Enter(ControlPhase phase) {
  const bool pauses = phase == ControlPhase::kPause;
  // Who came is often known in two steps, each of which begins the pause anew.
  pays_for_idle_ = pauses && (phase_ == ControlPhase::kIdle || pays_for_idle_);
  phase_ = phase;
  is_draining_ = pauses;
  begins_with_flow_ = false;
  age_ = worked_ = used_ = 0;
}

// A chunk that was quicker than predicted gets back only what has not drained, and at such a rate
// all has drained before it ends. So less than what drains is used, however many wait. What is used
// is seen in steps of chunks, hence the long averages.
void Controller::StepIdle(const Flow& glance) {
  if (phase_ != ControlPhase::kIdle) {
    Enter(ControlPhase::kIdle);
    drain_ = idle_drained_ = idle_used_ = rate_;
  }
  estimate_.Clear();
  glances_.Clear();
  const double newest = 1 - std::exp(-glance.seconds / kIdleSmooth);
  idle_drained_ += newest * (speed_ * drain_ - idle_drained_);
  idle_used_ += newest * (glance.in_flight - idle_used_);
  const bool is_used = kMostDrainedEach * idle_used_ > idle_drained_;
  const double drained_each = is_used ? std::max(1.0, idle_drained_ / idle_used_) : 1;
  rate_ = std::min(options_.max_rate, std::max(rate_, 1.0) * std::pow(kIdleGrowth, glance.seconds));
  drain_ = rate_ * drained_each;
}

void Controller::Meet() {
  met_ = presence_.foreground();
  limits_.Doubt(kOtherForeground, Prior());
  if (lessons_ > 0) ++lessons_;  // else there was nothing to doubt
  rate_ = FindRate();
  estimate_.Clear();
  glances_.Clear();
  Enter(ControlPhase::kPause);
}

double Controller::FirstPrior(bool yields) const {
  return yields ? WorkLimits::kFirstSessions : WorkLimits::kFirstLimit * options_.cores;
}

// Where nothing is known: what the foreground leaves of the cores, halved, or the first rate.
// Sessions that yield take what it leaves, however many they are.
double Controller::Prior() const {
  if (met_ == Foreground::kSparse) return Ceiling();
  if (yields_) return FirstPrior(true);
  return std::max(FirstPrior(false), (options_.cores - presence_.active()) / 2);
}

double Controller::Ceiling() const {
  if (yields_) return options_.max_rate;
  const double sparse =
      std::max(WorkLimits::kFirstLimit * options_.cores, options_.cores - kSpareCore);
  return met_ == Foreground::kSparse ? std::min(options_.max_rate, sparse) : options_.max_rate;
}

double Controller::LeastRate() const {
  return std::min(yields_ ? kLeastSessions : kLeastRate, options_.max_rate);
}
double Controller::FirstRate() const {
  return yields_ ? kLeastSessions : WorkLimits::kFirstLimit * options_.cores;
}

double Controller::FindRate() const {
  const double found = yields_ ? FindSessions() : limits_.CarefulLimit();
  return std::clamp(found, LeastRate(), std::max(LeastRate(), Ceiling()));
}

double Controller::LongestPause() const {
  return std::clamp(kChunksPause * meter_.chunk(), kShortestPause, kLongestPause);
}

bool Controller::Writes() const { return transactions_ > kFew; }

// Chunks that are under way end first.
void Controller::StepPause(const News& news) {
  const bool waited_long = age_ >= LongestPause();
  if (is_draining_) {
    if (news.outstanding == 0 || waited_long) BeginReference(news);
    return;
  }
  const bool is_over = glances_.QuietEnd() >= kWholePause * pause_for_;
  const bool is_seen = news.completes_flow || Writes();
  if (!(is_over && is_seen) && !waited_long) return;
  Conclude();
  Open();
}

// The foreground is alone from here on. Readers are seen in whole flows alone: where statements
// cannot be read now, their pause is for another time.
void Controller::BeginReference(const News& news) {
  is_draining_ = false;
  begins_with_flow_ = news.completes_flow;
  pause_for_ = std::clamp(kPauseShare * news.flow_seconds, pause_for_, kMostPause);
  if (!begins_with_flow_ && !Writes() && meter_.has_statements()) Open();
}

void Controller::Open() {
  // Nobody needs more than what is not used up.
  const double most = held_back_ ? kMaxGrowth * std::max(rate_, FirstRate()) : rate_;
  rate_ = std::min(FindRate(), std::max(most, LeastRate()));
  work_for_ = (yields_ ? kYieldingWork : kWork) * Jitter();
  pause_for_ = kPause * Jitter();
  drain_ = DrainOfWork();
  Enter(ControlPhase::kWork);
}

void Controller::StepWork(const News& news) {
  using Source = WorkLimits::Source;
  const bool at_work = news.outstanding > 0 || news.glance.in_flight >= kNoWork;
  if (at_work || worked_ > 0) worked_ += news.glance.seconds;
  if (worked_ == 0) {
    for (EffectEstimate* estimate : {&estimate_, &glances_}) estimate->KeepLast(kBaseline);
  }
  const bool enough = worked_ >= kWholePause * work_for_;
  const bool hurts = (news.completes_flow && limits_.HurtsBadly(estimate_, Source::kFlows)) ||
                     limits_.HurtsBadly(glances_, Source::kGlances);
  if (!enough && !hurts && !(at_work && ChunksAreLong())) return;
  JudgeUse();
  if (!held_back_ && speed_ >= 1) {
    const double room = std::max(LeastRate(), kUnusedRoom * used_ / age_);
    if (rate_ > room) rate_ = std::max(room, rate_ * std::exp(-age_ / kUnusedFor));
  }
  pause_for_ = std::clamp(kPauseShare * age_, pause_for_, kMostPause);
  Enter(ControlPhase::kPause);
  // Where nothing is under way, this sample is the pause's first already. At an end that was not
  // expected it has no statements.
  if (news.outstanding == 0 && enough) return BeginReference(news);
  begins_with_flow_ = news.completes_flow;
}

// What health slows, or a gate keeps out, is not for want of work.
void Controller::JudgeUse() {
  if (speed_ < 1) return;
  used_share_ += kNewestUse * (used_ / (Allowed() * age_) - used_share_);
  drained_share_ += kNewestUse * (used_ / (drain_ * age_) - drained_share_);
  held_back_ = WasHeldBack();
}

// Long chunks come so seldom that nothing follows from one time of work.
bool Controller::WasHeldBack() const { return ChunksAreLong() || used_share_ >= kHeldBack; }

// Or nobody knows yet. A bucket is charged for one when it has ended, and would let others follow.
bool Controller::ChunksAreLong() const {
  return meter_.chunk() == 0 || meter_.chunk() > kLongChunk;
}

void Controller::Conclude() {
  using Kind = EffectEstimate::Kind;
  using Source = WorkLimits::Source;
  limits_.Age(since_learnt_, Prior());
  since_learnt_ = 0;
  if (glances_.Seconds(Kind::kWorked) > 0) {
    if (Writes()) {
      limits_.Learn(glances_, Source::kGlances, Prior());
      ++lessons_;
      learnt_yielding_ |= yields_;
    }
    glances_.KeepQuietEnd();
  }
  // A flow that ends with the pause, and not one that goes on.
  if (estimate_.QuietEnd() <= 0 || estimate_.Seconds(Kind::kWorked) <= 0) return;
  limits_.Learn(estimate_, Source::kFlows, Prior());
  ++lessons_;
  learnt_yielding_ |= yields_;
  Remember();
  estimate_.KeepQuietEnd();
}

void Controller::Remember() {
  using Kind = EffectEstimate::Kind;
  const auto shown = Writes() ? &Flow::transactions : &Flow::throughput;
  const double alone = estimate_.Mean(Kind::kQuiet, shown);
  // Transaction ids say nothing of readers.
  const bool is_seen = Writes() || estimate_.source() != Flow::Source::kTransactionIds;
  if (!is_seen || alone <= 0) return JudgeBatch();
  if (alone_ > 0 && std::abs(std::log(alone / alone_)) > kAlikeWork) {
    limits_.Doubt(kNotTheSame, Prior());
    alone_ = with_batch_ = 0;
  }
  const auto smooth = [](double& value, double newest) {
    value += (value == 0 ? 1 : kSmooth) * (newest - value);
  };
  smooth(alone_, alone);
  smooth(with_batch_, estimate_.Mean(Kind::kAll, shown));
  JudgeBatch();
}

// Whether what seems to be a foreground comes and goes with batch work.
void Controller::JudgeBatch() {
  using Kind = EffectEstimate::Kind;
  const double quiet_for = estimate_.Seconds(Kind::kQuiet);
  if (quiet_for * estimate_.Mean(Kind::kWorked, &Flow::throughput) < kMissed) return;
  if (quiet_for * estimate_.Mean(Kind::kQuiet, &Flow::throughput) < kNone) {
    meter_.BlameBatch();
  } else {
    meter_.AcquitBatch();
  }
}

ControlSetting Controller::Miss(int64_t now_ns) {
  meter_.Forget();
  const double blind = static_cast<double>(now_ns - sampled_at_ns_) / 1e9;
  if (blind > kBlindAfter) {
    rate_ = std::min(rate_, kBlindRate);
    Enter(ControlPhase::kBlind);
  } else if (phase_ == ControlPhase::kPause) {
    drain_ = rate_;
    Enter(ControlPhase::kWork);
  }
  return Setting(absl::Seconds(kIdleTick));
}

}  // namespace headgate::control
