#include "client/cli/output/zone_text.h"

#include "absl/time/time.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/output/time_style.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

absl::TimeZone Zone(const char* name) {
  absl::TimeZone zone;
  EXPECT_TRUE(absl::LoadTimeZone(name, &zone)) << name;
  return zone;
}
absl::TimeZone Berlin() { return Zone("Europe/Berlin"); }

absl::Time Utc(int month, int day, int hour, int minute = 0) {
  return absl::FromCivil(absl::CivilMinute(2026, month, day, hour, minute), absl::UTCTimeZone());
}

TEST(ZoneText, NamesTheZoneAndItsOffsetAsOfWhatIsShown) {
  EXPECT_EQ(ZoneText(absl::UTCTimeZone(), {Utc(1, 1, 0)}), "UTC");
  EXPECT_EQ(ZoneText(Zone("Etc/UTC"), {Utc(1, 1, 0)}), "UTC");
  EXPECT_EQ(ZoneText(Berlin(), {Utc(1, 1, 0)}), "Europe/Berlin (UTC+01:00)");
  EXPECT_EQ(ZoneText(Zone("/usr/share/zoneinfo/Europe/Berlin"), {Utc(1, 1, 0)}), "CET (UTC+01:00)");
  EXPECT_EQ(ZoneText(Berlin(), {Utc(7, 1, 0)}), "Europe/Berlin (UTC+02:00)");
  EXPECT_EQ(ZoneText(Zone("America/St_Johns"), {Utc(1, 1, 0)}), "America/St_Johns (UTC-03:30)");
}

TEST(ZoneText, SaysWhenClocksChangedInBetween) {
  EXPECT_EQ(ZoneText(Berlin(), {Utc(10, 25, 3), Utc(10, 24, 12)}),
            "Europe/Berlin (UTC+02:00, UTC+01:00 from 2026-10-25 02:00)");
  EXPECT_EQ(ZoneText(Berlin(), {Utc(3, 28, 12), Utc(3, 29, 12)}),
            "Europe/Berlin (UTC+01:00, UTC+02:00 from 2026-03-29 03:00)");
}

TEST(TimesAre, SaysNothingWhereNoTimeIsShown) {
  EXPECT_EQ(TimesAre(Berlin(), {}), "");
  EXPECT_EQ(TimesAre(Berlin(), {Utc(1, 1, 0)}), "times are Europe/Berlin (UTC+01:00)\n");
}

// Clocks go back from 03:00 to 02:00, at 01:00 UTC.
TEST(TimeText, TellsTheTwoApartThatClocksShowAlike) {
  EXPECT_EQ(TimeText(Utc(10, 25, 0, 30), Berlin()), "2026-10-25 02:30:00 CEST");
  EXPECT_EQ(TimeText(Utc(10, 25, 1, 30), Berlin()), "2026-10-25 02:30:00 CET");
  EXPECT_EQ(TimeText(Utc(10, 25, 2, 0), Berlin()), "2026-10-25 03:00:00");
  EXPECT_EQ(TimeStyle({Utc(10, 25, 0, 30), Utc(10, 25, 1, 10)}, Berlin())
                .Range(Utc(10, 25, 0, 30), Utc(10, 25, 1, 10)),
            "02:30 CEST–02:10 CET");
}

// What --since and --until mean, at 14:03:20 on a day in Berlin.
struct Said {
  const char* now;  // in Berlin
  const char* since;
  const char* until;
  const char* meant;
};
class Span : public ::testing::TestWithParam<Said> {};

TEST_P(Span, IsTheOneThatIsMeant) {
  const Said& said = GetParam();
  absl::Time now;
  std::string error;
  ASSERT_TRUE(absl::ParseTime("%Y-%m-%d %H:%M", said.now, Berlin(), &now, &error)) << error;
  const absl::StatusOr<TimeSpan> span = SpanFromText(said.since, said.until, now, Berlin());
  ASSERT_TRUE(span.ok()) << span.status();
  const auto text = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%d %H:%M%Ez", time, Berlin());
  };
  EXPECT_EQ(text(span->from) + " to " + text(span->to), said.meant);
}

constexpr char kNow[] = "2026-11-30 14:03";
INSTANTIATE_TEST_SUITE_P(
    Each, Span,
    ::testing::Values(
        Said{kNow, "", "", "infinite-past to infinite-future"},
        Said{kNow, "1h", "", "2026-11-30 13:03+01:00 to infinite-future"},
        Said{kNow, "today", "", "2026-11-30 00:00+01:00 to infinite-future"},
        Said{kNow, "yesterday", "today", "2026-11-29 00:00+01:00 to 2026-11-30 00:00+01:00"},
        Said{kNow, "yesterday 07:00", "07:25", "2026-11-29 07:00+01:00 to 2026-11-29 07:25+01:00"},
        Said{kNow, "yesterday", "07:25", "2026-11-29 00:00+01:00 to 2026-11-29 07:25+01:00"},
        Said{kNow, "07:00", "07:25", "2026-11-30 07:00+01:00 to 2026-11-30 07:25+01:00"},
        // It has not been 22:00 today: last night is meant, and its end is this morning's.
        Said{kNow, "22:00", "02:00", "2026-11-29 22:00+01:00 to 2026-11-30 02:00+01:00"},
        Said{kNow, "", "22:00", "infinite-past to 2026-11-29 22:00+01:00"},
        Said{kNow, "2026-11-27 07:00", "07:25", "2026-11-27 07:00+01:00 to 2026-11-27 07:25+01:00"},
        Said{kNow, "2026-11-27 23:30", "00:30", "2026-11-27 23:30+01:00 to 2026-11-28 00:30+01:00"},
        Said{kNow, "2026-11-27T06:00:00Z", "07:25",
             "2026-11-27 07:00+01:00 to 2026-11-27 07:25+01:00"},
        // The hour that clocks have twice, from its first time to its second.
        Said{kNow, "2026-10-25 02:00", "02:30", "2026-10-25 02:00+02:00 to 2026-10-25 02:30+01:00"},
        Said{kNow, "2026-10-25 02:30", "2026-10-25 02:30",
             "2026-10-25 02:30+02:00 to 2026-10-25 02:30+01:00"},
        // The hour that they skip: from its end on.
        Said{kNow, "2026-03-29 02:30", "2026-03-29 04:00",
             "2026-03-29 03:00+02:00 to 2026-03-29 04:00+02:00"},
        // A day of 25 hours, and one of 23.
        Said{"2026-10-26 00:10", "yesterday", "today",
             "2026-10-25 00:00+02:00 to 2026-10-26 00:00+01:00"},
        Said{"2026-03-30 12:00", "yesterday", "today",
             "2026-03-29 00:00+01:00 to 2026-03-30 00:00+02:00"}));

TEST(SpanFromText, RefusesWhatEndsBeforeItBegins) {
  const absl::Time now = Utc(11, 30, 13);
  EXPECT_EQ(SpanFromText("2026-11-27 07:00", "2026-11-27 06:00", now, Berlin()).status().message(),
            "--since: 2026-11-27 07:00:00 CET is not before 2026-11-27 06:00:00 CET");
  EXPECT_EQ(SpanFromText("2027-01-01", "", now, Berlin()).status().message(),
            "--since: 2027-01-01 00:00:00 CET is not before 2026-11-30 14:00:00 CET");
  EXPECT_FALSE(SpanFromText("1h", "soon", now, Berlin()).ok());
}

TEST(ShareFromText, TakesPercentAndFractions) {
  for (const char* text : {"0.8", "80%", "80 %", " 80% "})
    EXPECT_EQ(*ShareFromText(text), 0.8) << text;
  EXPECT_EQ(*ShareFromText("100%"), 1);
  for (const char* wrong : {"", "80", "0", "0%", "101%", "%", "-5%", "nan%", "8o%"}) {
    EXPECT_EQ(ShareFromText(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace headgate::cli
