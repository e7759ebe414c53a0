// Controller: finds how much batch work a database bears, when nobody knows the right number.
//
// It controls the average in-flight work W, in busy seconds of batch work a second, and measures
// the goal itself: how the foreground fares with batch work and without. Batch work runs evenly at
// W and pauses briefly now and then; what the foreground does meanwhile is the reference. W is just
// inside the smallest limit that follows (work_limits.h):
//
//   rest --asked--> work <--> pause   (busy database; W on average, pauses included)
//     |               |
//     +----> idle <---+               (no foreground; W grows to the most, and nothing is probed)
//
// It is raised only while work waits for it. Harm beyond doubt begins a pause at once. What it
// weighs, and how good it is, is in docs/health.md.
//
// Where sessions of batch work yield the processor, W is how many of them run at once while work
// runs: one at first, and a fraction is one for a part of the time. What is learnt then is another
// thing, and kept apart.
//
// A pure function of what it is given: no I/O, no clock, and chance from its seed alone.
// Thread-compatible.
//
//   Controller controller({.cores = 4});
//   ControlSetting setting = controller.Step(sample);
//   ... engine.SetAutoRate(..., {.rate = setting.drain, .shut = setting.shut, ...}) ...

#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "server/observe/control/effect_estimate.h"
#include "server/observe/control/flow_meter.h"
#include "server/observe/control/foreground_presence.h"
#include "server/observe/control/learnt_control.h"
#include "server/observe/control/work_limits.h"

namespace headgate::control {

enum class ControlPhase : uint8_t {
  kRest,   // nobody asks
  kIdle,   // no foreground
  kPause,  // batch work is kept out: the reference
  kWork,   // batch work runs
  kBlind,  // the database cannot be sampled: next to no batch work
};

struct ControlSetting {
  double rate = 0;   // W
  double drain = 0;  // at which budgets drain for now, so that it comes to W over time
  bool shut = false;
  ControlPhase phase = ControlPhase::kRest;
  double alone = 0;       // foreground transactions a second while batch work is kept out
  double with_batch = 0;  // and over all
  std::array<HarmView, kHarms> harms = {};
  Harm binding = Harm::kThroughput;
  Foreground foreground = Foreground::kNone;
  bool held_back = true;      // what was found is used up
  bool at_most = false;       // that is max_rate
  bool at_limit = false;      // and not below it, on the way up
  double long_chunk = 0;      // busy seconds, where chunks take too long to be held back
  bool misses_batch = false;  // no session of batch work was ever seen: see FlowMeter
  bool understated = false;   // Reports of busy time are not to be believed
  double chunk = 0;           // busy seconds that a chunk should take
  double start_level = 0;     // that may be owed where one starts
  bool yields = false;        // W is how many sessions run at once
  double most_sessions = std::numeric_limits<double>::infinity();      // at once, just now
  absl::Duration next;                                                 // when to sample again
  health::StatementsWish statements = health::StatementsWish::kSpare;  // and whether with those
};

class Controller {
 public:
  explicit Controller(const ControlOptions& options);

  ControlSetting Step(const ControlSample& sample);
  // The database could not be sampled at `now_ns`. What was found is kept for a while; after it
  // batch work is all but stopped.
  ControlSetting Miss(int64_t now_ns);
  // Whether sessions of batch work yield from now on. What is under way ends first, and then the
  // foreground is seen alone. Where they do not any more, W is what was known without, or less.
  ControlSetting SetYields(bool yields);
  bool yields() const { return yields_; }

  // What another one needs to know to go on from here; its time is the caller's, since_learnt()
  // ago.
  LearntControl Learnt() const;
  // s by which time has not blurred it yet.
  double since_learnt() const { return since_learnt_; }
  // How often something was learnt.
  uint64_t lessons() const { return lessons_; }
  // Goes on from what another one with the same options had learnt `seconds` ago: as sure of it as
  // that one would be now. What this one has seen of the database it still knows.
  void Restore(const LearntControl& learnt, double seconds);

 private:
  static constexpr double kBaseline = 3;    // s that the foreground alone is remembered
  static constexpr double kIdleTick = 0.2;  // s between samples while no phase is going to end

  // What happened since the sample before: a flow may have been completed by it.
  struct News {
    const Flow& glance;
    bool completes_flow = false;
    double flow_seconds = 0;
    int64_t outstanding = 0;
  };
  void StepBusy(const News& news);
  void StepWork(const News& news);
  void StepPause(const News& news);
  void BeginReference(const News& news);
  void StepIdle(const Flow& glance);
  // A foreground came, or became another.
  void Meet();
  void Enter(ControlPhase phase);
  // Begins a time of work.
  void Open();
  double DrainOfWork() const;
  double OtherAge() const;
  // Learns from the work and the pauses round it.
  void Conclude();
  void Remember();
  void JudgeBatch();
  void JudgeUse();
  // Where little is known, and where nothing is.
  double LeastRate() const;
  double FirstRate() const;
  double FindRate() const;
  double FindSessions() const;
  double Prior() const;
  double FirstPrior(bool yields) const;
  double Ceiling() const;
  double Next(int64_t outstanding);
  double RestOfWork() const;
  double SamplesOfWork() const;
  double LongestPause() const;
  bool ChunksAreLong() const;
  // Whether the foreground can be seen in a glance.
  bool Writes() const;
  bool WasHeldBack() const;
  double Jitter();
  double Allowed() const;
  double Drain() const;
  double Chunk() const;
  double StartLevel() const;
  ControlSetting Setting(absl::Duration next) const;
  health::StatementsWish Wish() const;

  ControlOptions options_;
  uint64_t dice_;
  FlowMeter meter_;
  Presence presence_;
  EffectEstimate estimate_;  // of whole flows
  EffectEstimate glances_;
  WorkLimits limits_;
  // The same for when sessions yield, where they do not now, or the other way round.
  WorkLimits other_limits_;
  bool yields_ = false;
  bool learnt_yielding_ = false;  // something is known of it
  int64_t other_since_ns_ = 0;    // since when time has not blurred the others; 0: no sample yet

  int64_t sampled_at_ns_ = 0;
  Foreground met_ = Foreground::kNone;
  ControlPhase phase_ = ControlPhase::kPause;
  double age_ = 0;                           // s of the phase
  double since_learnt_ = 0;                  // s
  double rate_;                              // W
  double speed_ = 1;                         // at which health lets drain what was found
  double drain_ = 0;                         // while working, or idle, and just after that
  double idle_drained_ = 0, idle_used_ = 0;  // busy seconds a second while idle, smoothed
  double work_for_ = 0, pause_for_ = 0;      // s
  double worked_ = 0;                        // s since batch work was first seen in this phase
  double used_ = 0;                          // busy seconds in this phase
  double transactions_ = 0;                  // a second, smoothed
  double used_share_ = 1;                    // of what was allowed, smoothed
  double drained_share_ = 1;                 // of what drained, likewise: what was used of it
  bool pays_for_idle_ = false;               // the pause follows a time without a foreground
  bool is_draining_ = true;                  // a pause has begun, and chunks are under way
  bool begins_with_flow_ = false;            // a flow ended where the pause, or the draining, began
  bool held_back_ = true;                    // work waited for the rate to be higher
  double alone_ = 0, with_batch_ = 0;
  uint64_t lessons_ = 0;
};

}  // namespace headgate::control
