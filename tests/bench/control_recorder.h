// ControlRecorder: in the place of a controller, lets batch work run evenly at several rates by
// turns with pauses between, and writes down what each sample said, for tests to replay
// (tests/observe/control/recorded_test.cc).
//
// Thread-compatible.
//
//   ControlRecorder recorder(file);
//   health::WorkWish wish = recorder.Take(sample, engine, now);

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/observe/health/probe.h"
#include "server/observe/health/work_listener.h"

namespace headgate {

class ControlRecorder {
 public:
  static constexpr double kRates[] = {0.05, 0.1, 0.2, 0.4};  // busy seconds a second

  // The file outlives the recorder.
  explicit ControlRecorder(std::FILE* file) : file_(file) {
    std::fprintf(file_,
                 "# seconds, next xid, foreground active, batch active, calls, busy s, timed "
                 "calls, timed s, timed deviations s^2, reports, busy s reported, outstanding, "
                 "rate, shut\n");
  }

  // Every sample that is written has statements, and is followed by the next one when those may be
  // read again.
  health::WorkWish Take(const absl::StatusOr<health::WorkCounters>& sample, engine::Engine& engine,
                        Now now) {
    if (sample.ok() && sample->statements.has_value()) {
      Write(*sample, engine, now);
      ++samples_;
    }
    (void)engine.SetAutoRate("", "batch",
                             {.rate = shut() ? 0 : rate(),
                              .shut = shut(),
                              .next_change_at_ns = now.monotonic_ns + kEvery,
                              .chunk_seconds = 0.0075},
                             now);
    return {.after = absl::Nanoseconds(kEvery), .statements = health::StatementsWish::kNow};
  }

 private:
  static constexpr int64_t kEvery = 700'000'000;         // ns
  static constexpr size_t kPauseSamples = 3, kTurn = 7;  // of which work takes the rest

  bool shut() const { return samples_ % kTurn < kPauseSamples; }
  double rate() const { return kRates[samples_ / kTurn % std::size(kRates)]; }

  void Write(const health::WorkCounters& work, engine::Engine& engine, Now now) {
    const auto activity = engine.ReadAutoActivity("", "batch", now);
    if (!activity.ok()) return;
    const health::WorkCounters::Statements& counted = *work.statements;
    std::fprintf(file_, "%.3f %ld %.0f %.0f %.0f %.4f %.0f %.4f %.6f %lu %.4f %ld %.2f %d\n",
                 static_cast<double>(work.sampled_at_ns) / 1e9, static_cast<long>(work.next_xid),
                 work.foreground_active, work.batch_active, counted.calls, counted.busy_seconds,
                 counted.timed_calls, counted.timed_seconds, counted.timed_deviations,
                 static_cast<unsigned long>(activity->reports), activity->reported_cost,
                 static_cast<long>(activity->outstanding), rate(), shut() ? 1 : 0);
  }

  std::FILE* const file_;
  size_t samples_ = 0;
};

}  // namespace headgate
