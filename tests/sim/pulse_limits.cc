// With s = -each / alone, the share of throughput that a unit of batch work takes, the harm of a
// unit in terms of what is tolerated is s / tolerance, and the limit 1 / harm. Its variance is
// noise / contrast. Residuals of neighbouring flows are alike, since machines have better and worse
// moments that last, hence kAlike; a step in the quiet throughput from before to after says that
// something else has changed, and makes the stretch count for less.

#include "tests/sim/pulse_limits.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace headgate::sim::pulses {
namespace {

constexpr double kLeastLimit = 0.005;
constexpr double kFirstLimit = 0.1;  // for each core
constexpr double kVague = 1.2;    // spread of a belief without evidence: a factor of 3.3 either way
constexpr double kCareful = 0.4;  // quantile
// Limits wander by a factor of e^kDrift in a second, and once in 100 s the foreground is another.
constexpr double kDrift = 0.12, kChange = 0.01;
constexpr double kAlike = 2;
constexpr double kNoiseFreedom = 12;   // degrees that the variance from before counts for
constexpr double kFirstNoise = 0.003;  // 12 % in a fifth of a second
constexpr double kSmallStep = 0.15, kLargeStep = 0.7;
constexpr double kAfterLargeStep = 0.3;                  // weight of the prior after a large step
constexpr double kLeastQuiet = 0.2, kLeastWorked = 0.1;  // s
constexpr double kCertain = 2.5;                         // standard deviations
constexpr double kBadly = 4;                             // tolerances
constexpr double kLookAfter = 0.3;                       // s
constexpr double kPoissonLeast = 1;                      // transactions a second

double Square(double x) { return x * x; }

double Pool(double before, const Effect& effect, double noise) {
  return (kNoiseFreedom * before + effect.freedom * noise) / (kNoiseFreedom + effect.freedom);
}

// Sessions are counted at instants. Where no look caught one at work, the next look might have: one
// session in all looks of the stretch has this variance over a second, by Poisson.
double LeastNoise(const EffectEstimate& estimate, const Effect& effect) {
  const double looks = effect.freedom + 2;
  return estimate.Seconds(EffectEstimate::Kind::kAll) / Square(looks);
}

}  // namespace

PulseLimits::PulseLimits(const PulseOptions& options)
    : options_(options),
      throughput_{&Flow::throughput, kFirstLimit * options.cores,
                  LimitBelief(kLeastLimit, 4 * options.max_rate), kFirstNoise},
      sessions_{&Flow::sessions, options.max_rate, throughput_.belief, kFirstNoise * options.cores},
      occupancy_{&Flow::occupancy, options.max_rate, throughput_.belief,
                 kFirstNoise * options.cores} {
  for (Harm* harm : {&throughput_, &sessions_, &occupancy_}) {
    harm->belief.Believe(harm->unknown, kVague);
  }
}

void PulseLimits::Doubt(double share, double prior) {
  throughput_.unknown = prior;
  for (Harm* harm : {&throughput_, &sessions_, &occupancy_}) {
    harm->belief.Doubt(share, harm->unknown, kVague);
  }
}

void PulseLimits::Learn(const EffectEstimate& estimate, double seconds, double prior) {
  for (Harm* harm : {&throughput_, &sessions_, &occupancy_}) {
    harm->belief.Drift(kDrift * std::sqrt(seconds));
  }
  Doubt(1 - std::exp(-kChange * seconds), prior);
  if (estimate.Seconds(EffectEstimate::Kind::kQuiet) < kLeastQuiet ||
      estimate.Seconds(EffectEstimate::Kind::kWorked) < kLeastWorked) {
    return;
  }
  if (std::abs(estimate.Step()) > kLargeStep) return Doubt(kAfterLargeStep, prior);
  LearnThroughput(estimate);
  LearnSessions(estimate, sessions_);
  if (estimate.source() == Flow::Source::kStatements) LearnSessions(estimate, occupancy_);
}

void PulseLimits::LearnThroughput(const EffectEstimate& estimate) {
  const std::optional<Effect> effect = estimate.EffectOn(throughput_.value);
  if (!effect.has_value() || effect->alone < kPoissonLeast) return;
  throughput_.noise = Pool(throughput_.noise, *effect, effect->noise / Square(effect->alone));
  const double noise = std::max(throughput_.noise, 1 / effect->alone);  // no less than Poisson's
  const double slower_each = -effect->each / effect->alone;
  const double step = 1 + Square(estimate.Step() / kSmallStep);
  throughput_.belief.Observe(slower_each / options_.tolerance,
                             kAlike * step * noise / effect->contrast / Square(options_.tolerance));
}

void PulseLimits::LearnSessions(const EffectEstimate& estimate, Harm& harm) {
  const std::optional<Effect> effect = estimate.EffectOn(harm.value);
  if (!effect.has_value()) return;
  const double tolerated = options_.tolerance * options_.cores;
  harm.noise = Pool(harm.noise, *effect, effect->noise);
  const double noise = std::max(harm.noise, LeastNoise(estimate, *effect));
  harm.belief.Observe(effect->each / tolerated,
                      kAlike * noise / effect->contrast / Square(tolerated));
}

double PulseLimits::Limit() const {
  return std::min({throughput_.belief.Quantile(kCareful), sessions_.belief.Quantile(kCareful),
                   occupancy_.belief.Quantile(kCareful)});
}

bool PulseLimits::HurtsBadly(const EffectEstimate& estimate) const {
  const double quiet_for = estimate.Seconds(EffectEstimate::Kind::kQuiet);
  const double worked_for = estimate.Seconds(EffectEstimate::Kind::kWorked);
  const double quiet = estimate.Mean(EffectEstimate::Kind::kQuiet, &Flow::throughput);
  if (worked_for < kLookAfter || quiet_for <= 0 || quiet < kPoissonLeast) return false;
  const double worked = estimate.Mean(EffectEstimate::Kind::kWorked, &Flow::throughput);
  const double noise = std::max(throughput_.noise, 1 / quiet);
  const double deviation = std::sqrt(kAlike * noise * (1 / quiet_for + 1 / worked_for));
  return 1 - worked / quiet - kCertain * deviation > kBadly * options_.tolerance;
}

}  // namespace headgate::sim::pulses
