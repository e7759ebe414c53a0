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
constexpr absl::Duration kStep = absl::Milliseconds(500);

struct Look {
  std::string shade;
  std::string name;
};

Look LookOf(Phase phase) {
  switch (phase) {
    case Phase::kAlone:
      return {"#f1f1f1", "alone"};
    case Phase::kSettling:
      return {"#edf8ee", "it finds its rate"};
    case Phase::kThrottled:
      return {"#d9f0dd", "backfill asks Headgate"};
    case Phase::kFixed:
      return {"#dbe7f8", "fixed rates, one by one"};
    case Phase::kGreedy:
      return {"#f9dcd8", "greedy backfill"};
    case Phase::kPause:
      break;
  }
  return {"#ffffff", ""};
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
  Panel rate = {.title = "rate Headgate found, busy s/s",
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
    svg_.Text({.x = kLeft,
               .y = 30,
               .text = "A backfill on a busy PostgreSQL, with and without Headgate",
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
    entry(LookOf(Phase::kAlone).shade, "foreground alone", 140);
    entry(LookOf(Phase::kThrottled).shade, "throttled by Headgate", 165);
    entry(LookOf(Phase::kFixed).shade, "held to a fixed rate", 150);
    entry(LookOf(Phase::kGreedy).shade, "not throttled", 115);
    svg_.Line({{x, 48}, {x + 24, 48}}, {.colour = "#777", .dashes = "5 4"});
    svg_.Text({.x = x + 29, .y = 53, .text = "mean of the foreground alone"});
  }

  void Phases(double bottom) {
    for (const Slice& slice : record_.slices) {
      const load::Window& window = slice.window;
      svg_.Rectangle({At(window.from), kTop}, {At(window.to), bottom}, LookOf(slice.phase).shade);
      if (slice.phase != Phase::kFixed) NamePhase(window, LookOf(slice.phase).name);
    }
    if (const auto fixed = AllFixed()) NamePhase(*fixed, LookOf(Phase::kFixed).name);
  }

  void NamePhase(const load::Window& window, const std::string& name) {
    const double width = At(window.to) - At(window.from);
    if (width < 6.5 * static_cast<double>(name.size())) return;
    svg_.Text({.x = (At(window.from) + At(window.to)) / 2,
               .y = kTop - 8,
               .text = name,
               .size = 11,
               .anchor = "middle"});
  }

  // From the first to the last.
  std::optional<load::Window> AllFixed() const {
    std::optional<load::Window> all;
    for (const Slice& slice : record_.slices) {
      if (slice.phase != Phase::kFixed) continue;
      all = {.from = all ? all->from : slice.window.from, .to = slice.window.to};
    }
    return all;
  }

  double At(absl::Time time) const { return x_.At(SecondsIn(record_, time)); }

  const Record& record_;
  const Axis x_;
  Svg svg_{kWidth, kHeight};
};

}  // namespace

std::string PlotSvg(const Record& record) { return Plot(record).Draw(); }

}  // namespace headgate::demo
