// PulseLaw: finds how much batch work a database bears, when nobody knows the right number.
//
// It controls the average in-flight work W, in busy seconds of batch work a second, and measures
// the goal itself: how the foreground fares with batch work and without. So it lets batch work run
// in pulses and keeps it out in between, compares, and moves W to where the foreground is slower by
// a tolerated share and no more:
//
//   rest --asked--> on <--> off      (busy database; pulses, W on average)
//     |                 |
//     +----> idle <-----+            (no foreground; W grows to the most, and nothing is probed)
//
// A small W comes in short pulses of several times W: a drop of a fifth in a third of the time is
// measured in seconds, the same work spread evenly would take minutes. It was in force
// before the law of docs/health.md, which `./dev bench control_sim` holds against it.
//
// A pure function of what it is given: no I/O, no clock, and chance from its seed alone.
// Thread-compatible.
//
//   PulseLaw controller({.cores = 4});
//   PulseSetting setting = controller.Step(sample);
//   ... engine.SetAutoRate(..., {.rate = setting.drain, .shut = setting.shut, ...}) ...

#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "server/observe/control/effect_estimate.h"
#include "server/observe/control/flow_meter.h"
#include "server/observe/control/foreground_presence.h"
#include "tests/sim/pulse_limits.h"

namespace headgate::sim::pulses {

using control::ControlSample;
using control::Effect;
using control::EffectEstimate;
using control::Flow;
using control::FlowMeter;
using control::Foreground;
using control::kNoWork;
using control::LimitBelief;
using control::Presence;

enum class PulsePhase : uint8_t {
  kRest,   // nobody asks
  kIdle,   // no foreground
  kOff,    // batch work is kept out
  kOn,     // batch work runs
  kBlind,  // the database cannot be sampled: next to no batch work
};

struct PulseSetting {
  double rate = 0;   // W
  double drain = 0;  // at which budgets drain for now, so that it comes to W over time
  bool shut = false;
  PulsePhase phase = PulsePhase::kRest;
  double alone = 0;       // foreground transactions a second while batch work is kept out
  double with_batch = 0;  // and over all
  absl::Duration next;    // when to sample again
};

class PulseLaw {
 public:
  explicit PulseLaw(const PulseOptions& options);

  PulseSetting Step(const ControlSample& sample);
  // The database could not be sampled at `now_ns`. What was found is kept for a while; after it
  // batch work is all but stopped.
  PulseSetting Miss(int64_t now_ns);

 private:
  static constexpr double kFirstRate = 0.1;  // for each core
  static constexpr double kBaseline = 3;     // s that the foreground alone is remembered

  void StepOn(const Flow& flow, int64_t outstanding);
  void StepOff(const Flow& flow);
  void StepIdle(const Flow& flow);
  // A foreground came, or became another.
  void Meet();
  void Enter(PulsePhase phase);
  // Begins a pulse.
  void Open();
  // Learns from the pulse that has ended.
  void Conclude();
  double FindRate() const;
  double Prior() const;
  double Ceiling() const;
  double LongestOff() const;
  bool ChunksAreLong() const;
  double Jitter();
  PulseSetting Setting(absl::Duration next) const;

  PulseOptions options_;
  uint64_t dice_;
  FlowMeter meter_;
  Presence presence_;
  EffectEstimate estimate_;
  PulseLimits limit_;

  int64_t sampled_at_ns_ = 0;
  Foreground met_ = Foreground::kNone;
  PulsePhase phase_ = PulsePhase::kOff;
  double age_ = 0;                   // s of the phase
  double since_learnt_ = 0;          // s
  double rate_;                      // W
  double drain_ = 0;                 // while on
  double credit_ = 0;                // busy seconds of W that were kept back while off
  double on_for_ = 0, off_for_ = 0;  // s that the pulse lasts, and the pause after it
  double worked_ = 0;                // s since batch work was first seen in this pulse
  double alone_ = 0, with_batch_ = 0;
};

}  // namespace headgate::sim::pulses
