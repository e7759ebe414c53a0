#include "tests/demo/plot.h"

#include <optional>
#include <vector>

#include "tests/demo/axis.h"
#include "tests/demo/panel.h"
#include "tests/demo/results.h"
#include "tests/demo/svg.h"

namespace headgate::demo {
namespace {

constexpr double kWidth = 1040, kHeight = 820;
constexpr double kLeft = 78, kRight = 20, kTop = 92;
constexpr double kPanelHeight = 150, kGap = 22;
constexpr double kLetter = 6;  // a letter's width, at most
constexpr absl::Duration kStep = absl::Milliseconds(500);

std::string ShadeOf(Phase phase) {
  switch (phase) {
    case Phase::kAlone:
      return "#f1f1f1";
    case Phase::kSettling:
      return "#edf8ee";
    case Phase::kThrottled:
      return "#d3edd7";
    case Phase::kYieldSettling:
      return "#fdf6e0";
    case Phase::kYielding:
      return "#fae8b4";
    case Phase::kFixed:
      return "#dbe7f8";
    case Phase::kGreedy:
      return "#f9dcd8";
    case Phase::kPause:
      break;
  }
  return "#ffffff";
}

// Turns of the same kind, with what is between them.
struct Group {
  Phase first = Phase::kPause;  // either of the two
  Phase second = Phase::kPause;
  std::string name;
};

std::vector<Group> Groups() {
  return {{Phase::kSettling, Phase::kThrottled, "rate alone"},
          {Phase::kYieldSettling, Phase::kYielding, "yield and rate"},
          {Phase::kFixed, Phase::kFixed, "fixed rates"},
          {Phase::kGreedy, Phase::kGreedy, "greedy"}};
}

double SecondsIn(const Record& record, absl::Time at) {
  return absl::ToDoubleSeconds(at - record.began);
}

std::vector<load::Window> Steps(const Record& record) {
  std::vector<load::Window> steps;
  const absl::Time end = record.slices.back().window.to;
  for (absl::Time from = record.began; from + kStep <= end; from += kStep) {
    steps.push_back({.from = from, .to = from + kStep});
  }
  return steps;
}

std::vector<Panel> Panels(const Record& record) {
  const Results results = Evaluate(record);
  Panel tps = {.title = "foreground, transactions/s",
               .colour = "#1f5fa8",
               .series = {},
               .reference = results.alone.per_second};
  Panel p99 = {.title = "foreground p99, ms",
               .colour = "#b3541e",
               .series = {},
               .scale = Axis::Scale::kLogarithmic,
               .least = 1,
               .reference = absl::ToDoubleMilliseconds(results.alone.p99)};
  Panel rows = {.title = "backfill, rows/s",
                .colour = "#2a7d3b",
                .series = {},
                .scale = Axis::Scale::kLogarithmic,
                .least = 100};
  // Busy seconds a second are sessions on average.
  Panel rate = {.title = "sessions at work, found",
                .colour = "#6b3fa0",
                .series = {},
                .scale = Axis::Scale::kLogarithmic,
                .least = 0.01};
  for (const load::Window& step : Steps(record)) {
    const double x = SecondsIn(record, step.from + kStep / 2);
    const load::ForegroundStats foreground = record.transactions.Over({step});
    tps.series.push_back({x, foreground.per_second});
    if (foreground.count > 0) p99.series.push_back({x, absl::ToDoubleMilliseconds(foreground.p99)});
    rows.series.push_back({x, record.chunks.Over(step).rows_per_second});
  }
  for (const ControllerSample& sample : record.controller) {
    rate.series.push_back({SecondsIn(record, sample.at), sample.rate});
  }
  return {tps, p99, rows, rate};
}

class Plot {
 public:
  explicit Plot(const Record& record)
      : record_(record),
        x_({.from = 0,
            .to = SecondsIn(record, record.slices.back().window.to),
            .pixel_from = kLeft,
            .pixel_to = kWidth - kRight}) {}

  std::string Draw() {
    svg_.Text(
        {.x = kLeft,
         .y = 30,
         .text = "One backfill on a busy PostgreSQL: by a rate alone, yielding as well, and greedy",
         .size = 18,
         .bold = true});
    Legend();
    const std::vector<Panel> panels = Panels(record_);
    double top = kTop;
    const double bottom = kTop + static_cast<double>(panels.size()) * (kPanelHeight + kGap) - kGap;
    Phases(bottom);
    for (const Panel& panel : panels) {
      DrawPanel(panel, x_, {.top = top, .bottom = top + kPanelHeight}, svg_);
      top += kPanelHeight + kGap;
    }
    DrawTimeAxis(x_, bottom, svg_);
    return svg_.Finish();
  }

 private:
  void Legend() {
    double x = kLeft;
    const auto entry = [&](const std::string& shade, const std::string& text, double width) {
      svg_.Rectangle({x, 42}, {x + 14, 54}, shade);
      svg_.Text({.x = x + 19, .y = 53, .text = text});
      x += width;
    };
    entry(ShadeOf(Phase::kAlone), "foreground alone", 130);
    entry(ShadeOf(Phase::kThrottled), "rate alone", 95);
    entry(ShadeOf(Phase::kYielding), "yield and rate", 115);
    entry(ShadeOf(Phase::kYieldSettling), "paler: to be found", 145);
    entry(ShadeOf(Phase::kFixed), "fixed rates", 95);
    entry(ShadeOf(Phase::kGreedy), "greedy", 75);
    svg_.Line({{x, 48}, {x + 24, 48}}, {.colour = "#777", .dashes = "5 4"});
    svg_.Text({.x = x + 29, .y = 53, .text = "foreground alone, mean"});
  }

  void Phases(double bottom) {
    for (const Slice& slice : record_.slices) {
      const load::Window& window = slice.window;
      svg_.Rectangle({At(window.from), kTop}, {At(window.to), bottom}, ShadeOf(slice.phase));
    }
    for (const Group& group : Groups()) Name(group);
  }

  // From its first turn to its last.
  void Name(const Group& group) {
    std::optional<load::Window> all;
    for (const Slice& slice : record_.slices) {
      if (slice.phase != group.first && slice.phase != group.second) continue;
      all = {.from = all ? all->from : slice.window.from, .to = slice.window.to};
    }
    if (!all) return;
    const double left = At(all->from), right = At(all->to);
    svg_.Line({{left, kTop - 4}, {right, kTop - 4}}, {.colour = "#999"});
    if (right - left < kLetter * static_cast<double>(group.name.size())) return;
    svg_.Text({.x = (left + right) / 2, .y = kTop - 9, .text = group.name, .anchor = "middle"});
  }

  double At(absl::Time time) const { return x_.At(SecondsIn(record_, time)); }

  const Record& record_;
  const Axis x_;
  Svg svg_{kWidth, kHeight};
};

}  // namespace

std::string PlotSvg(const Record& record) { return Plot(record).Draw(); }

}  // namespace headgate::demo
