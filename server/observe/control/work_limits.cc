// With e the effect of a unit of batch work on the logarithm of what is measured, and t the
// logarithm that is tolerated, the harm of a unit in terms of what is tolerated is e / t, and the
// limit t / e. Its variance is noise / contrast. Residuals of neighbouring flows are alike, since
// machines have better and worse moments that last, hence kAlike; a step in the quiet throughput
// from before to after says that something else has changed, and makes the stretch count for less.

#include "server/observe/control/work_limits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace headgate::control {
namespace {

constexpr double kLeastLimit = 0.005;
constexpr double kVague = 1.2;  // spread of a belief without evidence: a factor of 3.3 either way
// Limits wander by a factor of e^kDrift in a second, and once in 300 s the foreground is another.
constexpr double kDrift = 0.04, kChange = 0.0033;
constexpr double kAlike = 1.5;
constexpr double kNewest = 0.1;       // weight of a stretch in what is usual
constexpr double kAnother = 1.5;      // times as much
constexpr double kNoiseFreedom = 12;  // degrees that the variance from before counts for
// Before it is known: variance of the share over a second of what is seen of eight clients on two
// cores, whom nobody disturbs (0.002, 0.0043 and 0.024).
constexpr double kFirstThroughputNoise = 0.003, kFirstLatencyNoise = 0.005, kFirstTailNoise = 0.025;
constexpr double kWild = 16;  // times the noise from before
constexpr double kSmallStep = 0.15, kLargeStep = 0.7;
constexpr double kAfterLargeStep = 0.3;                  // weight of the prior after a large step
constexpr double kLeastQuiet = 0.2, kLeastWorked = 0.1;  // s
constexpr double kCertain = 2.5;                         // standard deviations
constexpr double kBadly = 4;                             // tolerances
constexpr double kLookAfter = 0.3;                       // s
constexpr double kForgotten = 120;                       // s after which an indicator is not known
constexpr double kLooks = 2, kFewSessions = 0.1;  // at sessions, a second; at work on average
// Fourth moment of a statement's time over the square of its variance: heavy tails.
constexpr double kKurtosis = 9;

double Square(double x) { return x * x; }

// In terms of what is usual, and not by its logarithm: those of a short flow, of which little is
// known, are lower on average than those of a long one, and pauses are short.
auto ShareOf(double Flow::*value, double usual) {
  return [value, usual](const Flow& flow) -> std::optional<double> {
    if (!flow.Knows(value)) return std::nullopt;
    return flow.*value / usual;
  };
}

// Worse is up.
double SignOf(Harm harm) { return harm == Harm::kThroughput ? -1 : 1; }

// Variance that counting alone makes over a second: as Poisson has it, and of a mean and of a
// deviation that are taken of so many; and looking, at so many sessions.
double LeastNoise(Harm harm, double Flow::*value, const EffectEstimate& estimate) {
  using Kind = EffectEstimate::Kind;
  const double each_second = std::max(1.0, estimate.Mean(Kind::kQuiet, &Flow::throughput));
  if (value == &Flow::residence) {
    return 1 / (kLooks * std::max(kFewSessions, estimate.Mean(Kind::kQuiet, &Flow::sessions)));
  }
  if (harm == Harm::kThroughput) return 1 / each_second;
  if (harm == Harm::kTail) return (kKurtosis - 1) / 4 / each_second;
  const double mean = estimate.Mean(Kind::kQuiet, &Flow::mean);
  const double deviation = estimate.Mean(Kind::kQuiet, &Flow::deviation);
  return mean > 0 ? std::max(1.0, Square(deviation / mean)) / each_second : 1;
}

// One wild stretch, as where a statement hung, says little about the next ones.
double Pool(double before, const Effect& effect) {
  const double newest = std::min(effect.noise, kWild * before);
  return (kNoiseFreedom * before + effect.freedom * newest) / (kNoiseFreedom + effect.freedom);
}

}  // namespace

WorkLimits::Indicator WorkLimits::MakeIndicator(Harm harm, Source source, double Flow::*value,
                                                const ControlOptions& options) {
  Indicator indicator{.harm = harm,
                      .source = source,
                      .value = value,
                      .belief = LimitBelief(kLeastLimit, 4 * options.max_rate)};
  switch (harm) {
    case Harm::kThroughput:
      indicator.tolerance = options.tolerance;
      indicator.noise = kFirstThroughputNoise;
      break;
    case Harm::kLatency:
      indicator.tolerance = options.latency_tolerance;
      indicator.noise = kFirstLatencyNoise;
      break;
    case Harm::kTail:
      indicator.tolerance = options.tail_tolerance;
      indicator.noise = kFirstTailNoise;
      break;
  }
  return indicator;
}

WorkLimits::WorkLimits(const ControlOptions& options, double first)
    : options_(options),
      indicators_{MakeIndicator(Harm::kThroughput, Source::kFlows, &Flow::throughput, options),
                  MakeIndicator(Harm::kLatency, Source::kFlows, &Flow::mean, options),
                  MakeIndicator(Harm::kTail, Source::kFlows, &Flow::deviation, options),
                  MakeIndicator(Harm::kLatency, Source::kFlows, &Flow::residence, options),
                  MakeIndicator(Harm::kThroughput, Source::kGlances, &Flow::throughput, options)} {
  for (Indicator& indicator : indicators_) {
    indicator.belief.Believe(UnknownOf(indicator, first), kVague);
  }
}

WorkLimits::LearntIndicators WorkLimits::Learnt() const {
  LearntIndicators learnt;
  for (size_t i = 0; i < kIndicators; ++i) {
    const Indicator& indicator = indicators_[i];
    learnt[i] = {
        .ever = indicator.ever,
        .usual = indicator.usual == 0 ? 0
                                      : std::clamp(indicator.usual, LearntIndicator::kLeastUsual,
                                                   LearntIndicator::kMostUsual),
        .noise =
            std::clamp(indicator.noise, LearntIndicator::kLeastNoise, LearntIndicator::kMostNoise),
        .unseen_for = std::min(indicator.unseen_for, LearntIndicator::kMostUnseen),
        .limits = indicator.belief.cells()};
  }
  return learnt;
}

void WorkLimits::Restore(const LearntIndicators& learnt) {
  for (size_t i = 0; i < kIndicators; ++i) {
    Indicator& indicator = indicators_[i];
    indicator.ever = learnt[i].ever;
    indicator.usual = learnt[i].usual;
    indicator.noise = learnt[i].noise;
    indicator.unseen_for = learnt[i].unseen_for;
    indicator.belief.Restore(learnt[i].limits);
  }
}

// Sessions are seen so badly that a vague belief about them would hold work back for ever.
double WorkLimits::UnknownOf(const Indicator& indicator, double prior) const {
  return indicator.value == &Flow::residence ? std::max(prior, options_.max_rate) : prior;
}

bool WorkLimits::Speaks(const Indicator& indicator) {
  return indicator.harm == Harm::kThroughput && indicator.source == Source::kFlows;
}

void WorkLimits::Doubt(double share, double prior) {
  for (Indicator& indicator : indicators_)
    indicator.belief.Doubt(share, UnknownOf(indicator, prior), kVague);
}

void WorkLimits::Age(double seconds, double prior) {
  for (Indicator& indicator : indicators_) indicator.unseen_for += seconds;
  seconds = std::min(seconds, kForgottenAfter);  // drifting takes steps in proportion
  for (Indicator& indicator : indicators_) indicator.belief.Drift(kDrift * std::sqrt(seconds));
  Doubt(1 - std::exp(-kChange * seconds), prior);
}

void WorkLimits::Learn(const EffectEstimate& estimate, Source source, double prior) {
  if (estimate.Seconds(EffectEstimate::Kind::kQuiet) < kLeastQuiet ||
      estimate.Seconds(EffectEstimate::Kind::kWorked) < kLeastWorked) {
    return;
  }
  if (std::abs(estimate.Step()) > kLargeStep) return Doubt(kAfterLargeStep, prior);
  for (Indicator& indicator : indicators_) {
    if (indicator.source == source) LearnIndicator(estimate, indicator);
  }
}

// What is usual, without batch work. Where it is quite another, it is so from now on.
void WorkLimits::Note(double quiet, Indicator& indicator) {
  const bool is_alike =
      std::max(quiet, indicator.usual) < kAnother * std::min(quiet, indicator.usual);
  indicator.usual += (is_alike ? kNewest : 1) * (quiet - indicator.usual);
}

void WorkLimits::LearnIndicator(const EffectEstimate& estimate, Indicator& indicator) {
  // What is not there without batch work, such as transaction ids of readers, cannot be harmed.
  const double quiet = estimate.Mean(EffectEstimate::Kind::kQuiet, indicator.value);
  if (quiet <= 0) return;
  Note(quiet, indicator);
  const std::optional<Effect> effect = estimate.EffectOn(ShareOf(indicator.value, indicator.usual));
  if (!effect.has_value()) return;
  indicator.noise = Pool(indicator.noise, *effect);
  indicator.unseen_for = 0;
  indicator.ever = true;
  const double noise =
      std::max(indicator.noise, LeastNoise(indicator.harm, indicator.value, estimate));
  const double step = 1 + Square(estimate.Step() / kSmallStep);
  indicator.belief.Observe(SignOf(indicator.harm) * effect->each / indicator.tolerance,
                           kAlike * step * noise / effect->contrast / Square(indicator.tolerance));
}

// What was never seen does not hold work back as long as throughput speaks.
double WorkLimits::QuantileOf(const Indicator& indicator, double share) {
  if (!indicator.ever && !Speaks(indicator)) return std::numeric_limits<double>::infinity();
  return indicator.belief.Quantile(share);
}

const WorkLimits::Indicator& WorkLimits::Smallest(double share) const {
  return *std::min_element(indicators_.begin(), indicators_.end(),
                           [share](const Indicator& a, const Indicator& b) {
                             return QuantileOf(a, share) < QuantileOf(b, share);
                           });
}

Harm WorkLimits::binding() const { return Smallest(1 - kConfidence).harm; }

double WorkLimits::CarefulLimit() const {
  return QuantileOf(Smallest(1 - kConfidence), 1 - kConfidence);
}

double WorkLimits::HopefulLimit() const {
  return QuantileOf(Smallest(kNearCertainty), kNearCertainty);
}

// Of two indicators of the same harm the one that is known shows it, and the worse if both are.
HarmView WorkLimits::View(Harm harm, double rate) const {
  HarmView view;
  for (const Indicator& indicator : indicators_) {
    if (indicator.harm != harm) continue;
    const LimitBelief::Harm done = indicator.belief.HarmOf(rate);
    const HarmView one{.expected = done.expected * indicator.tolerance,
                       .uncertainty = done.deviation * indicator.tolerance,
                       .tolerance = indicator.tolerance,
                       .known = indicator.ever && indicator.unseen_for < kForgotten};
    const bool better = one.known != view.known ? one.known : one.expected > view.expected;
    if (view.tolerance == 0 || better) view = one;
  }
  return view;
}

bool WorkLimits::HurtsBadly(const EffectEstimate& estimate, Source source) const {
  const double quiet_for = estimate.Seconds(EffectEstimate::Kind::kQuiet);
  const double worked_for = estimate.Seconds(EffectEstimate::Kind::kWorked);
  if (worked_for < kLookAfter || quiet_for <= 0) return false;
  return std::any_of(indicators_.begin(), indicators_.end(), [&](const Indicator& indicator) {
    if (indicator.source != source) return false;
    const double usual = indicator.usual > 0
                             ? indicator.usual
                             : estimate.Mean(EffectEstimate::Kind::kQuiet, indicator.value);
    if (usual <= 0) return false;
    const std::optional<double> difference = estimate.Difference(ShareOf(indicator.value, usual));
    if (!difference.has_value()) return false;
    const double noise =
        std::max(indicator.noise, LeastNoise(indicator.harm, indicator.value, estimate));
    const double deviation = std::sqrt(kAlike * noise * (1 / quiet_for + 1 / worked_for));
    return SignOf(indicator.harm) * *difference - kCertain * deviation >
           kBadly * indicator.tolerance;
  });
}

}  // namespace headgate::control
