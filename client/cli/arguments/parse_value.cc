#include "client/cli/arguments/parse_value.h"

#include <headgate/check.h>

#include <initializer_list>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/output/terminal_text.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

constexpr double kMaxDays = 36'500;

// Abseil parses "infinite-past" as a time.
bool IsFinite(absl::Time time) {
  return time != absl::InfinitePast() && time != absl::InfiniteFuture();
}

// "2026-01-31 18:00" or with seconds.
bool ParseMoment(const std::string& text, absl::TimeZone zone, absl::Time& time) {
  std::string ignored;
  for (const char* format : {"%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"}) {
    if (absl::ParseTime(format, text, zone, &time, &ignored) && IsFinite(time)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<absl::Time> TimeFromText(const std::string& text, absl::Time now,
                                        absl::TimeZone zone) {
  double days = 0;
  if (text.ends_with('d') && absl::SimpleAtod(text.substr(0, text.size() - 1), &days) &&
      days >= 0 && days <= kMaxDays) {
    return now - absl::Hours(24 * days);
  }
  const absl::StatusOr<absl::Duration> ago = DurationFromText(text);
  if (ago.ok()) return now - *ago;
  absl::Time time;
  std::string ignored;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &ignored) && IsFinite(time)) return time;
  if (absl::ParseTime("%Y-%m-%d", text, zone, &time, &ignored) && IsFinite(time)) return time;
  for (const std::string& moment :
       {text, absl::StrCat(absl::FormatTime("%Y-%m-%d ", now, zone), text)}) {
    if (ParseMoment(moment, zone, time)) return time;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Escaped(text), "' is not a time such as 1h (ago), 7d, 06:00, '2026-01-31 06:00'",
      " or 2026-01-31T06:00:00Z"));
}

absl::StatusOr<absl::Time> ComingTimeFromText(const std::string& text, absl::Time now,
                                              absl::TimeZone zone) {
  absl::Time time;
  std::string ignored;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &ignored) && IsFinite(time)) return time;
  if (ParseMoment(text, zone, time)) return time;
  const absl::CivilDay today = absl::ToCivilDay(now, zone);
  for (const absl::CivilDay day : {today, today + 1}) {
    if (ParseMoment(absl::StrCat(absl::FormatCivilTime(day), " ", text), zone, time) &&
        (time > now || day != today)) {
      return time;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("'", Escaped(text),
                                                 "' is not a time such as 18:00, '2026-01-31 "
                                                 "18:00' or 2026-01-31T18:00:00Z"));
}

absl::StatusOr<absl::Duration> DurationFromText(std::string_view text) {
  absl::Duration duration;
  if (!absl::ParseDuration(Sv(text), &duration) || duration == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Escaped(text), "' is not a duration such as 250ms, 30s or 1h30m"));
  }
  if (duration < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("'", Escaped(text), "' is negative"));
  }
  return duration;
}

absl::StatusOr<absl::Duration> PositiveDurationFromText(std::string_view text) {
  absl::StatusOr<absl::Duration> duration = DurationFromText(text);
  if (duration.ok() && *duration <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("it has to be longer than 0");
  }
  return duration;
}

absl::StatusOr<double> CostFromText(std::string_view text) {
  double cost = 0;
  if (!absl::SimpleAtod(Sv(text), &cost) || !(cost >= 0 && cost <= client::kMaxCost)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Escaped(text), "' is not a number from 0 to ", client::kMaxCost));
  }
  return cost;
}

absl::StatusOr<bool> SwitchFromText(std::string_view text) {
  const std::string lower = absl::AsciiStrToLower(Sv(text));
  for (const char* word : {"true", "yes", "on", "1"}) {
    if (lower == word) return true;
  }
  for (const char* word : {"false", "no", "off", "0"}) {
    if (lower == word) return false;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", Escaped(std::string(text)), "' is neither true nor false"));
}

}  // namespace headgate::cli
