#include "client/cli/output/zone_text.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace headgate::cli {
namespace {

constexpr char kSecond[] = "%Y-%m-%d %H:%M:%S";

// "UTC", "UTC+01:00".
std::string OffsetText(int seconds) {
  if (seconds == 0) return "UTC";
  const int minutes = std::abs(seconds) / 60;
  return absl::StrFormat("UTC%c%02d:%02d", seconds < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

// The system's own zone is named by its file, which does not say where it is.
std::string NameOf(absl::TimeZone zone, absl::Time at) {
  const std::string name = zone.name();
  if (name == "Etc/UTC" || name == "UTC") return "UTC";
  const bool is_place = name.find('/') != std::string::npos && name[0] != '/';
  return is_place ? name : zone.At(at).zone_abbr;
}

bool IsTwice(absl::Time time, absl::TimeZone zone) {
  return zone.At(absl::ToCivilSecond(time, zone)).kind == absl::TimeZone::TimeInfo::REPEATED;
}

}  // namespace

std::string ZoneText(absl::TimeZone zone, const std::vector<absl::Time>& shown) {
  const auto [first, last] = std::minmax_element(shown.begin(), shown.end());
  const int before = zone.At(*first).offset;
  const int after = zone.At(*last).offset;
  const std::string name = NameOf(zone, *first);
  if (before == after) {
    return name == OffsetText(before) ? name : absl::StrCat(name, " (", OffsetText(before), ")");
  }
  // The last change of the clocks before `last`.
  absl::TimeZone::CivilTransition change;
  const bool known = zone.PrevTransition(*last + absl::Nanoseconds(1), &change);
  const absl::Time at = zone.At(change.to).trans;
  return absl::StrCat(name, " (", OffsetText(before), ", ", OffsetText(after),
                      known ? absl::FormatTime(" from %Y-%m-%d %H:%M", at, zone) : "", ")");
}

std::string TimesAre(absl::TimeZone zone, const std::vector<absl::Time>& shown) {
  return shown.empty() ? "" : absl::StrCat("times are ", ZoneText(zone, shown), "\n");
}

std::string FormatIn(absl::TimeZone zone, const char* format, absl::Time time) {
  return absl::StrCat(absl::FormatTime(format, time, zone),
                      IsTwice(time, zone) ? absl::FormatTime(" %Z", time, zone) : "");
}

std::string TimeText(absl::Time time, absl::TimeZone zone) { return FormatIn(zone, kSecond, time); }

std::string ZonedTimeText(absl::Time time, absl::TimeZone zone) {
  return absl::FormatTime(absl::StrCat(kSecond, " %Z"), time, zone);
}

}  // namespace headgate::cli
