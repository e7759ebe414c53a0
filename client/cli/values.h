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

// "7d" and durations are so long before `now`; "06:00" and "06:00:30" are today's in the zone; then
// there are "2026-01-31", "2026-01-31 06:00[:30]" and RFC 3339. InvalidArgument says what is wrong.
absl::StatusOr<absl::Time> TimeFromText(const std::string& text, absl::Time now,
                                        absl::TimeZone zone);

// "18:00" and "18:00:30" are the next ones in the zone; then there are "2026-01-31 18:00[:30]" and
// RFC 3339, past or not. InvalidArgument says what is wrong.
absl::StatusOr<absl::Time> ComingTimeFromText(const std::string& text, absl::Time now,
                                              absl::TimeZone zone);

// "250ms", "1h30m", "0". InvalidArgument says what is wrong; negative ones are refused.
absl::StatusOr<absl::Duration> DurationFromText(std::string_view text);
// The same, but longer than 0.
absl::StatusOr<absl::Duration> PositiveDurationFromText(std::string_view text);
// A number from 0 to the most that a Check or report may cost.
absl::StatusOr<double> CostFromText(std::string_view text);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_VALUES_H_
