#include "tests/demo/svg.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace headgate::demo {

Svg::Svg(double width, double height) {
  absl::StrAppendFormat(&body_,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                        "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\">\n",
                        width, height, width, height);
  Rectangle({0, 0}, {width, height}, "white");
}

void Svg::Rectangle(const Point& corner, const Point& opposite, const std::string& colour) {
  absl::StrAppendFormat(
      &body_, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
      std::min(corner.x, opposite.x), std::min(corner.y, opposite.y),
      std::abs(opposite.x - corner.x), std::abs(opposite.y - corner.y), colour);
}

void Svg::Line(const std::vector<Point>& points, const Stroke& stroke) {
  std::string path;
  for (const Point& point : points) absl::StrAppendFormat(&path, "%.1f,%.1f ", point.x, point.y);
  absl::StrAppendFormat(&body_,
                        "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" "
                        "stroke-linejoin=\"round\" stroke-dasharray=\"%s\"/>\n",
                        path, stroke.colour, stroke.width,
                        stroke.dashes.empty() ? "none" : stroke.dashes);
}

void Svg::Text(const Label& label) {
  std::string turn;
  if (label.upwards)
    turn = absl::StrFormat(" transform=\"rotate(-90 %.1f %.1f)\"", label.x, label.y);
  const std::string text =
      absl::StrReplaceAll(label.text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
  absl::StrAppendFormat(&body_,
                        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\" "
                        "fill=\"%s\"%s%s>%s</text>\n",
                        label.x, label.y, label.size, label.anchor, label.colour,
                        label.bold ? " font-weight=\"bold\"" : "", turn, text);
}

}  // namespace headgate::demo
