// Experiment: the phases one after the other, with one foreground that never stops.
//
// Alone - throttled - alone - throttled - alone; an agent is started, and the same with sessions
// that yield; it is stopped, and fixed rates follow, each a second at a time with a second alone
// between, up to one that the foreground does not bear - greedy. The first phase of each kind
// begins with a while in which Headgate finds what is right, which is told apart. Where nothing
// yields those phases are left out, and the record says why. The greedy phase comes last because
// what it leaves behind in the tables would weigh on whatever followed. The fixed rates are
// multiples of what the throttled backfill came to. Thread-compatible.
//
//   Experiment experiment(stage, headgated, interrupt, display, {});
//   absl::Status status = experiment.Run();
//   const Results results = Evaluate(experiment.record());
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "tests/demo/agent.h"
#include "tests/demo/display.h"
#include "tests/demo/headgated.h"
#include "tests/demo/interrupt.h"
#include "tests/demo/record.h"
#include "tests/demo/stage.h"
#include "tests/demo/throttle.h"
#include "tests/load/batch_workers.h"
#include "tests/load/pgbench.h"

namespace headgate::demo {

// Of the fixed rates, in what the throttled backfill came to.
inline constexpr std::array<double, 2> kFixedRates = {2, 4};

struct Timing {
  absl::Duration warm_up = absl::Seconds(3);
  absl::Duration alone = absl::Seconds(5);       // before and after each throttled phase
  absl::Duration agent = absl::Seconds(2);       // about as long as its proof takes
  absl::Duration settling = absl::Seconds(12);   // of the first throttled phase, from a cold start
  absl::Duration throttled = absl::Seconds(10);  // and as long with sessions that yield
  int throttled_phases = 2;                      // of each kind
  absl::Duration fixed = absl::Seconds(1);       // and as long alone
  int rounds = 4;                                // through all fixed rates
  absl::Duration greedy = absl::Seconds(8);
  absl::Duration pause = absl::Seconds(1);  // after each backfill

  absl::Duration total() const {
    const absl::Duration one_throttled = throttled + pause + alone;
    const absl::Duration one_round = 2 * kFixedRates.size() * fixed;
    return warm_up + alone + 2 * (settling + throttled_phases * one_throttled) + agent +
           rounds * one_round + greedy + pause;
  }
};

struct PhaseLength {
  Phase phase = Phase::kPause;
  absl::Duration length;
};

// A way in which the backfill asks Headgate.
struct Way {
  Phase settling = Phase::kPause;
  Phase settled = Phase::kPause;
  int64_t chunk_rows = 0;  // where a phase ended; 0: none has
};

class Experiment {
 public:
  Experiment(Stage& stage, Headgated& headgated, const Interrupt& interrupt, Display& display,
             const Timing& timing)
      : stage_(stage),
        headgated_(headgated),
        interrupt_(interrupt),
        display_(display),
        timing_(timing) {}

  // Cancelled if it was interrupted; else what went wrong.
  absl::Status Run();

  const Record& record() const { return record_; }

 private:
  // Lets time pass, and watches.
  absl::Status Hold(const Slice& slice, absl::Duration length);
  // One and the same backfill through its phases.
  absl::Status Backfill(absl::Span<const PhaseLength> phases, const load::BatchOptions& options);
  // Ends what there is of a backfill.
  absl::Status EndBackfill();
  // In turns with the foreground alone.
  absl::Status Throttled(Throttle& throttle, Way& way);
  // Throttled by an agent's help, if there can be one.
  absl::Status Yielding(Throttle& throttle);
  absl::Status Fixed();
  absl::Status TryRates(load::Pace& pace, double unit, absl::Span<const double> factors);
  absl::Status Watch(const Slice& slice);

  load::BatchOptions GreedyBatch() const;

  Stage& stage_;
  Headgated& headgated_;
  const Interrupt& interrupt_;
  Display& display_;
  const Timing timing_;
  Record record_;
  std::unique_ptr<load::Pgbench> foreground_;
  std::unique_ptr<load::BatchWorkers> batch_;  // while there is a backfill
  std::unique_ptr<Agent> agent_;               // while there is one
  // What each found for its chunks is of no use to the other.
  Way rate_alone_ = {.settling = Phase::kSettling, .settled = Phase::kThrottled};
  Way yielding_ = {.settling = Phase::kYieldSettling, .settled = Phase::kYielding};
};

}  // namespace headgate::demo
