// One panel of a picture: a line, or several, over time, with marks and a dashed reference.
//
// Pure functions.
//
//   const Axis x({.from = 0, .to = 70, .pixel_from = 78, .pixel_to = 1020});
//   DrawPanel({.title = "rows/s", .colour = "#2a7d3b", .series = {...}}, x, {.top = 92, .bottom =
//   242}, svg); DrawTimeAxis(x, 242, svg);
#pragma once

#include <string>
#include <vector>

#include "tests/demo/axis.h"
#include "tests/demo/svg.h"

namespace headgate::demo {

// Measured on both axes; x in seconds since the record began.
using Series = std::vector<Point>;

struct Panel {
  std::string title;  // with its unit
  std::string colour;
  Series series;
  Axis::Scale scale = Axis::Scale::kLinear;
  double least = 0;      // where the axis begins
  double reference = 0;  // a dashed line; 0: none
};

struct PanelPlace {
  double top = 0;
  double bottom = 0;
};

// From one end of the axis of time to the other.
void DrawPanel(const Panel& panel, const Axis& x, const PanelPlace& place, Svg& svg);

void DrawTimeAxis(const Axis& x, double bottom, Svg& svg);

}  // namespace headgate::demo
