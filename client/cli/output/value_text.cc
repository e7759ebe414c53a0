#include "client/cli/output/value_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/share_text.h"

namespace headgate::cli {

std::string ShortNumber(double value) {
  const double size = std::abs(value);
  if (size >= 1e15) return absl::StrFormat("%.4g", value);
  if (value == std::floor(value)) return absl::StrFormat("%.0f", value);
  if (size >= 1000) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.4g", value);
}

std::string ExactNumber(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

std::string Percent(int64_t part, int64_t whole) {
  return RoundShareText(static_cast<double>(part) / static_cast<double>(whole));
}

std::string ShortDuration(absl::Duration duration) {
  absl::Duration unit = absl::Minutes(1);
  if (duration < absl::Milliseconds(1)) {
    unit = absl::Microseconds(1);
  } else if (duration < absl::Seconds(1)) {
    unit = absl::Milliseconds(1);
  } else if (duration < absl::Minutes(1)) {
    unit = absl::Milliseconds(10);
  } else if (duration < absl::Hours(1)) {
    unit = absl::Seconds(1);
  }
  return absl::FormatDuration(absl::Ceil(duration, unit));
}

}  // namespace headgate::cli
