// Axis: from values to pixels, and where the marks are. Linear or logarithmic.
//
// Immutable.
//
//   const Axis y({.from = 0, .to = 4200, .pixel_from = 200, .pixel_to = 50});
//   y.At(1000);  // a pixel
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace headgate::demo {

class Axis {
 public:
  enum class Scale { kLinear, kLogarithmic };
  struct Options {
    double from = 0;  // above 0 where logarithmic
    double to = 1;
    double pixel_from = 0;
    double pixel_to = 1;
    Scale scale = Scale::kLinear;
  };

  explicit Axis(const Options& options) : options_(options) {}

  double first_pixel() const { return options_.pixel_from; }
  double last_pixel() const { return options_.pixel_to; }

  // Values beyond the axis are drawn at its end.
  double At(double value) const {
    const double inside = std::clamp(value, options_.from, options_.to);
    const double share =
        (Map(inside) - Map(options_.from)) / (Map(options_.to) - Map(options_.from));
    return options_.pixel_from + share * (options_.pixel_to - options_.pixel_from);
  }

  // Round numbers: five or so, or the powers of ten.
  std::vector<double> Marks() const {
    std::vector<double> marks;
    if (options_.scale == Scale::kLogarithmic) {
      double mark = std::pow(10, std::ceil(std::log10(options_.from) - 1e-9));
      for (; mark <= options_.to * (1 + 1e-9); mark *= 10) marks.push_back(mark);
      return marks;
    }
    const double step = RoundUp((options_.to - options_.from) / 5);
    for (double mark = std::ceil(options_.from / step) * step; mark <= options_.to; mark += step) {
      marks.push_back(mark);
    }
    return marks;
  }

  // The next number whose first digit is 1, 2 or 5, with zeros behind it.
  static double RoundUp(double value) {
    const double decade = std::pow(10, std::floor(std::log10(value)));
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (value <= digit * decade * (1 + 1e-9)) return digit * decade;
    }
    return 10 * decade;
  }

 private:
  double Map(double value) const {
    return options_.scale == Scale::kLinear ? value : std::log10(value);
  }

  const Options options_;
};

}  // namespace headgate::demo
