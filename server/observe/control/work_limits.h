// WorkLimits: how much batch work in flight the foreground tolerates, from one stretch of time
// after another.
//
// Harm is of three kinds. A foreground in a closed loop gets less done; one that comes at its own
// pace gets as much done, but each statement takes longer; and in both some take much longer than
// most. So throughput, the mean of statements' times and their standard deviation are compared with
// and without batch work, each as a share of what is usual and within its own tolerance; the mean
// also by the sessions that are seen at work, which wait for commits too, and throughput also by
// transaction ids, which are there in every glance while statements may be dear to read. For each
// there is a belief about its limit (limit_belief.h), that every stretch sharpens by as much as it
// says, and time blurs. The smallest limit counts.
//
// Thread-compatible.
//
//   WorkLimits limits(options);
//   limits.Learn(estimate, WorkLimits::Source::kFlows, /*prior=*/0.2);
//   double rate = limits.CarefulLimit();

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/observe/control/effect_estimate.h"
#include "server/observe/control/limit_belief.h"

namespace headgate::control {

struct ControlOptions {
  double tolerance = 0.05;          // share of its throughput that the foreground may lose
  double latency_tolerance = 0.10;  // by which its statements may take longer on average
  double tail_tolerance = 0.25;     // by which their standard deviation may grow
  double cores = 2;                 // of the database server
  double max_rate = 4;              // busy seconds a second
  uint64_t seed = 0;                // of the windows' jitter

  friend bool operator==(const ControlOptions&, const ControlOptions&) = default;
};

enum class Harm : uint8_t { kThroughput, kLatency, kTail };
inline constexpr size_t kHarms = 3;

// What batch work does to the foreground in one respect, as shares.
struct HarmView {
  double expected = 0;     // by which it is worse
  double uncertainty = 0;  // standard deviation of that
  double tolerance = 0;
  bool known = false;  // it was measured lately
};

// What is known in one respect, for the limits that come after these: see learnt_control.h.
struct LearntIndicator {
  // Beyond what any database does, so that nothing that is computed from it overflows.
  static constexpr double kLeastUsual = 1e-9, kMostUsual = 1e12;
  // A variance that is larger says nothing at all, and it takes long to come down from it; from one
  // of next to nothing limits never come up, since a stretch counts for a multiple of it at most.
  static constexpr double kLeastNoise = 1e-6, kMostNoise = 1000;
  static constexpr double kMostUnseen = 1e12;  // s

  bool ever = false;  // it was measured
  double usual = 0;   // 0: not known
  double noise = kLeastNoise, unseen_for = 0;
  LimitBelief::Cells limits = {};
};

class WorkLimits {
 public:
  static constexpr size_t kIndicators = 5;
  using LearntIndicators = std::array<LearntIndicator, kIndicators>;

  // `first`: a limit that suits a foreground of which nothing is known.
  WorkLimits(const ControlOptions& options, double first);
  explicit WorkLimits(const ControlOptions& options)
      : WorkLimits(options, kFirstLimit * options.cores) {}

  // Limits with the same options go on from there. All of it is within LearntIndicator's bounds.
  LearntIndicators Learnt() const;
  void Restore(const LearntIndicators& learnt);

  // The foreground may be another one. `prior` is a limit that suits one of which nothing is known.
  void Doubt(double share, double prior);
  // Time passes, in which limits may move; s after which nothing is left of what was learnt.
  static constexpr double kForgottenAfter = 3600;
  void Age(double seconds, double prior);
  // From whole flows, or from glances, whichever it is given.
  enum class Source : uint8_t { kFlows, kGlances };
  void Learn(const EffectEstimate& estimate, Source source, double prior);

  // With a probability of kConfidence each of the limits is above this.
  double CarefulLimit() const;
  // With one of kNearCertainty one of them is below this.
  double HopefulLimit() const;
  Harm binding() const;
  HarmView View(Harm harm, double rate) const;

  // Whether the stretch so far shows harm that is certain, and several times what is tolerated.
  bool HurtsBadly(const EffectEstimate& estimate, Source source) const;

  static constexpr double kConfidence = 0.6;
  static constexpr double kNearCertainty = 0.9;
  // Of a foreground of which nothing is known, for each core.
  static constexpr double kFirstLimit = 0.04;
  // The same of sessions that yield, however many cores there are: by kConfidence it begins as one.
  static constexpr double kFirstSessions = 1.36;

 private:
  struct Indicator {
    Harm harm;
    Source source;
    double Flow::*value;
    double tolerance = 0;  // share
    LimitBelief belief;
    double usual = 0;       // without batch work; 0: not known
    double noise = 0;       // variance of the share over one second that work does not explain
    double unseen_for = 0;  // s since it was measured
    bool ever = false;
  };

  static Indicator MakeIndicator(Harm harm, Source source, double Flow::*value,
                                 const ControlOptions& options);
  // Throughput of whole flows, which there always is.
  static bool Speaks(const Indicator& indicator);
  static double QuantileOf(const Indicator& indicator, double share);
  const Indicator& Smallest(double share) const;
  static void Note(double quiet, Indicator& indicator);
  void LearnIndicator(const EffectEstimate& estimate, Indicator& indicator);
  double UnknownOf(const Indicator& indicator, double prior) const;

  ControlOptions options_;
  std::array<Indicator, kIndicators> indicators_;
};

}  // namespace headgate::control
