// Numbers and waits as sentences have them.
//
// Pure functions.
//
//   absl::StrAppend(&text, Number(cost), " fits in ", ForAPerson(wait));

#pragma once

#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

inline std::string Number(double value) { return absl::StrFormat("%.6g", value); }

// The value, with as many digits as it takes to see that it is not `other`, where they differ.
inline std::string NumberDistinctFrom(double value, double other) {
  for (int digits = 6; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    if (value == other || text != absl::StrFormat("%.*g", digits, other)) return text;
  }
  return absl::StrFormat("%.17g", value);
}

// As people write large numbers: 1,234,567.
inline std::string Grouped(double value) {
  constexpr double kLeast = 1000, kMost = 1e15;
  if (!(value >= kLeast && value <= kMost)) return Number(value);
  std::string digits = absl::StrFormat("%.0f", value);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// An amount of a budget's unit. Of a cost nobody knows what it is of.
inline std::string Amount(const std::string& number, BudgetUnit unit) {
  return unit == BudgetUnit::kBusyTime ? number + " s" : number;
}

// Rounded up: a wait that is a little too long is of use, one that is too short is not.
inline std::string ForAPerson(absl::Duration wait) {
  const absl::Duration step = absl::Milliseconds(1);
  return absl::FormatDuration(wait > step ? absl::Ceil(wait, step) : wait);
}

}  // namespace headgate::engine
