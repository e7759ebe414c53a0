// Svg: a picture made of rectangles, lines and text, as the text of an SVG file.
//
// Coordinates are pixels from the upper left corner. Colours are those of CSS. Thread-compatible.
//
//   Svg svg(900, 400);
//   svg.Text({.x = 20, .y = 30, .text = "throughput", .size = 14});
//   std::ofstream("plot.svg") << svg.Finish();
#pragma once

#include <string>
#include <vector>

namespace headgate::demo {

struct Point {
  double x = 0;
  double y = 0;
};

struct Label {
  double x = 0;
  double y = 0;  // of the baseline
  std::string text = {};
  double size = 12;
  std::string anchor = "start";  // or "middle", "end"
  std::string colour = "#333";
  bool bold = false;
  bool upwards = false;  // turned by a quarter, about its anchor
};

struct Stroke {
  std::string colour = "#333";
  double width = 1;
  std::string dashes = {};  // such as "4 3"; empty: solid
};

class Svg {
 public:
  Svg(double width, double height);

  void Rectangle(const Point& corner, const Point& opposite, const std::string& colour);
  void Line(const std::vector<Point>& points, const Stroke& stroke);
  void Text(const Label& label);

  std::string Finish() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

}  // namespace headgate::demo
