// Times, durations, costs and switches as a person writes them.
//
// Pure functions; thread-safe.
//
//   const absl::StatusOr<absl::Duration> wait = DurationFromText("1h30m");

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate::cli {

// "7d" and durations are so long before `now`; "06:00" and "06:00:30" are the last ones in the
// zone, today's or yesterday's; "today" and "yesterday" begin at midnight, or have a time behind
// them; then there are "2026-01-31", "2026-01-31 06:00[:30]" and RFC 3339. InvalidArgument says
// what is wrong. Where clocks have an hour twice the first is meant; where they skip one, its end.
absl::StatusOr<absl::Time> TimeFromText(const std::string& text, absl::Time now,
                                        absl::TimeZone zone);

// A part of the past.
struct TimeSpan {
  absl::Time from = absl::InfinitePast();
  absl::Time to = absl::InfiniteFuture();
};
// What --since and --until say, each as TimeFromText takes it; empty: from the beginning, to the
// end. A time of day alone in `until` is the first one after `since`; where clocks have it twice,
// the second. InvalidArgument where the span would be empty.
absl::StatusOr<TimeSpan> SpanFromText(const std::string& since, const std::string& until,
                                      absl::Time now, absl::TimeZone zone);

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
// A share above 0 and at most 1: "0.8", "80%", "80 %".
absl::StatusOr<double> ShareFromText(std::string_view text);
// "true", "yes", "on", "1" and their opposites, in capitals or not.
absl::StatusOr<bool> SwitchFromText(std::string_view text);

}  // namespace headgate::cli
