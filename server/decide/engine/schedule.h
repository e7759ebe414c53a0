// Weekly schedules in a time zone: "Monday to Friday, 22:00 to 06:00, Europe/Berlin".
//
// An instant is active if and only if its local civil time lies in a window. Daylight saving
// follows from that: minutes that the clocks skip in spring are nobody's, and minutes that they
// repeat in autumn are active both times. A schedule of 02:00-03:00 thus runs for no time at all on
// one Sunday and for two hours on another.
//
// Schedule is immutable. CachedSchedule is thread-safe and is what a Check asks.
//
//   absl::StatusOr<Schedule> nights = Schedule::Create(
//       {.windows = {{.days = 0b0011111, .start_minute = 22 * 60, .end_minute = 6 * 60}},
//        .time_zone = "Europe/Berlin"});
//   CachedSchedule cached(*std::move(nights));
//   if (cached.IsActive(now.wall_ns)) ...
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate::engine {

struct ScheduleWindow {
  uint8_t days = 0;      // bit 0 = Monday ... bit 6 = Sunday: the days on which the window starts
  int start_minute = 0;  // of the local day, 0 to 1439
  int end_minute = 0;    // 1 to 1440, exclusive; at or before the start it is the next day's
};

struct ScheduleSpec {
  std::vector<ScheduleWindow> windows;
  std::string time_zone;  // an IANA name; empty means UTC
};

class Schedule {
 public:
  // InvalidArgument for an unknown zone, no windows, a window without days, or bad minutes.
  static absl::StatusOr<Schedule> Create(const ScheduleSpec& spec);

  bool IsActive(absl::Time t) const;

  // An instant after `t` up to which IsActive stays what it is at `t`; never later than the first
  // change, perhaps earlier. InfiniteFuture if the schedule is always active.
  absl::Time NextChange(absl::Time t) const;

 private:
  // Minutes of the local week, Monday 00:00 = 0: [first, second).
  using Interval = std::pair<int, int>;

  Schedule(std::vector<Interval> active, absl::TimeZone zone)
      : active_(std::move(active)), zone_(zone) {}

  std::vector<Interval> active_;  // sorted, disjoint, not touching, never empty
  absl::TimeZone zone_;
};

// Remembers the last answer and the whole minutes for which it holds, so that a Check pays for one
// load and a division. Thread-safe. Copies start with nothing remembered.
class CachedSchedule {
 public:
  explicit CachedSchedule(Schedule schedule) : schedule_(std::move(schedule)) {}
  CachedSchedule(const CachedSchedule& other) : schedule_(other.schedule_) {}
  CachedSchedule& operator=(const CachedSchedule&) = delete;

  // Exactly schedule().IsActive at that time, whichever way the wall clock was stepped.
  bool IsActive(int64_t wall_ns) const {
    // Relaxed: the word is the whole answer and refers to no other memory, so a thread sees either
    // an old answer with its own range or a newer one with that range, and both are right.
    const uint64_t cached = cache_.load(std::memory_order_relaxed);
    const uint64_t from = cached >> 33;
    const uint64_t until = (cached >> 2) & kMaxMinute;
    // A time before 1970 is a huge minute here and in no range. Nothing remembered is an empty
    // range.
    const uint64_t minute = static_cast<uint64_t>(wall_ns) / kMinuteNs;
    if (minute - from < until - from) return (cached & 1) != 0;
    return Recompute(wall_ns);
  }

  const Schedule& schedule() const { return schedule_; }

 private:
  static constexpr uint64_t kMinuteNs = 60'000'000'000;
  static constexpr uint64_t kMaxMinute = (uint64_t{1} << 31) - 1;

  bool Recompute(int64_t wall_ns) const;

  Schedule schedule_;
  // {from: 31 bits, until: 31 bits, unused: 1, active: 1}, in minutes since the Unix epoch.
  mutable std::atomic<uint64_t> cache_{0};
};

}  // namespace headgate::engine
