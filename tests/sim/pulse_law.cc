#include "tests/sim/pulse_law.h"

#include <algorithm>
#include <cmath>

namespace headgate::sim::pulses {
namespace {

constexpr double kLeastRate = 0.02;  // so that something is always learnt, and nobody starves
// Of the limit, where all that is tolerated would be lost: latency suffers earlier than throughput.
constexpr double kAim = 0.38;
constexpr double kIdleGrowth = 16;   // a second
constexpr double kSpareCore = 0.5;   // cores that are left to a foreground too sparse to measure
constexpr double kFirstPause = 0.4;  // s
constexpr double kJitter = 0.2;      // a periodic foreground must not fall into step

constexpr absl::Duration kTick = absl::Milliseconds(200);
constexpr absl::Duration kRestTick = absl::Milliseconds(500);
constexpr double kBlindAfter = 2;         // s
constexpr double kOtherForeground = 0.5;  // weight of the prior against what was learnt of another

}  // namespace

PulseLaw::PulseLaw(const PulseOptions& options)
    : options_(options),
      dice_(options.seed),
      limit_(options),
      rate_(std::clamp(kAim * limit_.Limit(), kLeastRate, options.max_rate)) {}

double PulseLaw::Jitter() {
  // Knuth's MMIX generator: any would do.
  dice_ = dice_ * 6364136223846793005 + 1442695040888963407;
  const double unit = static_cast<double>(dice_ >> 11) * 0x1p-53;
  return 1 + kJitter * (2 * unit - 1);
}

PulseSetting PulseLaw::Step(const ControlSample& sample) {
  sampled_at_ns_ = sample.work.sampled_at_ns;
  const absl::Duration tick = kTick * Jitter();
  Flow flow, glance;
  switch (meter_.Take(sample, flow, glance)) {
    case FlowMeter::Outcome::kBroken:
      presence_.Begin(meter_.active());
      estimate_.Clear();
      if (phase_ != PulsePhase::kIdle) Enter(PulsePhase::kOff);
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
    if (phase_ != PulsePhase::kRest) Enter(PulsePhase::kRest);
    estimate_.Add(flow);
    estimate_.KeepLast(kBaseline);
    return Setting(kRestTick * Jitter());
  }
  if (foreground == Foreground::kNone) {
    StepIdle(flow);
  } else if (foreground != met_ && (foreground == Foreground::kBusy || met_ == Foreground::kNone)) {
    Meet();
  } else if (phase_ == PulsePhase::kRest) {
    estimate_.Add(flow);
    Open();
  } else if (phase_ == PulsePhase::kOff) {
    StepOff(flow);
  } else {
    StepOn(flow, sample.outstanding);
  }
  met_ = foreground;
  return Setting(tick);
}

void PulseLaw::Enter(PulsePhase phase) {
  phase_ = phase;
  age_ = worked_ = 0;
  if (phase == PulsePhase::kOff) credit_ = 0;
}

void PulseLaw::StepIdle(const Flow& flow) {
  if (phase_ != PulsePhase::kIdle) Enter(PulsePhase::kIdle);
  estimate_.Clear();
  rate_ = std::min(options_.max_rate, std::max(rate_, 1.0) * std::pow(kIdleGrowth, flow.seconds));
}

void PulseLaw::Meet() {
  met_ = presence_.foreground();
  limit_.Doubt(kOtherForeground, Prior());
  rate_ = FindRate();
  off_for_ = kFirstPause;
  Enter(PulsePhase::kOff);
}

// Where nothing is known: what the foreground leaves of the cores, halved, or a tenth of them.
double PulseLaw::Prior() const {
  if (met_ == Foreground::kSparse) return Ceiling();
  return std::max(kFirstRate * options_.cores, (options_.cores - presence_.active()) / 2);
}

double PulseLaw::Ceiling() const {
  const double sparse = std::max(kFirstRate * options_.cores, options_.cores - kSpareCore);
  return met_ == Foreground::kSparse ? std::min(options_.max_rate, sparse) : options_.max_rate;
}

double PulseLaw::FindRate() const {
  return std::clamp(kAim * limit_.Limit(), kLeastRate, std::max(kLeastRate, Ceiling()));
}

PulseSetting PulseLaw::Miss(int64_t now_ns) {
  meter_.Forget();
  const double blind = static_cast<double>(now_ns - sampled_at_ns_) / 1e9;
  if (blind > kBlindAfter) {
    rate_ = std::min(rate_, kLeastRate);
    Enter(PulsePhase::kBlind);
  } else if (phase_ == PulsePhase::kOff) {
    drain_ = rate_;
    Enter(PulsePhase::kOn);
  }
  return Setting(kTick);
}

PulseSetting PulseLaw::Setting(absl::Duration next) const {
  const bool on = phase_ == PulsePhase::kOn;
  const bool shut = phase_ == PulsePhase::kOff;
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

}  // namespace headgate::sim::pulses
