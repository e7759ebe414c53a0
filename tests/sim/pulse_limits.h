// PulseLimits: how much batch work in flight the foreground tolerates, from one stretch of time
// after another.
//
// Harm is throughput that falls, by `tolerance` at the limit, or sessions at work that grow by
// `tolerance` x cores, which is how a foreground that comes at its own pace shows it: by the time
// of its statements, and by the sessions that are seen, which are few but wait for commits too. The
// smallest limit counts. For each there is a belief (limit_belief.h) that every stretch sharpens
// by as much as it says, and time blurs.
//
// Thread-compatible.
//
//   PulseLimits finder(options);
//   finder.Learn(estimate, /*seconds=*/2.5, /*prior=*/0.2);
//   double limit = finder.Limit();

#pragma once

#include <cstdint>

#include "server/observe/control/effect_estimate.h"
#include "server/observe/control/limit_belief.h"

namespace headgate::sim::pulses {

using control::Effect;
using control::EffectEstimate;
using control::Flow;
using control::LimitBelief;

struct PulseOptions {
  double tolerance = 0.05;  // share by which the foreground may get slower
  double cores = 2;         // of the database server
  double max_rate = 4;      // busy seconds a second
  uint64_t seed = 0;        // of the windows' jitter

  friend bool operator==(const PulseOptions&, const PulseOptions&) = default;
};

class PulseLimits {
 public:
  explicit PulseLimits(const PulseOptions& options);

  // The foreground may be another one. `prior` is a limit that suits one of which nothing is known.
  void Doubt(double share, double prior);
  // `seconds` after the last stretch that was learnt from.
  void Learn(const EffectEstimate& estimate, double seconds, double prior);

  // On the careful side of what is likely.
  double Limit() const;

  // Whether the stretch so far shows harm that is certain, and several times what is tolerated.
  bool HurtsBadly(const EffectEstimate& estimate) const;

 private:
  // One kind of harm.
  struct Harm {
    double Flow::*value;
    double unknown;  // a limit that suits where nothing is known
    LimitBelief belief;
    double noise;  // variance over one second that batch work does not explain
  };

  void LearnThroughput(const EffectEstimate& estimate);
  void LearnSessions(const EffectEstimate& estimate, Harm& harm);

  PulseOptions options_;
  Harm throughput_;  // whose noise is relative
  Harm sessions_, occupancy_;
};

}  // namespace headgate::sim::pulses
