#include "tests/demo/series.h"

#include "absl/strings/str_format.h"

namespace headgate::demo {
namespace {

const char* PhaseAt(const Record& record, absl::Time at) {
  for (const Slice& slice : record.slices) {
    if (at < slice.window.from || at >= slice.window.to) continue;
    switch (slice.phase) {
      case Phase::kAlone:
        return "alone";
      case Phase::kSettling:
        return "settling";
      case Phase::kThrottled:
        return "throttled";
      case Phase::kYieldSettling:
        return "yield_settling";
      case Phase::kYielding:
        return "yielding";
      case Phase::kFixed:
        return "fixed";
      case Phase::kGreedy:
        return "greedy";
      case Phase::kPause:
        return "pause";
    }
  }
  return "pause";
}

}  // namespace

std::string SeriesCsv(const Record& record) {
  std::string csv =
      "seconds,phase,foreground_tps,foreground_p99_ms,backfill_rows_per_s,backfill_busy_s_per_s,"
      "controller_phase,controller_rate,sessions_yielding\n";
  absl::Time from = record.began;
  for (const ControllerSample& sample : record.controller) {
    if (sample.at <= from) continue;
    const load::Window window = {.from = from, .to = sample.at};
    const load::ForegroundStats foreground = record.transactions.Over({window});
    const load::BatchStats batch = record.chunks.Over(window);
    absl::StrAppendFormat(&csv, "%.3f,%s,%.0f,%.1f,%.0f,%.3f,%s,%.4f,%d\n",
                          absl::ToDoubleSeconds(sample.at - record.began),
                          PhaseAt(record, sample.at), foreground.per_second,
                          absl::ToDoubleMilliseconds(foreground.p99), batch.rows_per_second,
                          batch.in_flight, sample.phase, sample.rate, sample.yielding);
    from = sample.at;
  }
  return csv;
}

}  // namespace headgate::demo
