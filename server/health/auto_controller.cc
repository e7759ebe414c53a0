// A pulse and its pause: with W below kPulse cores the pulse is W / kPulse of the time, at least
// kLeastDuty of it, and batch work runs that much denser. What W would have admitted while off is
// credited to the next pulse, so that the average is W whatever lengths the windows come to have.
// The pulse counts from the first batch work in it: debt may keep a bucket shut for longer than a
// pulse lasts. The pause lasts until the foreground was seen alone for long enough.
//
// Chunks that are longer than a pulse come one at a time: each is a pulse.

#include "server/health/auto_controller.h"

#include <algorithm>
#include <cmath>

namespace headgate::health {
namespace {

constexpr double kLeastRate = 0.02;  // so that something is always learnt, and nobody starves
constexpr double kFirstRate = 0.1;   // for each core
// Of the limit, where all that is tolerated would be lost: latency suffers earlier than throughput.
constexpr double kAim = 0.38;
constexpr double kMaxGrowth = 2;    // from one pulse to the next
constexpr double kIdleGrowth = 16;  // a second
constexpr double kSpareCore = 0.5;  // cores that are left to a foreground too sparse to measure

constexpr double kPulse = 0.25;                      // batch work in a pulse, for each core
constexpr double kLeastDuty = 0.3, kMaxDuty = 0.85;  // of a pulse
constexpr double kShortPulse = 0.8, kLongPulse = 3;  // s
constexpr double kFirstPause = 0.4;                  // s
constexpr double kMaxCredit = 5;                     // seconds of W
constexpr double kJitter = 0.2;  // a periodic foreground must not fall into step

constexpr double kShortestOff = 3, kLongestOff = 30;  // s, where batch work does not end
constexpr double kChunksOff = 3;                      // times as long as a chunk
constexpr double kBaseline = 3;                       // s that the foreground alone is remembered
constexpr double kNone = 1, kFew = 20;                // transactions a second

constexpr absl::Duration kTick = absl::Milliseconds(200);
constexpr absl::Duration kRestTick = absl::Milliseconds(500);
constexpr double kBlindAfter = 2;         // s
constexpr double kOtherForeground = 0.5;  // weight of the prior against what was learnt of another
constexpr double kSmooth = 0.3;           // of what status shows

}  // namespace

AutoController::AutoController(const ControlOptions& options)
    : options_(options),
      dice_(options.seed),
      limit_(options),
      rate_(std::clamp(kAim * limit_.Limit(), kLeastRate, options.max_rate)) {}

double AutoController::Jitter() {
  // Knuth's MMIX generator: any would do.
  dice_ = dice_ * 6364136223846793005 + 1442695040888963407;
  const double unit = static_cast<double>(dice_ >> 11) * 0x1p-53;
  return 1 + kJitter * (2 * unit - 1);
}

ControlSetting AutoController::Step(const ControlSample& sample) {
  sampled_at_ns_ = sample.work.sampled_at_ns;
  const absl::Duration tick = kTick * Jitter();
  Flow flow;
  switch (meter_.Take(sample, flow)) {
    case FlowMeter::Outcome::kBroken:
      presence_.Begin(meter_.active());
      contrast_.Clear();
      if (phase_ != ControlPhase::kIdle) Enter(ControlPhase::kOff);
      return Setting(tick);
    case FlowMeter::Outcome::kMore:
      return Setting(tick);
    case FlowMeter::Outcome::kFlow:
      break;
  }
  presence_.Look(flow, meter_.active());
  age_ += flow.seconds;
  since_learnt_ += flow.seconds;
  const Foreground foreground = presence_.foreground();
  if (!presence_.somebody_asks() && sample.outstanding == 0) {
    if (phase_ != ControlPhase::kRest) Enter(ControlPhase::kRest);
    contrast_.Add(flow);
    contrast_.KeepLast(kBaseline);
    return Setting(kRestTick * Jitter());
  }
  if (foreground == Foreground::kNone) {
    StepIdle(flow);
  } else if (foreground != met_ && (foreground == Foreground::kBusy || met_ == Foreground::kNone)) {
    Meet();
  } else if (phase_ == ControlPhase::kRest) {
    contrast_.Add(flow);
    Open();
  } else if (phase_ == ControlPhase::kOff) {
    StepOff(flow);
  } else {
    StepOn(flow, sample.outstanding);
  }
  met_ = foreground;
  return Setting(tick);
}

void AutoController::Enter(ControlPhase phase) {
  phase_ = phase;
  age_ = worked_ = 0;
  if (phase == ControlPhase::kOff) credit_ = 0;
}

void AutoController::StepIdle(const Flow& flow) {
  if (phase_ != ControlPhase::kIdle) Enter(ControlPhase::kIdle);
  contrast_.Clear();
  rate_ = std::min(options_.max_rate, std::max(rate_, 1.0) * std::pow(kIdleGrowth, flow.seconds));
}

void AutoController::Meet() {
  met_ = presence_.foreground();
  limit_.Doubt(kOtherForeground, Prior());
  rate_ = FindRate();
  off_for_ = kFirstPause;
  Enter(ControlPhase::kOff);
}

// Where nothing is known: what the foreground leaves of the cores, halved, or a tenth of them.
double AutoController::Prior() const {
  if (met_ == Foreground::kSparse) return Ceiling();
  return std::max(kFirstRate * options_.cores, (options_.cores - presence_.active()) / 2);
}

double AutoController::Ceiling() const {
  const double sparse = std::max(kFirstRate * options_.cores, options_.cores - kSpareCore);
  return met_ == Foreground::kSparse ? std::min(options_.max_rate, sparse) : options_.max_rate;
}

double AutoController::FindRate() const {
  return std::clamp(kAim * limit_.Limit(), kLeastRate, std::max(kLeastRate, Ceiling()));
}

double AutoController::LongestOff() const {
  return std::clamp(kChunksOff * meter_.chunk(), kShortestOff, kLongestOff);
}

void AutoController::StepOff(const Flow& flow) {
  contrast_.Add(flow);
  if (!ChunksAreLong()) credit_ += rate_ * flow.seconds;
  if (contrast_.QuietEnd() < off_for_ && age_ < LongestOff()) return;
  Conclude();
  Open();
}

void AutoController::Open() {
  const double most = kMaxGrowth * std::max(rate_, kFirstRate * options_.cores);
  rate_ = std::min(FindRate(), most);
  const double duty = std::clamp(rate_ / (kPulse * options_.cores), kLeastDuty, kMaxDuty);
  const double length =
      kShortPulse + (kLongPulse - kShortPulse) * (duty - kLeastDuty) / (kMaxDuty - kLeastDuty);
  on_for_ = length * Jitter();
  off_for_ = length * (1 - duty) / duty * Jitter();
  drain_ = rate_ + std::min(credit_, kMaxCredit * rate_) / on_for_;
  Enter(ControlPhase::kOn);
}

void AutoController::StepOn(const Flow& flow, int64_t outstanding) {
  contrast_.Add(flow);
  const bool at_work = outstanding > 0 || flow.in_flight >= kNoWork;
  if (at_work || worked_ > 0) worked_ += flow.seconds;
  if (worked_ == 0) contrast_.KeepLast(kBaseline);
  if (age_ >= on_for_) drain_ = rate_;
  const bool enough = worked_ >= on_for_ || (at_work && ChunksAreLong());
  if (enough || limit_.HurtsBadly(contrast_)) Enter(ControlPhase::kOff);
}

// Or nobody knows yet. A bucket is charged for one when it has ended, and would let others follow.
bool AutoController::ChunksAreLong() const {
  return meter_.chunk() == 0 || meter_.chunk() > kShortPulse;
}

void AutoController::Conclude() {
  using Kind = Contrast::Kind;
  limit_.Learn(contrast_, since_learnt_, Prior());
  since_learnt_ = 0;
  if (contrast_.Seconds(Kind::kQuiet) > 0 && contrast_.Seconds(Kind::kWorked) > 0) {
    const bool writes = contrast_.Mean(Kind::kQuiet, &Flow::transactions) > kFew;
    const auto shown = writes ? &Flow::transactions : &Flow::throughput;
    const auto smooth = [](double& value, double newest) {
      value += (value == 0 ? 1 : kSmooth) * (newest - value);
    };
    smooth(alone_, contrast_.Mean(Kind::kQuiet, shown));
    smooth(with_batch_, contrast_.Mean(Kind::kAll, shown));
    const bool came_and_went_with_batch = contrast_.Mean(Kind::kQuiet, &Flow::throughput) < kNone &&
                                          contrast_.Mean(Kind::kWorked, &Flow::throughput) > kFew;
    if (came_and_went_with_batch) meter_.BlameBatch();
  }
  contrast_.KeepQuietEnd();
}

ControlSetting AutoController::Miss(int64_t now_ns) {
  meter_.Forget();
  const double blind = static_cast<double>(now_ns - sampled_at_ns_) / 1e9;
  if (blind > kBlindAfter) {
    rate_ = std::min(rate_, kLeastRate);
    Enter(ControlPhase::kBlind);
  } else if (phase_ == ControlPhase::kOff) {
    drain_ = rate_;
    Enter(ControlPhase::kOn);
  }
  return Setting(kTick);
}

ControlSetting AutoController::Setting(absl::Duration next) const {
  const bool on = phase_ == ControlPhase::kOn;
  const bool shut = phase_ == ControlPhase::kOff;
  return {.rate = rate_,
          .drain = shut && !ChunksAreLong() ? 0
                   : on                     ? drain_
                                            : rate_,
          .shut = shut,
          .phase = phase_,
          .alone = alone_,
          .with_batch = with_batch_,
          .next = next};
}

}  // namespace headgate::health
