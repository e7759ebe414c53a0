// AutoController: finds how much batch work a database bears, when nobody knows the right number.
//
// It controls the average in-flight work W, in busy seconds of batch work a second, and measures
// the goal itself: how fast the foreground is with batch work and without it. So it lets batch work
// run for a window, keeps all of it out for a shorter one, compares, and moves W until the
// foreground is slower by a tolerated share and no more:
//
//   rest --asked--> off --measured--> on --measured--> off ...     (busy database)
//                    |  no foreground  |
//                    +----> idle <-----+   W grows fourfold a second, and nothing is probed
//
// Foreground throughput is the rate of new transaction ids, batch transactions taken off; where the
// foreground writes too little for that, the calls that pg_stat_statements counts. Its occupancy
// (Little's law: busy seconds a second) covers a foreground that comes at its own pace. What it
// weighs, and against which other laws it was chosen, is in docs/control.md.
//
// A pure function of what it is given: no I/O, no clock, and chance from its seed alone.
// Thread-compatible.
//
//   AutoController controller({.cores = 4});
//   ControlSetting setting = controller.Step(sample);
//   ... engine.SetAutoRate(..., {.rate = setting.rate, .shut = setting.shut, ...}) ...

#ifndef HEADGATE_SERVER_HEALTH_AUTO_CONTROLLER_H_
#define HEADGATE_SERVER_HEALTH_AUTO_CONTROLLER_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "server/health/probe.h"

namespace headgate::health {

struct ControlOptions {
  double tolerance = 0.05;  // share by which the foreground may get slower
  double cores = 2;         // of the database server
  double max_rate = 4;      // busy seconds a second
  uint64_t seed = 0;        // of the windows' jitter

  friend bool operator==(const ControlOptions&, const ControlOptions&) = default;
};

// One look at the database and at what Headgate itself knows of its batch work. Totals grow.
struct ControlSample {
  WorkCounters work;
  uint64_t checks = 0;        // asked so far
  uint64_t transactions = 0;  // of batch work, reported so far
  int64_t outstanding = 0;    // permits
};

enum class ControlPhase : uint8_t {
  kRest,  // nobody asks
  kIdle,  // no foreground
  kOff,   // batch work is kept out
  kOn,
};

struct ControlSetting {
  double rate = 0;  // W
  bool shut = false;
  ControlPhase phase = ControlPhase::kRest;
  double alone = 0;       // foreground transactions a second, in off windows
  double with_batch = 0;  // in on windows
  absl::Duration next;    // when to sample again
};

class AutoController {
 public:
  explicit AutoController(const ControlOptions& options);

  ControlSetting Step(const ControlSample& sample);
  // The database could not be sampled at `now_ns`. What was measured is kept for a while; after it
  // batch work is all but stopped.
  ControlSetting Miss(int64_t now_ns);

 private:
  // What the foreground did since an earlier sample.
  struct Flow {
    double seconds = 0;           // since the last sample
    double counted_seconds = 0;   // that the throughput is of; 0: this sample has none
    double throughput = 0;        // transactions a second
    double occupied_seconds = 0;  // that the occupancy is of; 0: this sample has none
    double occupancy = 0;         // busy sessions
  };
  // Averages over windows of one kind, newer ones weighing more.
  struct Sums {
    double count = 0, seconds = 0, transactions = 0, squares = 0;
    double occupied_seconds = 0, busy_seconds = 0;

    void Add(const Flow& flow);
    void Decay(double factor);
    double throughput() const { return seconds > 0 ? transactions / seconds : 0; }
    double occupancy() const { return occupied_seconds > 0 ? busy_seconds / occupied_seconds : 0; }
    double variance() const;  // of throughput between samples
  };

  std::optional<Flow> FlowSince(const ControlSample& sample);
  // Adds what pg_stat_statements says, which not every sample has.
  void AddStatements(const WorkCounters& work, Flow& flow);
  bool IsClean(const ControlSample& sample, double seconds);
  bool NobodyAsks(const ControlSample& sample, double seconds);
  void Enter(ControlPhase phase, int64_t now_ns);
  void Forget();
  void StepIdle(double seconds);
  void StepOff(const ControlSample& sample, const Flow& flow);
  void StepOn(const ControlSample& sample, const Flow& flow);
  // Halves the rate where the foreground is hurt badly.
  void BackOff(const Flow& flow);
  // Moves the rate by what two kinds of windows have shown.
  void Adjust();
  double Harm() const;  // 1: just what is tolerated
  double Jitter();
  ControlSetting Setting(absl::Duration next) const;

  ControlOptions options_;
  double delta_;  // busy sessions that the foreground may gain
  uint64_t dice_;

  std::optional<ControlSample> last_;
  std::optional<WorkCounters> last_statements_;  // that had them, in this window
  int64_t last_good_ns_ = 0;
  ControlPhase phase_ = ControlPhase::kRest;
  int64_t since_ns_ = 0;  // when the phase began
  double rate_;
  double active_ = 0;      // foreground sessions, smoothed
  double unasked_ = 0;     // seconds without a Check
  double calls_ = 0;       // newest rate of foreground calls, a second
  double unreported_ = 0;  // seconds of this off window without permits outstanding
  double unseen_ = 0;      // and without sessions of batch work
  double clean_ = 0;       // seconds of this off window without batch work; < 0: not yet
  double window_ = 0;      // seconds that this on window lasts
  int windows_ = 0;        // that were measured since the foreground came
  bool worked_ = false;    // batch work ran in this on window
  int bad_looks_ = 0;      // in a row
  Sums off_, on_;
  double alone_ = 0, with_batch_ = 0;
};

}  // namespace headgate::health

#endif  // HEADGATE_SERVER_HEALTH_AUTO_CONTROLLER_H_
