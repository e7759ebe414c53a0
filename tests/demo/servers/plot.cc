#include "tests/demo/servers/plot.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "tests/demo/axis.h"
#include "tests/demo/panel.h"
#include "tests/demo/svg.h"
#include "tests/demo/text.h"

namespace headgate::demo {
namespace {

constexpr double kWidth = 1040;
constexpr double kLeft = 78, kRight = 20, kTop = 150;
constexpr double kPanelHeight = 130, kGap = 20, kBelow = 50;
constexpr double kStep = 0.5;  // seconds
constexpr std::array<const char*, 3> kShades = {"#dbe7f8", "#f8e3c4", "#d9f0dd"};
constexpr char kNobody[] = "#ffffff";

class ServersPlot {
 public:
  explicit ServersPlot(const ServersRecord& record)
      : record_(record),
        x_({.from = 0, .to = record.ended_s, .pixel_from = kLeft, .pixel_to = kWidth - kRight}),
        bottom_(kTop + 2 * static_cast<double>(record.databases.size()) * (kPanelHeight + kGap) -
                kGap),
        svg_(kWidth, bottom_ + kBelow) {}

  std::string Draw() {
    svg_.Text({.x = kLeft,
               .y = 28,
               .text = "Three servers share two databases: what is admitted, against what is due",
               .size = 18,
               .bold = true});
    Legend();
    double top = kTop;
    for (size_t i = 0; i < record_.databases.size(); ++i) {
      const DatabaseRecord& database = record_.databases[i];
      for (const Panel& panel : {Admitted(database), Level(database)}) {
        const PanelPlace place = {.top = top, .bottom = top + kPanelHeight};
        ShadeOwners(i, place);
        DrawPanel(panel, x_, place, svg_);
        top += kPanelHeight + kGap;
      }
    }
    Happenings();
    DrawTimeAxis(x_, bottom_, svg_);
    return svg_.Finish();
  }

 private:
  const char* ShadeOf(const std::string& owner) const {
    const auto found = std::ranges::find(record_.servers, owner);
    if (found == record_.servers.end()) return kNobody;
    return kShades.at(static_cast<size_t>(found - record_.servers.begin()) % kShades.size());
  }

  void Legend() {
    double x = kLeft;
    for (const std::string& server : record_.servers) {
      svg_.Rectangle({x, 42}, {x + 14, 54}, ShadeOf(server));
      svg_.Text({.x = x + 19, .y = 53, .text = absl::StrCat(server, " decides")});
      x += 160;
    }
    svg_.Line({{x, 42}, {x + 14, 42}, {x + 14, 54}, {x, 54}, {x, 42}}, {.colour = "#bbb"});
    svg_.Text({.x = x + 19, .y = 53, .text = "nobody does"});
    x += 115;
    svg_.Line({{x, 48}, {x + 24, 48}}, {.colour = "#777", .dashes = "5 4"});
    svg_.Text({.x = x + 29, .y = 53, .text = "what is due: the rate, and the burst"});
  }

  void ShadeOwners(size_t database, const PanelPlace& place) {
    for (size_t i = 0; i < record_.owners.size(); ++i) {
      const double to_s =
          i + 1 < record_.owners.size() ? record_.owners[i + 1].at_s : record_.ended_s;
      svg_.Rectangle({x_.At(record_.owners[i].at_s), place.top}, {x_.At(to_s), place.bottom},
                     ShadeOf(record_.owners[i].owners[database]));
    }
  }

  // One below the other, so that none covers the next.
  void Happenings() {
    double y = 76;
    for (const Happening& happening : record_.happenings) {
      const double x = x_.At(happening.at_s);
      const bool to_the_left = x > kWidth * .72;
      svg_.Line({{x, y - 4}, {x, bottom_}}, {.colour = "#b03030", .dashes = "2 3"});
      svg_.Text({.x = to_the_left ? x - 5 : x + 5,
                 .y = y,
                 .text = happening.what,
                 .anchor = to_the_left ? "end" : "start",
                 .colour = "#b03030"});
      y += 15;
    }
  }

  Panel Admitted(const DatabaseRecord& database) const {
    Panel panel = {.title = absl::StrCat(database.name, ", rows/s"),
                   .colour = "#1f5fa8",
                   .series = {},
                   .reference = record_.rate};
    auto check = database.checks.begin();
    for (double from = 0; from + kStep <= record_.ended_s; from += kStep) {
      double rows = 0;
      for (; check != database.checks.end() && check->answered_s < from + kStep; ++check) {
        rows += check->cost;
      }
      panel.series.push_back({from + kStep / 2, rows / kStep});
    }
    return panel;
  }

  // A bucket that is filled by what was admitted, and drains at the rate: how much of the burst is
  // in use.
  Panel Level(const DatabaseRecord& database) const {
    Panel panel = {.title = "burst in use, rows",
                   .colour = "#6b3fa0",
                   .series = {},
                   .reference = record_.burst};
    double level = 0;
    double at_s = 0;
    for (const AskedCheck& check : database.checks) {
      level = std::max(0.0, level - record_.rate * (check.answered_s - at_s)) + check.cost;
      at_s = check.answered_s;
      if (check.cost > 0) panel.series.push_back({at_s, level});
    }
    return panel;
  }

  const ServersRecord& record_;
  const Axis x_;
  const double bottom_;
  Svg svg_;
};

}  // namespace

std::string PlotServers(const ServersRecord& record) { return ServersPlot(record).Draw(); }

}  // namespace headgate::demo
