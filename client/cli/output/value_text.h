// Numbers and durations as a person reads them.
//
// Pure functions; thread-safe.
//
//   console.out << ShortNumber(budget.debt()) << ' ' << ShortDuration(absl::Milliseconds(2500));

#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace headgate::cli {

// "250", "0.05", "1234.5": four digits that count, and no exponent where it can be avoided.
std::string ShortNumber(double value);
// The shortest text that reads back as the same number.
std::string ExactNumber(double value);

// "94 %" of a whole that is not 0: it is "100 %" only for all, and "0 %" only for nothing.
std::string Percent(int64_t part, int64_t whole);

// "250ms", "2.35s", "1h30m", rounded up to what a person cares for.
std::string ShortDuration(absl::Duration duration);

}  // namespace headgate::cli
