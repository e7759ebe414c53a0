// Times in the one zone that a command prints: the zone is said once, in the first line.
//
// Pure functions; thread-safe.
//
//   text = TimesAre(zone, {from, to});  // "times are Europe/Berlin (UTC+01:00)\n"
//   text += TimeText(from, zone);       // "2026-01-01 12:00:00"

#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate::cli {

// "UTC", "Europe/Berlin (UTC+01:00)"; where clocks change between the times that are shown:
// "Europe/Berlin (UTC+02:00, UTC+01:00 from 2026-10-25 02:00)".
std::string ZoneText(absl::TimeZone zone, const std::vector<absl::Time>& shown);
// A line that says the zone. Empty where no time is shown.
std::string TimesAre(absl::TimeZone zone, const std::vector<absl::Time>& shown);

// As absl::FormatTime. A time in the hour that clocks have twice says which one it is: "02:30
// CEST".
std::string FormatIn(absl::TimeZone zone, const char* format, absl::Time time);
// "2026-01-01 12:00:00".
std::string TimeText(absl::Time time, absl::TimeZone zone);
// "2026-01-01 12:00:00 CET", where no line before it says the zone.
std::string ZonedTimeText(absl::Time time, absl::TimeZone zone);

}  // namespace headgate::cli
