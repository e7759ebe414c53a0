#include "client/cli/arguments/parse_value.h"

#include <headgate/check.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/zone_text.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

constexpr double kMaxDays = 36'500;

// Abseil parses "infinite-past" as a time.
bool IsFinite(absl::Time time) {
  return time != absl::InfinitePast() && time != absl::InfiniteFuture();
}

// What clocks skip is over when they have.
absl::Time InZone(absl::CivilSecond civil, absl::TimeZone zone) {
  const absl::TimeZone::TimeInfo info = zone.At(civil);
  return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
}

bool ParseOneOf(std::initializer_list<const char*> formats, const std::string& text,
                absl::TimeZone zone, absl::Time& time) {
  std::string ignored;
  for (const char* format : formats) {
    if (!absl::ParseTime(format, text, &time, &ignored) || !IsFinite(time)) continue;
    time = InZone(absl::ToCivilSecond(time, absl::UTCTimeZone()), zone);
    if (IsFinite(time)) return true;
  }
  return false;
}

// "2026-01-31 18:00" or with seconds.
bool ParseMoment(const std::string& text, absl::TimeZone zone, absl::Time& time) {
  return ParseOneOf({"%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"}, text, zone, time);
}

bool ParseMoment(absl::CivilDay day, const std::string& time_of_day, absl::TimeZone zone,
                 absl::Time& time) {
  return ParseMoment(absl::StrCat(absl::FormatCivilTime(day), " ", time_of_day), zone, time);
}

bool IsTimeOfDay(const std::string& text) {
  absl::Time ignored;
  return ParseMoment(absl::CivilDay(), text, absl::UTCTimeZone(), ignored);
}

// "2026-01-31", "yesterday", "today 07:00".
bool ParseDay(const std::string& text, absl::CivilDay today, absl::TimeZone zone,
              absl::Time& time) {
  if (ParseOneOf({"%Y-%m-%d"}, text, zone, time)) return true;
  for (const auto& [word, day] : {std::pair("today", today), std::pair("yesterday", today - 1)}) {
    absl::string_view rest = text;
    if (!absl::ConsumePrefix(&rest, word)) continue;
    if (!rest.empty()) {
      return absl::ConsumePrefix(&rest, " ") && ParseMoment(day, std::string(rest), zone, time);
    }
    time = InZone(absl::CivilSecond(day), zone);
    return true;
  }
  return false;
}

// The second of two, where clocks have the time twice.
absl::Time Last(absl::Time time, absl::TimeZone zone) {
  const absl::TimeZone::TimeInfo info = zone.At(absl::ToCivilSecond(time, zone));
  return info.kind == absl::TimeZone::TimeInfo::REPEATED ? info.post : time;
}

// The moment in the zone that the text names, if it names one.
bool ParseCivil(const std::string& text, absl::Time now, absl::TimeZone zone, absl::Time& time) {
  const absl::CivilDay today = absl::ToCivilDay(now, zone);
  if (ParseDay(text, today, zone, time) || ParseMoment(text, zone, time)) return true;
  if (!ParseMoment(today, text, zone, time)) return false;
  return time <= now || ParseMoment(today - 1, text, zone, time);
}

absl::StatusOr<absl::Time> EndFromText(const std::string& text, absl::Time from, absl::Time now,
                                       absl::TimeZone zone) {
  absl::Time time;
  if (from != absl::InfinitePast() && IsTimeOfDay(text)) {
    const absl::CivilDay day = absl::ToCivilDay(from, zone);
    ParseMoment(day, text, zone, time);
    if (Last(time, zone) <= from) ParseMoment(day + 1, text, zone, time);
    return Last(time, zone);
  }
  if (ParseCivil(text, now, zone, time)) return Last(time, zone);
  return TimeFromText(text, now, zone);
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
  if (ParseCivil(text, now, zone, time)) return time;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Escaped(text),
                   "' is not a time such as 1h (ago), 7d, 06:00, yesterday, "
                   "'2026-01-31 06:00' or 2026-01-31T06:00:00Z"));
}

absl::StatusOr<TimeSpan> SpanFromText(const std::string& since, const std::string& until,
                                      absl::Time now, absl::TimeZone zone) {
  TimeSpan span;
  if (!since.empty()) {
    const absl::StatusOr<absl::Time> from = TimeFromText(since, now, zone);
    if (!from.ok()) return from.status();
    span.from = *from;
  }
  if (!until.empty()) {
    const absl::StatusOr<absl::Time> to = EndFromText(until, span.from, now, zone);
    if (!to.ok()) return to.status();
    span.to = *to;
  }
  const absl::Time end = std::min(span.to, now);
  if (since.empty() || span.from < end) return span;
  return absl::InvalidArgumentError(absl::StrCat("--since: ", ZonedTimeText(span.from, zone),
                                                 " is not before ", ZonedTimeText(end, zone)));
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

absl::StatusOr<double> ShareFromText(std::string_view text) {
  absl::string_view number = absl::StripAsciiWhitespace(Sv(text));
  const bool is_percent = absl::ConsumeSuffix(&number, "%");
  double share = 0;
  if (absl::SimpleAtod(absl::StripAsciiWhitespace(number), &share)) {
    if (is_percent) share /= 100;
    if (share > 0 && share <= 1) return share;
  }
  return absl::InvalidArgumentError(absl::StrCat("'", Escaped(text),
                                                 "' is not a share above 0 and at most 1, such as "
                                                 "0.8 or 80%"));
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
