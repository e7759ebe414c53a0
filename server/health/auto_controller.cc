// Constants are those of the experiments in docs/control.md.

#include "server/health/auto_controller.h"

#include <algorithm>
#include <cmath>

namespace headgate::health {
namespace {

constexpr double kFirstRate = 0.2;        // busy seconds a second
constexpr double kLeastRate = 0.03;       // so that something is always learnt, and nobody starves
constexpr double kIdleThroughput = 20;    // transactions a second
constexpr double kIdleActive = 0.3;       // foreground sessions
constexpr double kIdleGrowth = 4;         // of the rate, a second
constexpr double kEnoughWrites = 50;      // transactions a second; below, calls are counted
constexpr double kActiveHalfLife = 0.25;  // s
constexpr double kRestAfter = 2;          // s without a Check

constexpr double kOffSeconds = 0.5;   // of clean time
constexpr double kLongestOff = 10;    // s, clean or not: chunks may be long
constexpr double kBelievedAfter = 1;  // s
constexpr double kFirstOn = 1.5, kSettlingOn = 2.5, kSettledOn = 5;  // s
constexpr int kFirstWindows = 4;
constexpr double kJitter = 0.2;  // of a window: a periodic foreground must not fall into step

constexpr double kGain = 0.7;
constexpr double kMostFall = 2, kMostRise = 1;  // of 1 - harm
constexpr double kSignificant = 2;              // standard deviations
constexpr double kDecay = 0.75;                 // of older windows
constexpr double kSettled = 0.6;                // distance of harm from 1

constexpr double kBadlySlower = 0.7;  // share of throughput that is left
constexpr double kBadlyBusier = 4;    // deltas
constexpr int kBelievedLooks = 2;     // in a row: one chunk makes one bad look
constexpr double kBackOffAfter = 0.3, kBackOffHalf = 0.25;  // s

constexpr absl::Duration kTick = absl::Milliseconds(250);
constexpr absl::Duration kShortTick = absl::Milliseconds(100);  // to see batch work end
constexpr absl::Duration kBlindAfter = absl::Seconds(2);

double SecondsBetween(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e9;
}

}  // namespace

void AutoController::Sums::Add(const Flow& flow) {
  if (flow.counted_seconds > 0) {
    count += 1;
    seconds += flow.counted_seconds;
    transactions += flow.throughput * flow.counted_seconds;
    squares += flow.throughput * flow.throughput;
  }
  occupied_seconds += flow.occupied_seconds;
  busy_seconds += flow.occupancy * flow.occupied_seconds;
}

void AutoController::Sums::Decay(double factor) {
  for (double* sum :
       {&count, &seconds, &transactions, &squares, &occupied_seconds, &busy_seconds}) {
    *sum *= factor;
  }
}

double AutoController::Sums::variance() const {
  if (count < 1.5) return 0;
  return std::max(0.0, squares / count - throughput() * throughput());
}

AutoController::AutoController(const ControlOptions& options)
    : options_(options),
      delta_(0.1 * options.cores),
      dice_(options.seed),
      rate_(std::min(kFirstRate, options.max_rate)) {}

double AutoController::Jitter() {
  // Knuth's MMIX generator: any would do.
  dice_ = dice_ * 6364136223846793005 + 1442695040888963407;
  const double unit = static_cast<double>(dice_ >> 11) * 0x1p-53;
  return 1 + kJitter * (2 * unit - 1);
}

// Empty where counters went backwards: another server answers.
std::optional<AutoController::Flow> AutoController::FlowSince(const ControlSample& sample) {
  const WorkCounters& from = last_->work;
  const WorkCounters& to = sample.work;
  Flow flow;
  flow.seconds = SecondsBetween(from.sampled_at_ns, to.sampled_at_ns);
  if (flow.seconds <= 0 || to.next_xid < from.next_xid ||
      sample.transactions < last_->transactions) {
    return std::nullopt;
  }
  const auto own = static_cast<double>(sample.transactions - last_->transactions);
  const auto all = static_cast<double>(to.next_xid - from.next_xid);
  flow.throughput = std::max(0.0, all - own) / flow.seconds;
  flow.counted_seconds = flow.seconds;
  AddStatements(to, flow);
  return flow;
}

void AutoController::AddStatements(const WorkCounters& work, Flow& flow) {
  const bool writes = flow.throughput > kEnoughWrites;
  if (work.statements.has_value()) {
    const bool comparable = last_statements_.has_value() &&
                            last_statements_->statements->generation == work.statements->generation;
    if (comparable) {
      const WorkCounters::Statements& from = *last_statements_->statements;
      flow.occupied_seconds = SecondsBetween(last_statements_->sampled_at_ns, work.sampled_at_ns);
      flow.occupancy =
          std::max(0.0, work.statements->busy_seconds - from.busy_seconds) / flow.occupied_seconds;
      calls_ = std::max(0.0, work.statements->calls - from.calls) / flow.occupied_seconds;
    }
    last_statements_ = work;
  }
  if (writes || calls_ == 0) return;
  flow.throughput = calls_;
  flow.counted_seconds = flow.occupied_seconds;
}

bool AutoController::NobodyAsks(const ControlSample& sample, double seconds) {
  unasked_ = sample.checks == last_->checks ? unasked_ + seconds : 0;
  return unasked_ >= kRestAfter && sample.outstanding == 0;
}

void AutoController::Enter(ControlPhase phase, int64_t now_ns) {
  phase_ = phase;
  since_ns_ = now_ns;
  clean_ = -1;
  worked_ = false;
  bad_looks_ = 0;
  unreported_ = unseen_ = 0;
  last_statements_ = std::nullopt;  // no difference spans two windows
}

void AutoController::Forget() {
  off_ = on_ = {};
  windows_ = 0;
  window_ = kFirstOn * Jitter();
}

ControlSetting AutoController::Step(const ControlSample& sample) {
  const int64_t now_ns = sample.work.sampled_at_ns;
  const std::optional<Flow> flow = last_.has_value() ? FlowSince(sample) : std::nullopt;
  last_good_ns_ = now_ns;
  if (!flow.has_value()) {
    last_ = sample;
    Forget();
    Enter(ControlPhase::kOff, now_ns);
    return Setting(kShortTick);
  }
  const double fade = std::exp2(-flow->seconds / kActiveHalfLife);
  active_ = active_ * fade + sample.work.foreground_active * (1 - fade);
  const bool nobody_asks = NobodyAsks(sample, flow->seconds);
  const bool idle = flow->throughput <= kIdleThroughput && active_ <= kIdleActive;
  if (nobody_asks) {
    if (phase_ != ControlPhase::kRest) Enter(ControlPhase::kRest, now_ns);
    if (!idle) rate_ = std::min(rate_, kFirstRate);  // whoever asks next meets a foreground
    Forget();
  } else if (idle) {
    if (phase_ != ControlPhase::kIdle) Enter(ControlPhase::kIdle, now_ns);
    Forget();
    StepIdle(flow->seconds);
  } else if (phase_ == ControlPhase::kIdle || phase_ == ControlPhase::kRest) {
    rate_ = std::min(rate_, kFirstRate);
    Forget();
    Enter(ControlPhase::kOff, now_ns);
  } else if (phase_ == ControlPhase::kOff) {
    StepOff(sample, *flow);
  } else {
    StepOn(sample, *flow);
  }
  last_ = sample;
  if (!last_statements_.has_value() && sample.work.statements.has_value()) {
    last_statements_ = sample.work;
  }
  return Setting(phase_ == ControlPhase::kOff ? kShortTick : kTick);
}

void AutoController::StepIdle(double seconds) {
  rate_ = std::min(options_.max_rate, std::max(rate_, 1.0) * std::pow(kIdleGrowth, seconds));
}

// Free of batch work. A permit of a job that died, or a session that does not ask, must not spoil
// every window: what one of the two sources says for a while is believed.
bool AutoController::IsClean(const ControlSample& sample, double seconds) {
  const bool reported = sample.outstanding == 0;
  const bool gone = sample.work.batch_active == 0;
  unreported_ = reported ? unreported_ + seconds : 0;
  unseen_ = gone ? unseen_ + seconds : 0;
  return (reported && gone) || unreported_ >= kBelievedAfter || unseen_ >= kBelievedAfter;
}

void AutoController::StepOff(const ControlSample& sample, const Flow& flow) {
  if (clean_ >= 0) {
    off_.Add(flow);
    clean_ += flow.seconds;
  } else if (IsClean(sample, flow.seconds)) {
    clean_ = 0;  // from this sample on
    last_statements_ = std::nullopt;
  }
  const double age = SecondsBetween(since_ns_, sample.work.sampled_at_ns);
  if (clean_ < kOffSeconds && age < kLongestOff) return;
  if (off_.seconds > 0) alone_ = off_.throughput();
  Enter(ControlPhase::kOn, sample.work.sampled_at_ns);
}

void AutoController::StepOn(const ControlSample& sample, const Flow& flow) {
  const double age = SecondsBetween(since_ns_, sample.work.sampled_at_ns);
  on_.Add(flow);
  worked_ |= sample.outstanding > 0 || sample.work.batch_active > 0 ||
             sample.transactions > last_->transactions;
  if (age > kBackOffAfter) BackOff(flow);
  if (age < window_) return;
  with_batch_ = on_.throughput();
  Adjust();
  Enter(ControlPhase::kOff, sample.work.sampled_at_ns);
}

void AutoController::BackOff(const Flow& flow) {
  if (off_.seconds <= 0) return;
  const bool slower =
      flow.counted_seconds > 0 && flow.throughput < kBadlySlower * off_.throughput();
  const bool busier = flow.occupied_seconds > 0 && off_.occupied_seconds > 0 &&
                      flow.occupancy > off_.occupancy() + kBadlyBusier * delta_;
  bad_looks_ = slower || busier ? bad_looks_ + 1 : 0;
  if (bad_looks_ < kBelievedLooks) return;
  rate_ = std::max(kLeastRate, rate_ * std::exp2(-flow.seconds / kBackOffHalf));
  on_ = {};
}

double AutoController::Harm() const {
  const double alone = off_.throughput();
  double harm = 0;
  if (alone > 0) {
    const double slower = 1 - on_.throughput() / alone;
    const double variance =
        std::max(off_.variance(), alone / absl::ToDoubleSeconds(kTick));  // Poisson at the least
    const double deviation = std::sqrt(variance * (1 / off_.count + 1 / on_.count)) / alone;
    harm = slower / options_.tolerance;
    if (slower <= kSignificant * deviation) harm = std::min(harm, 1.0);
  }
  if (off_.occupied_seconds > 0 && on_.occupied_seconds > 0) {
    harm = std::max(harm, (on_.occupancy() - off_.occupancy()) / delta_);
  }
  return harm;
}

void AutoController::Adjust() {
  if (off_.seconds > 0 && on_.seconds > 0) {
    // A window in which no batch work ran says nothing of the harm that more would do.
    const double room = worked_ ? 1 - Harm() : std::min(0.0, 1 - Harm());
    rate_ = std::clamp(rate_ * std::exp(kGain * std::clamp(room, -kMostFall, kMostRise)),
                       kLeastRate, options_.max_rate);
    const bool settled = std::abs(room) < kSettled;
    window_ = windows_ < kFirstWindows ? kFirstOn : settled ? kSettledOn : kSettlingOn;
  }
  window_ = std::min(window_ * Jitter(), kSettledOn * (1 + kJitter));
  ++windows_;
  off_.Decay(kDecay);
  on_.Decay(kDecay);
}

ControlSetting AutoController::Miss(int64_t now_ns) {
  last_ = std::nullopt;
  if (SecondsBetween(last_good_ns_, now_ns) > absl::ToDoubleSeconds(kBlindAfter)) {
    rate_ = std::min(rate_, kLeastRate);
    Forget();
  }
  if (phase_ == ControlPhase::kOff) Enter(ControlPhase::kOn, now_ns);
  return Setting(kTick);
}

ControlSetting AutoController::Setting(absl::Duration next) const {
  return {.rate = rate_,
          .shut = phase_ == ControlPhase::kOff,
          .phase = phase_,
          .alone = alone_,
          .with_batch = with_batch_,
          .next = next};
}

}  // namespace headgate::health
