// Numbers and times as a person reads and writes them.
//
// Pure functions, but for the zone of the environment; thread-safe.
//
//   console.out << ShortNumber(budget.debt()) << ' ' << ShortDuration(absl::Milliseconds(2500));

#ifndef HEADGATE_CLIENT_CLI_VALUES_H_
#define HEADGATE_CLIENT_CLI_VALUES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate::cli {

// "250", "0.05", "1234.5": four digits that count, and no exponent where it can be avoided.
std::string ShortNumber(double value);
// The shortest text that reads back as the same number.
std::string ExactNumber(double value);

// "250ms", "2.35s", "1h30m", rounded up to what a person cares for.
std::string ShortDuration(absl::Duration duration);
// "2026-01-01 12:00:00 UTC", in the zone of the environment.
std::string LocalTimeText(absl::Time time);

// "250ms", "1h30m", "0". InvalidArgument says what is wrong; negative ones are refused.
absl::StatusOr<absl::Duration> DurationFromText(std::string_view text);
// A finite number that is not negative.
absl::StatusOr<double> CostFromText(std::string_view text);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_VALUES_H_
