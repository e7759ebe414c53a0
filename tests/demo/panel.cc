#include "tests/demo/panel.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "tests/demo/text.h"

namespace headgate::demo {

void DrawPanel(const Panel& panel, const Axis& x, const PanelPlace& place, Svg& svg) {
  double most = std::max(panel.reference, panel.least * 10);
  for (const Point& point : panel.series) most = std::max(most, point.y);
  const Axis y({.from = panel.least,
                .to = most * 1.05,
                .pixel_from = place.bottom,
                .pixel_to = place.top,
                .scale = panel.scale});
  for (const double mark : y.Marks()) {
    svg.Line({{x.first_pixel(), y.At(mark)}, {x.last_pixel(), y.At(mark)}},
             {.colour = "#d5d5d5", .width = .6});
    svg.Text({.x = x.first_pixel() - 6,
              .y = y.At(mark) + 4,
              .text = mark < 1 && mark > 0 ? absl::StrFormat("%g", mark) : Whole(mark),
              .size = 11,
              .anchor = "end"});
  }
  svg.Line({{x.first_pixel(), place.top},
            {x.first_pixel(), place.bottom},
            {x.last_pixel(), place.bottom}},
           {});
  if (panel.reference > 0) {
    svg.Line({{x.first_pixel(), y.At(panel.reference)}, {x.last_pixel(), y.At(panel.reference)}},
             {.colour = "#777", .dashes = "5 4"});
  }
  Series pixels;
  for (const Point& point : panel.series) pixels.push_back({x.At(point.x), y.At(point.y)});
  svg.Line(pixels, {.colour = panel.colour, .width = 1.6});
  svg.Text({.x = 16,
            .y = (place.top + place.bottom) / 2,
            .text = panel.title,
            .anchor = "middle",
            .colour = panel.colour,
            .bold = true,
            .upwards = true});
}

void DrawTimeAxis(const Axis& x, double bottom, Svg& svg) {
  for (const double mark : x.Marks()) {
    svg.Line({{x.At(mark), bottom}, {x.At(mark), bottom + 4}}, {});
    svg.Text(
        {.x = x.At(mark), .y = bottom + 17, .text = Whole(mark), .size = 11, .anchor = "middle"});
  }
  svg.Text({.x = (x.first_pixel() + x.last_pixel()) / 2,
            .y = bottom + 34,
            .text = "time, s",
            .anchor = "middle"});
}

}  // namespace headgate::demo
