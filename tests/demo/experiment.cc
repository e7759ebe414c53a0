#include "tests/demo/experiment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "tests/demo/foreground.h"
#include "tests/demo/report.h"
#include "tests/demo/results.h"

namespace headgate::demo {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(250);
constexpr int64_t kFirstRows = 500;  // of a chunk
constexpr double kLeastFixed = 200;  // rows a second
constexpr double kMaxFactor = 64;    // of a fixed rate: beyond it is the greedy backfill

absl::Time WallTime() { return SystemClock::ReadKernel().wall(); }

}  // namespace

absl::Status Experiment::Run() {
  absl::StatusOr<std::unique_ptr<load::Pgbench>> foreground =
      StartForeground(stage_, interrupt_, timing_.warm_up);
  if (!foreground.ok()) return foreground.status();
  foreground_ = *std::move(foreground);
  absl::StatusOr<std::unique_ptr<Throttle>> throttle = Throttle::Create(headgated_.address());
  if (!throttle.ok()) return throttle.status();
  record_.began = WallTime();
  absl::Status status = Hold({.phase = Phase::kPause}, timing_.pause);
  if (status.ok()) status = Hold({.phase = Phase::kAlone}, timing_.alone);
  if (status.ok()) status = Throttled(**throttle, rate_alone_);
  if (status.ok()) status = Yielding(**throttle);
  if (status.ok()) status = Fixed();
  if (status.ok()) status = Backfill({{Phase::kGreedy, timing_.greedy}}, GreedyBatch());
  if (absl::Status stopped = foreground_->Stop(); status.ok()) status = stopped;
  record_.checks = (*throttle)->counts();
  record_.transactions = foreground_->transactions();
  return status;
}

load::BatchOptions Experiment::GreedyBatch() const {
  return {.dsn = stage_.batch_dsn(), .table_rows = Stage::kRows};
}

// Small chunks at first, as SDKs begin: what is better it is told.
absl::Status Experiment::Throttled(Throttle& throttle, Way& way) {
  const PhaseLength phases[] = {{way.settling, timing_.settling}, {way.settled, timing_.throttled}};
  absl::Status status;
  for (int i = 0; i < timing_.throttled_phases && status.ok(); ++i) {
    load::BatchOptions options = GreedyBatch();
    options.chunk_rows = way.chunk_rows > 0 ? way.chunk_rows : kFirstRows;
    options.ask = throttle.Asker();
    status = Backfill(absl::MakeConstSpan(phases).subspan(i == 0 ? 0 : 1), options);
    way.chunk_rows = throttle.chunk_rows();
    if (status.ok()) status = Hold({.phase = Phase::kAlone}, timing_.alone);
  }
  return status;
}

absl::Status Experiment::Yielding(Throttle& throttle) {
  absl::StatusOr<Agent::Started> started =
      Agent::Start(stage_, headgated_, [this] { return Hold({.phase = Phase::kPause}, kTick); });
  if (!started.ok()) return started.status();
  record_.yields_by = started->means;
  record_.yields_not = started->why_not;
  agent_ = std::move(started->agent);
  if (agent_ == nullptr) {
    display_.Say(NothingYields(record_.yields_not));
    return absl::OkStatus();
  }
  display_.Say(absl::StrCat("sessions of the backfill yield from now on, by ", record_.yields_by));
  absl::Status status = Throttled(throttle, yielding_);
  if (absl::Status stopped = agent_->Stop(); status.ok()) status = stopped;
  agent_ = nullptr;
  if (status.ok() && Evaluate(record_).yielding_sessions == 0) {
    status = absl::InternalError("no session of the backfill yielded, though the agent was there");
  }
  return status;
}

// With chunks of the size that Headgate advised: a fixed rate shall lose by its rate alone. All
// rates in turn, so that the machine's drift favours none, and higher ones while the foreground
// bears them.
absl::Status Experiment::Fixed() {
  const double unit = std::max(Evaluate(record_).throttled.batch.rows_per_second, kLeastFixed);
  load::Pace pace(0);
  load::BatchOptions options = GreedyBatch();
  if (rate_alone_.chunk_rows > 0) options.chunk_rows = rate_alone_.chunk_rows;
  options.ask = pace.Asker();
  absl::StatusOr<std::unique_ptr<load::BatchWorkers>> batch =
      load::BatchWorkers::Start(options, &record_.chunks);
  if (!batch.ok()) return batch.status();
  batch_ = *std::move(batch);
  absl::Status status = TryRates(pace, unit, kFixedRates);
  for (double factor = 2 * kFixedRates.back();
       status.ok() && Evaluate(record_).best_fixed_is_higher && factor <= kMaxFactor; factor *= 2) {
    status = TryRates(pace, unit, {factor});
  }
  if (absl::Status ended = EndBackfill(); status.ok()) status = ended;
  return status;
}

absl::Status Experiment::TryRates(load::Pace& pace, double unit, absl::Span<const double> factors) {
  absl::Status status;
  for (int round = 0; round < timing_.rounds; ++round) {
    for (const double factor : factors) {
      pace.Set(factor * unit);
      const Slice slice = {.phase = Phase::kFixed, .fixed_rate = factor * unit};
      if (status.ok()) status = Hold(slice, timing_.fixed);
      pace.Set(0);
      if (status.ok()) status = Hold({.phase = Phase::kAlone}, timing_.fixed);
    }
  }
  record_.transactions = foreground_->transactions();
  return status;
}

absl::Status Experiment::Backfill(absl::Span<const PhaseLength> phases,
                                  const load::BatchOptions& options) {
  absl::StatusOr<std::unique_ptr<load::BatchWorkers>> batch =
      load::BatchWorkers::Start(options, &record_.chunks);
  if (!batch.ok()) return batch.status();
  batch_ = *std::move(batch);
  absl::Status status;
  for (const PhaseLength& next : phases) {
    if (status.ok()) status = Hold({.phase = next.phase}, next.length);
  }
  if (absl::Status ended = EndBackfill(); status.ok()) status = ended;
  return status.ok() ? Hold({.phase = Phase::kPause}, timing_.pause) : status;
}

absl::Status Experiment::EndBackfill() {
  absl::Status status = batch_->Stop();
  batch_ = nullptr;
  return status;
}

absl::Status Experiment::Hold(const Slice& slice, absl::Duration length) {
  Slice held = slice;
  held.window.from = WallTime();
  const absl::Time end = held.window.from + length;
  while (WallTime() < end) {
    held.window.to = WallTime();
    if (absl::Status status = Watch(held); !status.ok()) return status;
    absl::Status status = interrupt_.Wait(std::min(kTick, end - WallTime()));
    if (!status.ok()) return status;
  }
  held.window.to = WallTime();
  if (absl::Status status = Watch(held); !status.ok()) return status;
  record_.slices.push_back(held);
  return absl::OkStatus();
}

// Everything must go on running, or the figures mean nothing.
absl::Status Experiment::Watch(const Slice& slice) {
  if (absl::Status status = foreground_->Poll(); !status.ok()) return status;
  if (batch_ != nullptr) {
    if (absl::Status status = batch_->Health(); !status.ok()) return status;
  }
  if (agent_ != nullptr) {
    if (absl::Status status = agent_->Health(); !status.ok()) return status;
  }
  absl::StatusOr<ServerView> view = headgated_.View();
  if (absl::IsDeadlineExceeded(view.status())) return absl::OkStatus();  // there is a next time
  if (!view.ok()) return view.status();
  record_.controller.push_back({.at = WallTime(),
                                .rate = view->rate,
                                .phase = view->phase,
                                .yielding = view->agent ? view->agent->sessions : 0});
  display_.Show({.now = WallTime(),
                 .elapsed = WallTime() - record_.began,
                 .total = timing_.total(),
                 .slice = slice,
                 .transactions = foreground_->transactions(),
                 .chunks = record_.chunks,
                 .server = *view});
  return absl::OkStatus();
}

}  // namespace headgate::demo
