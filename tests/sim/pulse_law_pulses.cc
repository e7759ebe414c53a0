// When a pulse of batch work begins and ends, and the pause after it.
//
// A pulse and its pause: with W below kPulse cores the pulse is W / kPulse of the time, at least
// kLeastDuty of it, and batch work runs that much denser. What W would have admitted while off is
// credited to the next pulse, so that the average is W whatever lengths the windows come to have.
// The pulse counts from the first batch work in it: debt may keep a bucket shut for longer than a
// pulse lasts. The pause lasts until the foreground was seen alone for long enough.
//
// Chunks that are longer than a pulse come one at a time: each is a pulse.

#include <algorithm>

#include "tests/sim/pulse_law.h"

namespace headgate::sim::pulses {
namespace {

constexpr double kMaxGrowth = 2;  // from one pulse to the next

constexpr double kPulse = 0.25;                      // batch work in a pulse, for each core
constexpr double kLeastDuty = 0.3, kMaxDuty = 0.85;  // of a pulse
constexpr double kShortPulse = 0.8, kLongPulse = 3;  // s
constexpr double kMaxCredit = 5;                     // seconds of W

constexpr double kShortestOff = 3, kLongestOff = 30;  // s, where batch work does not end
constexpr double kChunksOff = 3;                      // times as long as a chunk
constexpr double kNone = 1, kFew = 20;                // transactions a second
constexpr double kSmooth = 0.3;                       // of what status shows

}  // namespace

double PulseLaw::LongestOff() const {
  return std::clamp(kChunksOff * meter_.chunk(), kShortestOff, kLongestOff);
}

void PulseLaw::StepOff(const Flow& flow) {
  estimate_.Add(flow);
  if (!ChunksAreLong()) credit_ += rate_ * flow.seconds;
  if (estimate_.QuietEnd() < off_for_ && age_ < LongestOff()) return;
  Conclude();
  Open();
}

void PulseLaw::Open() {
  const double most = kMaxGrowth * std::max(rate_, kFirstRate * options_.cores);
  rate_ = std::min(FindRate(), most);
  const double duty = std::clamp(rate_ / (kPulse * options_.cores), kLeastDuty, kMaxDuty);
  const double length =
      kShortPulse + (kLongPulse - kShortPulse) * (duty - kLeastDuty) / (kMaxDuty - kLeastDuty);
  on_for_ = length * Jitter();
  off_for_ = length * (1 - duty) / duty * Jitter();
  drain_ = rate_ + std::min(credit_, kMaxCredit * rate_) / on_for_;
  Enter(PulsePhase::kOn);
}

void PulseLaw::StepOn(const Flow& flow, int64_t outstanding) {
  estimate_.Add(flow);
  const bool at_work = outstanding > 0 || flow.in_flight >= kNoWork;
  if (at_work || worked_ > 0) worked_ += flow.seconds;
  if (worked_ == 0) estimate_.KeepLast(kBaseline);
  if (age_ >= on_for_) drain_ = rate_;
  const bool enough = worked_ >= on_for_ || (at_work && ChunksAreLong());
  if (enough || limit_.HurtsBadly(estimate_)) Enter(PulsePhase::kOff);
}

// Or nobody knows yet. A bucket is charged for one when it has ended, and would let others follow.
bool PulseLaw::ChunksAreLong() const { return meter_.chunk() == 0 || meter_.chunk() > kShortPulse; }

void PulseLaw::Conclude() {
  using Kind = EffectEstimate::Kind;
  limit_.Learn(estimate_, since_learnt_, Prior());
  since_learnt_ = 0;
  if (estimate_.Seconds(Kind::kQuiet) > 0 && estimate_.Seconds(Kind::kWorked) > 0) {
    const bool writes = estimate_.Mean(Kind::kQuiet, &Flow::transactions) > kFew;
    const auto shown = writes ? &Flow::transactions : &Flow::throughput;
    const auto smooth = [](double& value, double newest) {
      value += (value == 0 ? 1 : kSmooth) * (newest - value);
    };
    smooth(alone_, estimate_.Mean(Kind::kQuiet, shown));
    smooth(with_batch_, estimate_.Mean(Kind::kAll, shown));
    const bool came_and_went_with_batch = estimate_.Mean(Kind::kQuiet, &Flow::throughput) < kNone &&
                                          estimate_.Mean(Kind::kWorked, &Flow::throughput) > kFew;
    if (came_and_went_with_batch) meter_.BlameBatch();
  }
  estimate_.KeepQuietEnd();
}

}  // namespace headgate::sim::pulses
