// How the times of one table are shown: all in one format, the shortest that tells them apart.
//
// Immutable; thread-safe.
//
//   const TimeStyle style({from, to}, absl::UTCTimeZone());
//   style.Range(from, to);  // "07:00–07:25"

#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate::cli {

class TimeStyle {
 public:
  // For these times: without the date where all are of one day, without seconds where all are 0.
  TimeStyle(const std::vector<absl::Time>& times, absl::TimeZone zone);

  std::string Text(absl::Time time) const;
  // The second one without its date where that is the same, and 24:00 at the end of the day;
  // seconds where this range has any.
  std::string Range(absl::Time from, absl::Time to) const;

 private:
  std::string Date(absl::Time time) const;
  std::string TimeOfDay(absl::Time time) const;

  absl::TimeZone zone_;
  bool dates_ = false;
  bool seconds_ = false;
};

// "2026-11-20 06:00–14:03 UTC", "... Europe/Berlin (UTC+01:00)".
std::string SpanText(absl::Time from, absl::Time to, absl::TimeZone zone);

}  // namespace headgate::cli
