#include "tests/demo/display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/demo/text.h"

namespace headgate::demo {
namespace {

constexpr int kBars = 48;  // of half a second each
constexpr absl::Duration kBar = absl::Milliseconds(500);
// What pgbench and the workers did last is known a little later.
constexpr absl::Duration kLate = absl::Milliseconds(300);

bool HasUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

std::string Sparkline(const std::vector<double>& values) {
  static const bool utf8 = HasUtf8();
  constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 9> kAscii = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
  const double most = std::max(1.0, *std::max_element(values.begin(), values.end()));
  std::string line;
  for (const double value : values) {
    auto level = static_cast<size_t>(value / most * 8 + .5);
    if (value > 0) level = std::max<size_t>(level, 1);
    line += (utf8 ? kBlocks : kAscii).at(level);
  }
  return line;
}

std::vector<load::Window> Bars(const Moment& moment) {
  std::vector<load::Window> windows;
  for (int i = kBars; i > 0; --i) {
    const absl::Time from = moment.now - kLate - i * kBar;
    windows.push_back({.from = from, .to = from + kBar});
  }
  return windows;
}

std::string Controller(const ServerView& server) {
  if (server.phase.empty()) return absl::StrCat("database ", server.health);
  const char* what = server.phase == "rest"    ? "nobody asks"
                     : server.phase == "idle"  ? "no foreground to look after"
                     : server.phase == "pause" ? "measuring the foreground without the backfill"
                                               : "measuring the foreground with the backfill";
  std::string line = absl::StrFormat("%.3f busy s/s, %s", server.rate, what);
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
  if (moment.slice.phase == Phase::kThrottled) {
    absl::StrAppendFormat(&line, "  rate %.3f (%s)", moment.server.rate, moment.server.phase);
  }
  return line;
}

std::string Progress(const Moment& moment) {
  constexpr int kWidth = 30;
  const double share = std::clamp(absl::FDivDuration(moment.elapsed, moment.total), 0.0, 1.0);
  std::string bar(static_cast<size_t>(share * kWidth), '=');
  bar.resize(kWidth, ' ');
  return absl::StrFormat("[%s] %.0f of about %.0f s", bar, absl::ToDoubleSeconds(moment.elapsed),
                         absl::ToDoubleSeconds(moment.total));
}

std::vector<std::string> PanelLines(const Moment& moment, const load::ForegroundStats& foreground,
                                    const load::BatchStats& batch) {
  std::vector<double> tps, rows;
  for (const load::Window& window : Bars(moment)) {
    tps.push_back(moment.transactions.Over({window}).per_second);
    rows.push_back(moment.chunks.Over(window).rows_per_second);
  }
  return {
      Progress(moment), absl::StrCat("now         ", NameOf(moment.slice)),
      absl::StrFormat("foreground  %s %s TPS, p99 %s ms", Sparkline(tps),
                      Whole(foreground.per_second), Millis(foreground.p99)),
      absl::StrFormat("backfill    %s %s rows/s", Sparkline(rows), Whole(batch.rows_per_second)),
      absl::StrCat("headgate    ", Controller(moment.server))};
}

int TerminalWidth(FILE* out) {
  winsize size = {};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// Bytes that continue a character take no room.
std::string CutTo(std::string_view text, int width) {
  std::string cut;
  for (const char byte : text) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
    if (!continues && width-- <= 0) break;
    cut += byte;
  }
  return cut;
}

}  // namespace

std::string NameOf(const Slice& slice) {
  switch (slice.phase) {
    case Phase::kAlone:
      return "foreground alone";
    case Phase::kThrottled:
      return "backfill asks Headgate";
    case Phase::kFixed:
      return absl::StrCat("backfill, ", Whole(slice.fixed_rate), " rows/s");
    case Phase::kGreedy:
      return "greedy backfill";
    case Phase::kPause:
      break;
  }
  return "(settling)";
}

Display::Display(FILE* out) : out_(out), is_terminal_(isatty(fileno(out)) == 1) {}

void Display::Say(const std::string& line) {
  Close();
  absl::FPrintF(out_, "%s\n", line);
  fflush(out_);
}

void Display::Show(const Moment& moment) {
  constexpr absl::Duration kNewest = absl::Seconds(1);
  constexpr absl::Duration kEvery = absl::Seconds(2);
  const bool new_phase = moment.slice.phase != last_phase_;
  last_phase_ = moment.slice.phase;
  if (!is_terminal_ && !new_phase && moment.now - last_line_ < kEvery) return;
  last_line_ = moment.now;
  const absl::Time to = moment.now - kLate;
  const load::Window newest = {.from = to - kNewest, .to = to};
  const load::ForegroundStats foreground = moment.transactions.Over({newest});
  const load::BatchStats batch = moment.chunks.Over(newest);
  if (is_terminal_) return Draw(PanelLines(moment, foreground, batch));
  absl::FPrintF(out_, "%s\n", Now(moment, foreground, batch));
  fflush(out_);
}

// Over what was drawn before, each line to its end, so that nothing flickers.
void Display::Draw(const std::vector<std::string>& lines) {
  std::string all;
  if (drawn_ > 0) absl::StrAppendFormat(&all, "\x1b[%dA", drawn_);
  const int width = TerminalWidth(out_) - 1;
  for (const std::string& line : lines) absl::StrAppend(&all, CutTo(line, width), "\x1b[K\n");
  absl::FPrintF(out_, "%s", all);
  fflush(out_);
  drawn_ = static_cast<int>(lines.size());
}

void Display::Close() { drawn_ = 0; }

}  // namespace headgate::demo
