// With e the effect of a unit of batch work on the logarithm of what is measured, and t the
// logarithm that is tolerated, the harm of a unit in terms of what is tolerated is e / t, and the
// limit t / e. Its variance is noise / contrast. Residuals of neighbouring flows are alike, since
// machines have better and worse moments that last, hence kAlike; a step in the quiet throughput
// from before to after says that something else has changed, and makes the stretch count for less.

#include "server/control/work_limits.h"

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
constexpr double kForgotten = 120;                       // s after which a face is not known
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
double LeastNoise(Harm harm, double Flow::*value, const Contrast& contrast) {
  using Kind = Contrast::Kind;
  const double each_second = std::max(1.0, contrast.Mean(Kind::kQuiet, &Flow::throughput));
  if (value == &Flow::residence) {
    return 1 / (kLooks * std::max(kFewSessions, contrast.Mean(Kind::kQuiet, &Flow::sessions)));
  }
  if (harm == Harm::kThroughput) return 1 / each_second;
  if (harm == Harm::kTail) return (kKurtosis - 1) / 4 / each_second;
  const double mean = contrast.Mean(Kind::kQuiet, &Flow::mean);
  const double deviation = contrast.Mean(Kind::kQuiet, &Flow::deviation);
  return mean > 0 ? std::max(1.0, Square(deviation / mean)) / each_second : 1;
}

// One wild stretch, as where a statement hung, says little about the next ones.
double Pool(double before, const Effect& effect) {
  const double newest = std::min(effect.noise, kWild * before);
  return (kNoiseFreedom * before + effect.freedom * newest) / (kNoiseFreedom + effect.freedom);
}

}  // namespace

WorkLimits::Face WorkLimits::MakeFace(Harm harm, Source source, double Flow::*value,
                                      const ControlOptions& options) {
  Face face{.harm = harm,
            .source = source,
            .value = value,
            .belief = LimitBelief(kLeastLimit, 4 * options.max_rate)};
  switch (harm) {
    case Harm::kThroughput:
      face.tolerance = options.tolerance;
      face.noise = kFirstThroughputNoise;
      break;
    case Harm::kLatency:
      face.tolerance = options.latency_tolerance;
      face.noise = kFirstLatencyNoise;
      break;
    case Harm::kTail:
      face.tolerance = options.tail_tolerance;
      face.noise = kFirstTailNoise;
      break;
  }
  return face;
}

WorkLimits::WorkLimits(const ControlOptions& options)
    : options_(options),
      faces_{MakeFace(Harm::kThroughput, Source::kFlows, &Flow::throughput, options),
             MakeFace(Harm::kLatency, Source::kFlows, &Flow::mean, options),
             MakeFace(Harm::kTail, Source::kFlows, &Flow::deviation, options),
             MakeFace(Harm::kLatency, Source::kFlows, &Flow::residence, options),
             MakeFace(Harm::kThroughput, Source::kGlances, &Flow::throughput, options)} {
  for (Face& face : faces_) {
    face.belief.Believe(UnknownOf(face, kFirstLimit * options.cores), kVague);
  }
}

WorkLimits::LearntFaces WorkLimits::Learnt() const {
  LearntFaces learnt;
  for (size_t i = 0; i < kFaces; ++i) {
    const Face& face = faces_[i];
    learnt[i] = {.ever = face.ever,
                 .usual = face.usual == 0 ? 0
                                          : std::clamp(face.usual, LearntFace::kLeastUsual,
                                                       LearntFace::kMostUsual),
                 .noise = std::clamp(face.noise, LearntFace::kLeastNoise, LearntFace::kMostNoise),
                 .unseen_for = std::min(face.unseen_for, LearntFace::kMostUnseen),
                 .limits = face.belief.cells()};
  }
  return learnt;
}

void WorkLimits::TakeUp(const LearntFaces& learnt) {
  for (size_t i = 0; i < kFaces; ++i) {
    Face& face = faces_[i];
    face.ever = learnt[i].ever;
    face.usual = learnt[i].usual;
    face.noise = learnt[i].noise;
    face.unseen_for = learnt[i].unseen_for;
    face.belief.TakeUp(learnt[i].limits);
  }
}

// Sessions are seen so badly that a vague belief about them would hold work back for ever.
double WorkLimits::UnknownOf(const Face& face, double prior) const {
  return face.value == &Flow::residence ? std::max(prior, options_.max_rate) : prior;
}

bool WorkLimits::Speaks(const Face& face) {
  return face.harm == Harm::kThroughput && face.source == Source::kFlows;
}

void WorkLimits::Doubt(double share, double prior) {
  for (Face& face : faces_) face.belief.Doubt(share, UnknownOf(face, prior), kVague);
}

void WorkLimits::Age(double seconds, double prior) {
  for (Face& face : faces_) face.unseen_for += seconds;
  seconds = std::min(seconds, kForgottenAfter);  // drifting takes steps in proportion
  for (Face& face : faces_) face.belief.Drift(kDrift * std::sqrt(seconds));
  Doubt(1 - std::exp(-kChange * seconds), prior);
}

void WorkLimits::Learn(const Contrast& contrast, Source source, double prior) {
  if (contrast.Seconds(Contrast::Kind::kQuiet) < kLeastQuiet ||
      contrast.Seconds(Contrast::Kind::kWorked) < kLeastWorked) {
    return;
  }
  if (std::abs(contrast.Step()) > kLargeStep) return Doubt(kAfterLargeStep, prior);
  for (Face& face : faces_) {
    if (face.source == source) LearnFace(contrast, face);
  }
}

// What is usual, without batch work. Where it is quite another, it is so from now on.
void WorkLimits::Note(double quiet, Face& face) {
  const bool is_alike = std::max(quiet, face.usual) < kAnother * std::min(quiet, face.usual);
  face.usual += (is_alike ? kNewest : 1) * (quiet - face.usual);
}

void WorkLimits::LearnFace(const Contrast& contrast, Face& face) {
  // What is not there without batch work, such as transaction ids of readers, cannot be harmed.
  const double quiet = contrast.Mean(Contrast::Kind::kQuiet, face.value);
  if (quiet <= 0) return;
  Note(quiet, face);
  const std::optional<Effect> effect = contrast.EffectOn(ShareOf(face.value, face.usual));
  if (!effect.has_value()) return;
  face.noise = Pool(face.noise, *effect);
  face.unseen_for = 0;
  face.ever = true;
  const double noise = std::max(face.noise, LeastNoise(face.harm, face.value, contrast));
  const double step = 1 + Square(contrast.Step() / kSmallStep);
  face.belief.Observe(SignOf(face.harm) * effect->each / face.tolerance,
                      kAlike * step * noise / effect->contrast / Square(face.tolerance));
}

// What was never seen does not hold work back as long as throughput speaks.
const WorkLimits::Face& WorkLimits::Smallest() const {
  const auto limit = [](const Face& face) {
    return face.ever || Speaks(face) ? face.belief.Quantile(1 - kConfidence)
                                     : std::numeric_limits<double>::infinity();
  };
  return *std::min_element(faces_.begin(), faces_.end(),
                           [&](const Face& a, const Face& b) { return limit(a) < limit(b); });
}

Harm WorkLimits::binding() const { return Smallest().harm; }
double WorkLimits::CarefulLimit() const { return Smallest().belief.Quantile(1 - kConfidence); }

// Of two faces of the same harm the one that is known shows it, and the worse if both are.
HarmView WorkLimits::View(Harm harm, double rate) const {
  HarmView view;
  for (const Face& face : faces_) {
    if (face.harm != harm) continue;
    const LimitBelief::Harm done = face.belief.HarmOf(rate);
    const HarmView one{.expected = done.expected * face.tolerance,
                       .uncertainty = done.deviation * face.tolerance,
                       .tolerance = face.tolerance,
                       .known = face.ever && face.unseen_for < kForgotten};
    const bool better = one.known != view.known ? one.known : one.expected > view.expected;
    if (view.tolerance == 0 || better) view = one;
  }
  return view;
}

bool WorkLimits::HurtsBadly(const Contrast& contrast, Source source) const {
  const double quiet_for = contrast.Seconds(Contrast::Kind::kQuiet);
  const double worked_for = contrast.Seconds(Contrast::Kind::kWorked);
  if (worked_for < kLookAfter || quiet_for <= 0) return false;
  return std::any_of(faces_.begin(), faces_.end(), [&](const Face& face) {
    if (face.source != source) return false;
    const double usual =
        face.usual > 0 ? face.usual : contrast.Mean(Contrast::Kind::kQuiet, face.value);
    if (usual <= 0) return false;
    const std::optional<double> difference = contrast.Difference(ShareOf(face.value, usual));
    if (!difference.has_value()) return false;
    const double noise = std::max(face.noise, LeastNoise(face.harm, face.value, contrast));
    const double deviation = std::sqrt(kAlike * noise * (1 / quiet_for + 1 / worked_for));
    return SignOf(face.harm) * *difference - kCertain * deviation > kBadly * face.tolerance;
  });
}

}  // namespace headgate::control
