#include "server/decide/engine/schedule.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace headgate::engine {
namespace {

constexpr uint8_t kMonday = 1 << 0;
constexpr uint8_t kSaturday = 1 << 5;
constexpr uint8_t kSunday = 1 << 6;
constexpr uint8_t kWorkdays = 0b0011111;
constexpr uint8_t kAllDays = 0b1111111;

Schedule Make(std::vector<ScheduleWindow> windows, const std::string& zone = "") {
  absl::StatusOr<Schedule> schedule =
      Schedule::Create({.windows = std::move(windows), .time_zone = zone});
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

std::string Refusal(std::vector<ScheduleWindow> windows, const std::string& zone = "") {
  const absl::Status status =
      Schedule::Create({.windows = std::move(windows), .time_zone = zone}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

absl::Time InstantOf(const std::string& rfc3339) {
  absl::Time t;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, rfc3339, &t, &error)) << error;
  return t;
}

TEST(Schedule, IsActiveFromTheStartToJustBeforeTheEnd) {
  const Schedule schedule = Make({{kMonday, 9 * 60, 17 * 60}});
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-05T08:59:59.999Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-05T09:00:00Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-05T16:59:59.999Z")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-05T17:00:00Z")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-06T09:00:00Z")));
}

TEST(Schedule, AWindowThatEndsBeforeItsStartRunsIntoTheNextDay) {
  const Schedule schedule = Make({{kMonday, 22 * 60, 6 * 60}});
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-05T05:00:00Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-05T22:00:00Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-06T05:59:59Z")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-06T06:00:00Z")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-06T22:00:00Z")));
}

TEST(Schedule, AWindowThatEndsAtItsStartLasts24Hours) {
  const Schedule schedule = Make({{kMonday, 600, 600}});
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-05T09:59:59Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-05T10:00:00Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-06T09:59:59Z")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-06T10:00:00Z")));
}

TEST(Schedule, SundayNightRunsIntoMonday) {
  const Schedule schedule = Make({{kSunday, 23 * 60, 60}});
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-04T23:30:00Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-05T00:59:00Z")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-05T01:00:00Z")));
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-01-05T00:30:00Z")),
            InstantOf("2026-01-05T01:00:00Z"));
}

TEST(Schedule, AWholeDayEndsAtMidnight) {
  const Schedule schedule = Make({{kSaturday, 0, 1440}});
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-10T00:00:00Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-10T23:59:59Z")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-11T00:00:00Z")));
}

TEST(Schedule, NextChangeIsTheStartOrTheEndOfAWindow) {
  const Schedule schedule = Make({{kWorkdays, 9 * 60, 17 * 60}});
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-01-05T08:00:00.5Z")),
            InstantOf("2026-01-05T09:00:00Z"));
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-01-05T09:00:00Z")),
            InstantOf("2026-01-05T17:00:00Z"));
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-01-09T17:00:00Z")),
            InstantOf("2026-01-12T09:00:00Z"));
}

TEST(Schedule, TouchingWindowsAreOne) {
  const Schedule schedule = Make({{kMonday, 600, 660}, {kMonday, 660, 720}, {kMonday, 630, 700}});
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-01-05T10:00:00Z")),
            InstantOf("2026-01-05T12:00:00Z"));
}

TEST(Schedule, AlwaysActiveNeverChanges) {
  const Schedule schedule = Make({{kAllDays, 0, 1440}}, "Europe/Berlin");
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-03-29T01:30:00Z")));
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-01-05T00:00:00Z")), absl::InfiniteFuture());
}

TEST(Schedule, LocalTimeCounts) {
  const Schedule schedule = Make({{kMonday, 9 * 60, 17 * 60}}, "Asia/Kathmandu");  // UTC+05:45
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-01-05T03:14:59Z")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-01-05T03:15:00Z")));
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-01-05T03:15:00Z")),
            InstantOf("2026-01-05T11:15:00Z"));
}

TEST(Schedule, AnHourThatIsSkippedInSpringIsNobodys) {
  const Schedule schedule = Make({{kSunday, 2 * 60, 3 * 60}}, "Europe/Berlin");
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-03-29T01:59:59+01:00")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-03-29T03:00:00+02:00")));
  EXPECT_LE(schedule.NextChange(InstantOf("2026-03-29T01:00:00+01:00")),
            InstantOf("2026-04-05T02:00:00+02:00"));
}

TEST(Schedule, AWindowThatStartsInTheSkippedHourStartsAfterIt) {
  const Schedule schedule = Make({{kSunday, 150, 240}}, "Europe/Berlin");  // 02:30 to 04:00
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-03-29T01:59:59+01:00")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-03-29T03:00:00+02:00")));
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-03-29T01:00:00+01:00")),
            InstantOf("2026-03-29T03:00:00+02:00"));
}

TEST(Schedule, AnHourThatIsRepeatedInAutumnIsActiveBothTimes) {
  const Schedule schedule = Make({{kSunday, 150, 180}}, "Europe/Berlin");  // 02:30 to 03:00
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-10-25T02:29:59+02:00")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-10-25T02:30:00+02:00")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-10-25T02:59:59+02:00")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-10-25T02:00:00+01:00")));
  EXPECT_TRUE(schedule.IsActive(InstantOf("2026-10-25T02:30:00+01:00")));
  EXPECT_FALSE(schedule.IsActive(InstantOf("2026-10-25T03:00:00+01:00")));
  EXPECT_EQ(schedule.NextChange(InstantOf("2026-10-25T02:30:00+02:00")),
            InstantOf("2026-10-25T02:00:00+01:00"));
}

TEST(ScheduleErrors, NameWhatIsWrong) {
  EXPECT_EQ(Refusal({}), "schedule has no windows");
  EXPECT_EQ(Refusal({{0, 0, 60}}), "schedule window 1 names no day");
  EXPECT_EQ(Refusal({{kMonday, 0, 60}, {0x80, 0, 60}}),
            "schedule window 2 names a day beyond Sunday");
  EXPECT_EQ(Refusal({{kMonday, 1440, 60}}),
            "schedule window 1 starts at minute 1440 of the day; allowed are 0 to 1439");
  EXPECT_EQ(Refusal({{kMonday, -1, 60}}),
            "schedule window 1 starts at minute -1 of the day; allowed are 0 to 1439");
  EXPECT_EQ(Refusal({{kMonday, 0, 0}}),
            "schedule window 1 ends at minute 0 of the day; allowed are 1 to 1440");
  EXPECT_EQ(Refusal({{kMonday, 0, 1441}}),
            "schedule window 1 ends at minute 1441 of the day; allowed are 1 to 1440");
}

TEST(ScheduleErrors, AZoneIsAnIanaNameOrNothing) {
  EXPECT_EQ(
      Refusal({{kMonday, 0, 60}}, "Europe/Berln"),
      "unknown time zone 'Europe/Berln'; write an IANA name such as Europe/Berlin, or none for "
      "UTC");
  for (const char* zone : {"Europe", "localtime", "/etc/localtime", "../zoneinfo/Europe/Berlin",
                           "file:Europe/Berlin", "Fixed/UTC+01:00:00", " "}) {
    Refusal({{kMonday, 0, 60}}, zone);
  }
  Make({{kMonday, 0, 60}}, "UTC");
  Make({{kMonday, 0, 60}}, "Etc/GMT+5");
}

// The definition, word for word: some window's day and minutes hold the local civil time.
bool InSomeWindow(const std::vector<ScheduleWindow>& windows, absl::TimeZone zone, absl::Time t) {
  const absl::CivilSecond local = zone.At(t).cs;
  const int today = static_cast<int>(absl::GetWeekday(local));
  const int yesterday = (today + 6) % 7;
  const int minute = local.hour() * 60 + local.minute();
  for (const ScheduleWindow& w : windows) {
    const bool overnight = w.end_minute <= w.start_minute;
    if (w.days >> today & 1) {
      if (minute >= w.start_minute && (overnight || minute < w.end_minute)) return true;
    }
    if ((w.days >> yesterday & 1) && overnight && minute < w.end_minute) return true;
  }
  return false;
}

std::vector<ScheduleWindow> RandomWindows(std::mt19937_64& random) {
  std::vector<ScheduleWindow> windows(1 + random() % 4);
  for (ScheduleWindow& w : windows) {
    w.days = static_cast<uint8_t>(1 + random() % 127);
    // Half of them in the small hours, where the clocks change.
    const int range = random() % 2 == 0 ? 240 : 1440;
    w.start_minute = static_cast<int>(random() % static_cast<uint64_t>(range));
    w.end_minute = 1 + static_cast<int>(random() % static_cast<uint64_t>(range));
  }
  return windows;
}

struct Span {
  const char* zone;
  const char* from;  // three weeks around a change of the clocks
};

constexpr Span kSpans[] = {
    {"Europe/Berlin", "2026-03-18T00:00:00Z"},
    {"Europe/Berlin", "2026-10-14T00:00:00Z"},
    {"America/New_York", "2026-02-26T00:00:00Z"},
    {"America/New_York", "2026-10-21T00:00:00Z"},
    {"Australia/Lord_Howe", "2026-03-25T00:00:00Z"},
    {"Australia/Lord_Howe", "2026-09-23T00:00:00Z"},
    {"Asia/Kathmandu", "2026-05-01T00:00:00Z"},
    {"Asia/Kathmandu", "1985-12-20T00:00:00Z"},
    {"Pacific/Apia", "2011-12-20T00:00:00Z"},
    {"", "2026-02-20T00:00:00Z"},
};

TEST(ScheduleProperty, IsActiveAndNextChangeAgreeWithEveryMinuteOfThreeWeeks) {
  std::mt19937_64 random(1);
  for (const Span& span : kSpans) {
    absl::TimeZone zone = absl::UTCTimeZone();
    if (*span.zone != '\0') {
      ASSERT_TRUE(absl::LoadTimeZone(span.zone, &zone));
    }
    for (int round = 0; round < 5; ++round) {
      const std::vector<ScheduleWindow> windows = RandomWindows(random);
      const Schedule schedule = Make(windows, span.zone);
      absl::Time t = InstantOf(span.from);
      absl::Time constant_until = absl::InfinitePast();
      bool state = false;
      for (int minute = 0; minute < 21 * 1440; ++minute, t += absl::Minutes(1)) {
        const bool expected = InSomeWindow(windows, zone, t);
        ASSERT_EQ(schedule.IsActive(t), expected) << span.zone << " " << t;
        ASSERT_EQ(schedule.IsActive(t + absl::Milliseconds(59'999)), expected) << t;
        if (t < constant_until) {
          ASSERT_EQ(expected, state) << span.zone << " changed unannounced at " << t;
        } else {
          state = expected;
          constant_until = schedule.NextChange(t + absl::Seconds(random() % 60));
          ASSERT_GT(constant_until, t);
        }
      }
    }
  }
}

TEST(ScheduleProperty, NextChangeIsMostlyARealChange) {
  const Schedule schedule = Make({{kWorkdays, 9 * 60, 17 * 60}}, "Europe/Berlin");
  absl::Time t = InstantOf("2026-01-01T00:00:00Z");
  int steps = 0;
  for (; t < InstantOf("2027-01-01T00:00:00Z"); t = schedule.NextChange(t)) ++steps;
  EXPECT_EQ(steps,
            1 + 2 * 261 + 2);  // the first, two for each workday, and two changes of the clocks
}

TEST(CachedSchedule, AgreesWithTheScheduleUnderRandomJumpsOfTheWallClock) {
  std::mt19937_64 random(2);
  for (const Span& span : kSpans) {
    const CachedSchedule cached(Make(RandomWindows(random), span.zone));
    const int64_t from = absl::ToUnixNanos(InstantOf(span.from));
    int64_t now = from;
    for (int i = 0; i < 50'000; ++i) {
      // Mostly small steps, some back, and at times a leap to anywhere.
      const auto step = static_cast<int64_t>(random() % 90'000'000'000) - 30'000'000'000;
      now = random() % 50 == 0 ? from + static_cast<int64_t>(random() % (21 * 86'400'000'000'000))
                               : now + step;
      ASSERT_EQ(cached.IsActive(now), cached.schedule().IsActive(absl::FromUnixNanos(now)))
          << span.zone << " " << absl::FromUnixNanos(now);
    }
  }
}

TEST(CachedSchedule, IsExactBefore1970AndAtTheEndsOfTheRange) {
  const CachedSchedule cached(Make({{kWorkdays, 9 * 60, 17 * 60}}, "America/New_York"));
  for (int64_t wall_ns :
       {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX,
        absl::ToUnixNanos(InstantOf("1969-12-31T12:00:00Z")), INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(cached.IsActive(wall_ns), cached.schedule().IsActive(absl::FromUnixNanos(wall_ns)))
        << wall_ns;
  }
}

TEST(CachedSchedule, IsExactWhereTheOffsetIsNoWholeMinute) {
  // Until 1972-01-07 Monrovia was 44 minutes and 30 seconds behind UTC.
  const CachedSchedule cached(Make({{kAllDays, 9 * 60, 17 * 60}}, "Africa/Monrovia"));
  for (int64_t second = 4 * 86'400; second < 7 * 86'400; second += 7) {
    const int64_t now = second * 1'000'000'000;
    ASSERT_EQ(cached.IsActive(now), cached.schedule().IsActive(absl::FromUnixNanos(now))) << second;
  }
}

TEST(CachedSchedule, StaysActiveForeverIfTheScheduleIs) {
  const CachedSchedule cached(Make({{kAllDays, 0, 1440}}));
  EXPECT_TRUE(cached.IsActive(0));
  EXPECT_TRUE(cached.IsActive(INT64_MAX));
}

TEST(CachedSchedule, ThreadsThatDisagreeAboutTheTimeEachGetTheirOwnAnswer) {
  const CachedSchedule cached(Make({{kMonday, 9 * 60, 17 * 60}}));
  const int64_t monday_noon = absl::ToUnixNanos(InstantOf("2026-01-05T12:00:00Z"));
  const int64_t tuesday_noon = absl::ToUnixNanos(InstantOf("2026-01-06T12:00:00Z"));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const int64_t now : {monday_noon, tuesday_noon}) {
    threads.emplace_back([&, now] {
      for (int i = 0; i < 100'000; ++i) {
        if (cached.IsActive(now) != (now == monday_noon)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace headgate::engine
