#include "client/cli/output/time_style.h"

#include "absl/strings/str_cat.h"
#include "client/cli/output/zone_text.h"

namespace headgate::cli {
namespace {

bool HasSeconds(absl::Time time, absl::TimeZone zone) {
  return absl::ToCivilSecond(time, zone).second() != 0;
}

}  // namespace

TimeStyle::TimeStyle(const std::vector<absl::Time>& times, absl::TimeZone zone) : zone_(zone) {
  for (const absl::Time time : times) {
    // A day's end, which is the next one's midnight, is still of that day.
    const bool midnight =
        absl::ToCivilSecond(time, zone) == absl::CivilSecond(absl::ToCivilDay(time, zone));
    const absl::Time instant = midnight && time != times[0] ? time - absl::Nanoseconds(1) : time;
    dates_ = dates_ || absl::ToCivilDay(instant, zone) != absl::ToCivilDay(times[0], zone);
    seconds_ = seconds_ || HasSeconds(time, zone);
  }
}

std::string TimeStyle::Date(absl::Time time) const {
  return absl::FormatTime("%Y-%m-%d", time, zone_);
}

std::string TimeStyle::TimeOfDay(absl::Time time) const {
  return FormatIn(zone_, seconds_ ? "%H:%M:%S" : "%H:%M", time);
}

std::string TimeStyle::Text(absl::Time time) const {
  return dates_ ? absl::StrCat(Date(time), " ", TimeOfDay(time)) : TimeOfDay(time);
}

std::string TimeStyle::Range(absl::Time from, absl::Time to) const {
  TimeStyle style = *this;
  style.seconds_ = HasSeconds(from, zone_) || HasSeconds(to, zone_);
  if (Date(from) == Date(to)) return absl::StrCat(style.Text(from), "–", style.TimeOfDay(to));
  const bool is_end_of_day =
      to > from && to == absl::FromCivil(absl::ToCivilDay(from, zone_) + 1, zone_);
  return absl::StrCat(style.Text(from), "–", is_end_of_day ? "24:00" : style.Text(to));
}

std::string SpanText(absl::Time from, absl::Time to, absl::TimeZone zone) {
  const std::string range = TimeStyle({from, to}, zone).Range(from, to);
  // A range of several days already has its dates.
  const std::string date =
      range.find('-') == std::string::npos ? absl::FormatTime("%Y-%m-%d ", from, zone) : "";
  return absl::StrCat(date, range, " ", ZoneText(zone, {from, to}));
}

}  // namespace headgate::cli
