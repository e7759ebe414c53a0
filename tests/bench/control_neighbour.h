// A second database on the machine, of which Headgate knows nothing and whose foreground comes all
// at once: for how long is the batch of the first one starved for it?
//
//   NeighbourOutcome outcome = BesideANeighbour(stage, workload);

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/control_stage.h"

namespace headgate {

struct NeighbourOutcome {
  double rate_before = 0, rate_beside = 0;  // found, busy seconds a second, on average
  double rows_before = 0, rows_beside = 0;  // of batch work, a second
  double starved_s = 0;  // the longest stretch with less than a quarter of the rows before
};

inline NeighbourOutcome BesideANeighbour(ControlStage& stage, const Workload& workload) {
  constexpr absl::Duration kAlone = absl::Seconds(40), kJudged = absl::Seconds(15);
  constexpr absl::Duration kNoisy = absl::Seconds(120);
  constexpr int kNeighbourScale = 5;
  constexpr double kStarved = 0.25;
  constexpr absl::Duration kStep = absl::Seconds(4);

  const auto neighbour = Must(PostgresCluster::Start({}));
  load::PgbenchOptions noise{.bin = neighbour->bin(),
                             .folder = neighbour->folder(),
                             .dsn = neighbour->primary().SocketDsn()};
  Must(load::RunToEnd(load::PgbenchInitialization(noise, kNeighbourScale),
                      neighbour->folder() + "/initialization.log"));

  ControlStage::Stretch stretch(stage, workload);
  stretch.Hold(demo::Phase::kPause, kAlone, 0);
  const load::Window before{.from = absl::Now() - kJudged, .to = absl::Now()};
  noise.duration = kNoisy;
  const auto pgbench = Must(load::Pgbench::Start(noise));
  const absl::Time came = absl::Now();
  stretch.Hold(demo::Phase::kPause, kNoisy, 0);
  const load::Window beside{.from = came, .to = absl::Now()};

  const std::vector<FoundRate> found = stage.found();
  const auto mean_over = [&](const load::Window& window) {
    double sum = 0, count = 0;
    for (const FoundRate& one : found) {
      if (one.at < window.from || one.at > window.to) continue;
      sum += one.rate;
      ++count;
    }
    return count > 0 ? sum / count : 0;
  };
  NeighbourOutcome outcome{.rate_before = mean_over(before),
                           .rate_beside = mean_over(beside),
                           .rows_before = stretch.chunks().Over(before).rows_per_second,
                           .rows_beside = stretch.chunks().Over(beside).rows_per_second};
  absl::Time fed = came;
  for (absl::Time at = came; at + kStep <= beside.to; at += kStep) {
    const load::BatchStats step = stretch.chunks().Over({.from = at, .to = at + kStep});
    if (step.rows_per_second >= kStarved * outcome.rows_before) fed = at + kStep;
    outcome.starved_s = std::max(outcome.starved_s, absl::ToDoubleSeconds(at + kStep - fed));
  }
  (void)stretch.Finish();
  Must(pgbench->WaitForEnd());
  return outcome;
}

}  // namespace headgate
