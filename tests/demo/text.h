// Numbers as a person reads them. Thread-safe.
//
//   Whole(12345.6);                     // "12,346"
//   Millis(absl::Microseconds(9876));  // "9.9"
#pragma once

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace headgate::demo {

// With a comma after each three digits.
inline std::string Whole(double value) {
  std::string text = absl::StrCat(std::llround(value));
  for (int at = static_cast<int>(text.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<size_t>(at), 1, ',');
  }
  return text;
}

inline std::string Millis(absl::Duration duration) {
  const double milliseconds = absl::ToDoubleMilliseconds(duration);
  return absl::StrFormat(milliseconds < 100 ? "%.1f" : "%.0f", milliseconds);
}

}  // namespace headgate::demo
