// Shares as people read them: "100 %" is said only of all, and "0 %" only of nothing.
//
// Pure functions.
//
//   absl::StrCat("rejects ", ShareText(0.999999));  // "rejects 99.9999 %"
//   absl::StrCat("slowed to ", RoundShareText(0.996));  // "slowed to >99 %"
#pragma once

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace headgate {

// Six digits, and more where it takes them: for what somebody has set.
inline std::string ShareText(double share) {
  const double percent = 100 * share;
  for (int digits = 6; digits <= 17; ++digits) {
    const std::string text = absl::StrFormat("%.*g", digits, percent);
    if (share == 1 || text != "100") return absl::StrCat(text, " %");
  }
  return "nearly 100 %";  // so near that the hundredfold is the same number
}

// Whole percents, for what is measured.
inline std::string RoundShareText(double share) {
  const double percent = 100 * share;
  if (share > 0 && percent < 1) return "<1 %";
  if (share < 1 && percent > 99) return ">99 %";
  return absl::StrFormat("%.0f %%", std::round(percent));
}

}  // namespace headgate
