#include "client/cli/log/heat_strip.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/log/sums_text.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/time_style.h"
#include "client/cli/output/value_text.h"
#include "common/share_text.h"

namespace headgate::cli {
namespace {

constexpr size_t kShareColumns = 8;  // "  >99 %" and one to spare
constexpr size_t kGap = 2;
constexpr size_t kTickColumns = 7;  // "07:00" and blanks
constexpr size_t kLongTickColumns = 10;
constexpr int64_t kMaxCells = 1000;

// The lengths of steps and ticks, in numbers that people find round.
constexpr std::array<int, 22> kRoundSeconds = {
    10,   20,   30,    60,    120,   180,   300,   600,   900,    1200,   1800,
    3600, 7200, 10800, 14400, 21600, 28800, 43200, 86400, 172800, 345600, 604800};

size_t MaxLabelColumns(size_t columns) { return columns * 2 / 5; }

absl::Duration RoundAtLeast(absl::Duration duration, absl::Duration multiple_of) {
  for (const int seconds : kRoundSeconds) {
    const absl::Duration round = absl::Seconds(seconds);
    if (round >= duration && round % multiple_of == absl::ZeroDuration()) return round;
  }
  return absl::Ceil(duration, absl::Hours(24));
}

struct Heat {
  const char* sign;
  Paint paint;
};
Heat HeatOf(double share) {
  if (share <= 0) return {"·", Paint::kGood};
  if (share <= 0.25) return {"░", Paint::kWarn};
  if (share <= 0.5) return {"▒", Paint::kWarn};
  if (share <= 0.75) return {"▓", Paint::kBad};
  return {"█", Paint::kBad};
}

struct Count {
  int64_t checks = 0;
  int64_t denied = 0;
  absl::Duration held;  // in which at least one Check waited

  bool empty() const { return checks == 0 && held <= absl::ZeroDuration(); }
  void Add(const v1::LogSum& sum) {
    checks += Checks(sum);
    denied += sum.denied();
    held += FromProto(sum.waiting().held());
  }
  // Of its Checks that were denied, or of the time that was waited, whichever is more.
  double Share(absl::Duration time) const {
    const double denials =
        checks == 0 ? 0 : static_cast<double>(denied) / static_cast<double>(checks);
    return std::max(denials, std::min(absl::FDivDuration(held, time), 1.0));
  }
};

struct Line {
  std::string who;
  Count all;
  std::vector<Count> cells;
};

// Cuts in the middle: the beginning of an identity says which one it is, and its root whose.
std::string Label(const std::string& who, size_t columns) {
  if (DisplayWidth(who) <= columns) return who;
  const size_t colon = who.rfind(':');
  const std::string root = colon == std::string::npos ? "" : who.substr(colon);
  const size_t root_columns = DisplayWidth(root);
  constexpr size_t kLeast = 4;  // of the beginning, with the sign
  if (root.empty()) return absl::StrCat(Fitted(who, columns - 1), "…");
  if (root_columns + kLeast <= columns) {
    return absl::StrCat(Fitted(who, columns - root_columns - 1), "…", root);
  }
  return absl::StrCat("…", Fitted(root, columns - 2), "…");
}

class Strips {
 public:
  Strips(const v1::QueryThrottleLogResponse& sums, const HeatOptions& options)
      : options_(options),
        // Steps begin where a whole number of them has passed since 1970.
        from_(absl::UnixEpoch() +
              absl::Floor(FromProto(sums.from()) - absl::UnixEpoch(), options.step)) {
    const absl::Duration span = FromProto(sums.to()) - from_;
    cells_ = static_cast<size_t>(std::max<int64_t>(
        absl::ToInt64Seconds(absl::Ceil(span, options.step)) / absl::ToInt64Seconds(options.step),
        1));
    std::map<std::string, Line> by_identity;
    for (const v1::LogSum& sum : sums.sums()) Add(sum, by_identity[sum.identity()]);
    for (auto& [who, line] : by_identity) {
      line.who = Escaped(who);
      lines_.push_back(std::move(line));
    }
    std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
      // As the server has it, a denial counts as a second.
      return a.all.held + absl::Seconds(a.all.denied) > b.all.held + absl::Seconds(b.all.denied);
    });
    hidden_ = lines_.size() - std::min(lines_.size(), static_cast<size_t>(options.most));
    lines_.resize(lines_.size() - hidden_);
    for (const Line& line : lines_) label_ = std::max(label_, DisplayWidth(line.who));
    label_ = std::min(label_, MaxLabelColumns(options.columns));
  }

  std::string Text(Colours colours) const {
    std::string text = Axis();
    for (const Line& line : lines_) absl::StrAppend(&text, Strip(line, colours), "\n");
    if (hidden_ > 0) absl::StrAppend(&text, "and ", hidden_, " more\n");
    return text;
  }

 private:
  void Add(const v1::LogSum& sum, Line& line) const {
    line.cells.resize(cells_);
    absl::Duration rest = FromProto(sum.from()) - from_;
    const int64_t place = absl::IDivDuration(rest, options_.step, &rest);
    line.all.Add(sum);
    if (place < 0 || place >= static_cast<int64_t>(cells_)) return;
    line.cells[static_cast<size_t>(place)].Add(sum);
  }

  // A line of times, each above the cell in which it begins. They are as round as there is room
  // for.
  std::string Axis() const {
    absl::Duration tick = RoundAtLeast(options_.step * kTickColumns, options_.step);
    if (tick < absl::Minutes(1)) {
      tick = RoundAtLeast(options_.step * kLongTickColumns, options_.step);
    }
    const char* format = tick < absl::Minutes(1) ? "%H:%M:%S" : "%H:%M";
    const auto day_of = [this](absl::Time at) { return absl::ToCivilDay(at, options_.zone); };
    const bool dates = day_of(from_) != day_of(from_ + options_.step * (cells_ - 1));
    std::string axis(label_ + kGap, ' ');
    size_t free_from = 0;
    for (size_t i = 0; i < cells_; ++i) {
      const absl::Time at = from_ + options_.step * i;
      const absl::Duration local =
          at - absl::UnixEpoch() + absl::Seconds(options_.zone.At(at).offset);
      if (local % tick >= options_.step || i < free_from) continue;
      axis.resize(label_ + kGap + i, ' ');
      // Where there are several days, each begins with its date. The heading has the first day's
      // date.
      const bool begins_day = dates && local % absl::Hours(24) < options_.step;
      absl::StrAppend(&axis, absl::FormatTime(begins_day ? "%m-%d" : format, at, options_.zone));
      free_from = i + kTickColumns;
    }
    return axis.size() > label_ + kGap ? axis + "\n" : "";
  }

  std::string Strip(const Line& line, Colours colours) const {
    const std::string label = Label(line.who, label_);
    std::string text = absl::StrCat(label, std::string(label_ - DisplayWidth(label) + kGap, ' '));
    std::string run;
    Paint paint = Paint::kPlain;
    for (const Count& cell : line.cells) {
      const Heat heat = cell.empty() ? Heat{" ", Paint::kPlain} : HeatOf(cell.Share(options_.step));
      if (heat.paint != paint) {
        absl::StrAppend(&text, Painted(std::exchange(run, ""), paint, colours));
        paint = heat.paint;
      }
      run += heat.sign;
    }
    absl::StrAppend(&text, Painted(run, paint, colours));
    if (line.all.empty()) return text;
    const double share = line.all.Share(options_.step * cells_);
    const std::string percent = RoundShareText(share);
    return absl::StrCat(text, std::string(kShareColumns - percent.size(), ' '),
                        Painted(percent, PaintOfShare(share), colours));
  }

  const HeatOptions options_;
  const absl::Time from_;
  size_t cells_ = 1;
  std::vector<Line> lines_;
  size_t hidden_ = 0;
  size_t label_ = 0;
};

}  // namespace

absl::Duration HeatStep(absl::Duration span, LogAge age, size_t columns) {
  const size_t cells = columns - MaxLabelColumns(columns) - kGap - kShareColumns;
  // One cell is kept free, because the first and the last step are seldom whole.
  return RoundAtLeast(span / static_cast<int64_t>(cells - 1),
                      age == LogAge::kCoarse ? absl::Minutes(5) : absl::Seconds(10));
}

absl::Status CheckHeat(absl::Duration span, LogAge age, const HeatOptions& options) {
  const int64_t cells = absl::IDivDuration(span, options.step, &span);
  if (cells <= kMaxCells) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--by: step=", ShortDuration(options.step), " makes strips of ", cells, " cells; at most ",
      kMaxCells, ". step=", ShortDuration(HeatStep(options.step * cells, age, options.columns)),
      " fits in this window"));
}

std::string HeatText(const v1::QueryThrottleLogResponse& sums, const HeatOptions& options,
                     Colours colours) {
  const std::string span = SpanText(FromProto(sums.from()), FromProto(sums.to()), options.zone);
  const std::string waiting = WaitingText(sums.waiting_checks());
  if (sums.sums().empty()) return absl::StrCat(span, ": no such Check is in the log.\n", waiting);
  const std::string what = absl::StrCat(span, ", ", ShortDuration(options.step), " a cell:");
  constexpr char kLegend[] = "· not held back, ░ up to 25 %, ▒ 50 %, ▓ 75 %, █ more";
  const bool fits = DisplayWidth(what) + 1 + DisplayWidth(kLegend) <= options.columns;
  return absl::StrCat(Fitted(what, options.columns), fits ? " " : "\n",
                      Fitted(kLegend, options.columns), "\n\n", Strips(sums, options).Text(colours),
                      waiting);
}

}  // namespace headgate::cli
