#include "tests/demo/display.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/demo/text.h"

namespace headgate::demo {
namespace {

constexpr int kBars = 48;  // of half a second each
constexpr absl::Duration kBar = absl::Milliseconds(500);
// What pgbench and the workers did last is known a little later.
constexpr absl::Duration kLate = absl::Milliseconds(300);

std::vector<load::Window> Bars(const Moment& moment) {
  std::vector<load::Window> windows;
  for (int i = kBars; i > 0; --i) {
    const absl::Time from = moment.now - kLate - i * kBar;
    windows.push_back({.from = from, .to = from + kBar});
  }
  return windows;
}

std::string Found(const ServerView& server) {
  if (!server.agent || !server.agent->yields) return absl::StrFormat("%.3f busy s/s", server.rate);
  return absl::StrFormat("%.2f sessions at once, %d yield", server.rate, server.agent->sessions);
}

bool Asks(Phase phase) {
  return phase == Phase::kSettling || phase == Phase::kThrottled ||
         phase == Phase::kYieldSettling || phase == Phase::kYielding;
}

std::string Controller(const ServerView& server) {
  if (server.phase.empty()) return absl::StrCat("database ", server.health);
  const char* what = server.phase == "rest"    ? "nobody asks"
                     : server.phase == "idle"  ? "no foreground to look after"
                     : server.phase == "pause" ? "measuring the foreground without the backfill"
                                               : "measuring the foreground with the backfill";
  std::string line = absl::StrCat(Found(server), ", ", what);
  if (server.speed < 1 && !server.signal.empty()) {
    absl::StrAppendFormat(&line, "; slowed to %.2f by %s", server.speed, server.signal);
  }
  return line;
}

std::string Now(const Moment& moment, const load::ForegroundStats& foreground,
                const load::BatchStats& batch) {
  std::string line =
      absl::StrFormat("%5.1f s  %-28s %9s TPS  p99 %7s ms", absl::ToDoubleSeconds(moment.elapsed),
                      NameOf(moment.slice), Whole(foreground.per_second), Millis(foreground.p99));
  if (batch.rows_per_second > 0) {
    absl::StrAppend(&line, "  backfill ", Whole(batch.rows_per_second), " rows/s");
  }
  if (Asks(moment.slice.phase)) {
    absl::StrAppend(&line, "  ", Found(moment.server), " (", moment.server.phase, ")");
  }
  return line;
}

std::vector<std::string> PanelLines(const Moment& moment, const load::ForegroundStats& foreground,
                                    const load::BatchStats& batch) {
  std::vector<double> tps, rows;
  for (const load::Window& window : Bars(moment)) {
    tps.push_back(moment.transactions.Over({window}).per_second);
    rows.push_back(moment.chunks.Over(window).rows_per_second);
  }
  return {
      Progress(moment.elapsed, moment.total), absl::StrCat("now         ", NameOf(moment.slice)),
      absl::StrFormat("foreground  %s %s TPS, p99 %s ms", Sparkline(tps),
                      Whole(foreground.per_second), Millis(foreground.p99)),
      absl::StrFormat("backfill    %s %s rows/s", Sparkline(rows), Whole(batch.rows_per_second)),
      absl::StrCat("headgate    ", Controller(moment.server))};
}

}  // namespace

std::string NameOf(const Slice& slice) {
  switch (slice.phase) {
    case Phase::kAlone:
      return "foreground alone";
    case Phase::kSettling:
      return "rate alone, to be found";
    case Phase::kThrottled:
      return "rate alone";
    case Phase::kYieldSettling:
      return "yield and rate, to be found";
    case Phase::kYielding:
      return "yield and rate";
    case Phase::kFixed:
      return absl::StrCat("backfill, ", Whole(slice.fixed_rate), " rows/s");
    case Phase::kGreedy:
      return "greedy backfill";
    case Phase::kPause:
      break;
  }
  return "(settling)";
}

void Display::Say(const std::string& line) { screen_.Say(line); }

void Display::Show(const Moment& moment) {
  constexpr absl::Duration kNewest = absl::Seconds(1);
  constexpr absl::Duration kEvery = absl::Seconds(2);
  const bool new_phase = moment.slice.phase != last_phase_;
  last_phase_ = moment.slice.phase;
  if (!screen_.is_terminal() && !new_phase && moment.now - last_line_ < kEvery) return;
  last_line_ = moment.now;
  const absl::Time to = moment.now - kLate;
  const load::Window newest = {.from = to - kNewest, .to = to};
  const load::ForegroundStats foreground = moment.transactions.Over({newest});
  const load::BatchStats batch = moment.chunks.Over(newest);
  if (screen_.is_terminal()) return screen_.Draw(PanelLines(moment, foreground, batch));
  screen_.Say(Now(moment, foreground, batch));
}

}  // namespace headgate::demo
