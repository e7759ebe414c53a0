// Windows become disjoint intervals of the local week, so both questions are a binary search.
// Between two changes of the zone's offset, local and real time run side by side: NextChange looks
// no further than the next change of offset, and so needs no arithmetic across it.
#include "server/decide/engine/schedule.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace headgate::engine {
namespace {

constexpr int kDayMinutes = 24 * 60;
constexpr int kWeekMinutes = 7 * kDayMinutes;
constexpr int kAllDays = 0b1111111;

using Interval = std::pair<int, int>;

absl::Status ValidateWindow(const ScheduleWindow& window, size_t index) {
  const auto error = [&](auto... what) {
    return absl::InvalidArgumentError(absl::StrCat("schedule window ", index + 1, " ", what...));
  };
  if (window.days == 0) return error("names no day");
  if (window.days > kAllDays) return error("names a day beyond Sunday");
  if (window.start_minute < 0 || window.start_minute >= kDayMinutes) {
    return error("starts at minute ", window.start_minute, " of the day; allowed are 0 to 1439");
  }
  if (window.end_minute < 1 || window.end_minute > kDayMinutes) {
    return error("ends at minute ", window.end_minute, " of the day; allowed are 1 to 1440");
  }
  return absl::OkStatus();
}

// Abseil also takes paths, fixed offsets and "localtime", which depend on the machine or aren't
// IANA names.
absl::StatusOr<absl::TimeZone> LoadZone(const std::string& name) {
  if (name.empty()) return absl::UTCTimeZone();
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '-' || c == '+';
  });
  absl::TimeZone zone;
  if (!plain || name.front() == '/' || name == "localtime" || !absl::LoadTimeZone(name, &zone)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown time zone '", name,
                     "'; write an IANA name such as Europe/Berlin, or none for UTC"));
  }
  return zone;
}

// Sorted, disjoint and not touching. What runs beyond Sunday continues on Monday.
std::vector<Interval> WeekOf(const std::vector<ScheduleWindow>& windows) {
  std::vector<Interval> pieces;
  for (const ScheduleWindow& window : windows) {
    const int next_day = window.end_minute <= window.start_minute ? kDayMinutes : 0;
    for (int day = 0; day < 7; ++day) {
      if ((window.days >> day & 1) == 0) continue;
      const int begin = day * kDayMinutes + window.start_minute;
      const int end = day * kDayMinutes + window.end_minute + next_day;
      pieces.emplace_back(begin, std::min(end, kWeekMinutes));
      if (end > kWeekMinutes) pieces.emplace_back(0, end - kWeekMinutes);
    }
  }
  std::sort(pieces.begin(), pieces.end());
  std::vector<Interval> merged;
  for (const Interval& piece : pieces) {
    if (!merged.empty() && piece.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, piece.second);
    } else {
      merged.push_back(piece);
    }
  }
  return merged;
}

int SecondOfWeek(absl::CivilSecond local) {
  const int day = static_cast<int>(absl::GetWeekday(local));  // Monday is 0
  return ((day * 24 + local.hour()) * 60 + local.minute()) * 60 + local.second();
}

// The first interval that ends after the minute, or end().
template <typename Intervals>
auto Find(const Intervals& intervals, int minute) {
  return std::upper_bound(intervals.begin(), intervals.end(), minute,
                          [](int m, const Interval& interval) { return m < interval.second; });
}

}  // namespace

absl::StatusOr<Schedule> Schedule::Create(const ScheduleSpec& spec) {
  if (spec.windows.empty()) return absl::InvalidArgumentError("schedule has no windows");
  for (size_t i = 0; i < spec.windows.size(); ++i) {
    if (absl::Status status = ValidateWindow(spec.windows[i], i); !status.ok()) return status;
  }
  absl::StatusOr<absl::TimeZone> zone = LoadZone(spec.time_zone);
  if (!zone.ok()) return zone.status();
  return Schedule(WeekOf(spec.windows), *zone);
}

bool Schedule::IsActive(absl::Time t) const {
  const int minute = SecondOfWeek(zone_.At(t).cs) / 60;
  const auto interval = Find(active_, minute);
  return interval != active_.end() && interval->first <= minute;
}

absl::Time Schedule::NextChange(absl::Time t) const {
  if (active_.front() == Interval(0, kWeekMinutes) || t == absl::InfiniteFuture() ||
      t == absl::InfinitePast()) {
    return absl::InfiniteFuture();
  }
  const absl::TimeZone::CivilInfo local = zone_.At(t);
  const int second = SecondOfWeek(local.cs);
  const auto interval = Find(active_, second / 60);
  int boundary = kWeekMinutes + active_.front().first;
  if (interval != active_.end()) {
    boundary = interval->first > second / 60 ? interval->first : interval->second;
  }
  const absl::Time change = t - local.subsecond + absl::Seconds(boundary * 60 - second);
  absl::TimeZone::CivilTransition offset_change;
  if (!zone_.NextTransition(t, &offset_change)) return change;
  return std::min(change, zone_.At(offset_change.to).trans);
}

bool CachedSchedule::Recompute(int64_t wall_ns) const {
  const absl::Time t = absl::FromUnixNanos(wall_ns);
  const bool active = schedule_.IsActive(t);
  if (wall_ns < 0) return active;
  // Whole minutes that lie in the stretch around `t` without a change. There may be none: not all
  // zones have always been whole minutes away from UTC.
  const uint64_t from = static_cast<uint64_t>(wall_ns) / kMinuteNs;
  const absl::Time from_time = absl::FromUnixSeconds(static_cast<int64_t>(from) * 60);
  const absl::Time change = schedule_.NextChange(from_time);
  if (change <= t) return active;
  const uint64_t until =
      change == absl::InfiniteFuture()
          ? kMaxMinute
          : std::min(kMaxMinute, static_cast<uint64_t>(absl::ToUnixSeconds(change)) / 60);
  // Relaxed: see IsActive.
  cache_.store(from << 33 | until << 2 | uint64_t{active}, std::memory_order_relaxed);
  return active;
}

}  // namespace headgate::engine
