#include "client/cli/output/value_text.h"

#include <string>

#include "client/cli/arguments/parse_value.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

TEST(ShortNumber, IsExactWhereItIsWholeAndShortElsewhere) {
  EXPECT_EQ(ShortNumber(0), "0");
  EXPECT_EQ(ShortNumber(1234567), "1234567");
  EXPECT_EQ(ShortNumber(0.05), "0.05");
  EXPECT_EQ(ShortNumber(2.0 / 3), "0.6667");
  EXPECT_EQ(ShortNumber(12345.678), "12345.7");
  EXPECT_EQ(ShortNumber(1e20), "1e+20");
}

TEST(ExactNumber, ReadsBackAsTheSameNumber) {
  EXPECT_EQ(ExactNumber(0.1), "0.1");
  EXPECT_EQ(std::stod(ExactNumber(1.0 / 3)), 1.0 / 3);
}

TEST(ShortDuration, RoundsUpToWhatMatters) {
  EXPECT_EQ(ShortDuration(absl::ZeroDuration()), "0");
  EXPECT_EQ(ShortDuration(absl::Nanoseconds(1'500)), "2us");
  EXPECT_EQ(ShortDuration(absl::Microseconds(300'100)), "301ms");
  EXPECT_EQ(ShortDuration(absl::Milliseconds(2'345)), "2.35s");
  EXPECT_EQ(ShortDuration(absl::Milliseconds(61'200)), "1m2s");
  EXPECT_EQ(ShortDuration(absl::Seconds(3 * 3600 + 61)), "3h2m");
}

TEST(DurationFromText, TakesUnitsAndRefusesTheRest) {
  EXPECT_EQ(*DurationFromText("250ms"), absl::Milliseconds(250));
  EXPECT_EQ(*DurationFromText("1h30m"), absl::Minutes(90));
  EXPECT_EQ(*DurationFromText("0"), absl::ZeroDuration());
  for (const char* wrong : {"", "5", "5 s", "fast", "-3s", "inf", "1d"}) {
    EXPECT_EQ(DurationFromText(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(TimeFromText, TakesWhatIsAgoWhatIsTodayAndWhatIsExact) {
  absl::TimeZone berlin;
  ASSERT_TRUE(absl::LoadTimeZone("Europe/Berlin", &berlin));
  const absl::Time now = absl::FromCivil(absl::CivilSecond(2026, 11, 20, 14, 3, 20), berlin);
  const auto text = [&](const std::string& word) {
    const auto time = TimeFromText(word, now, berlin);
    return time.ok() ? absl::FormatTime("%Y-%m-%d %H:%M:%S", *time, berlin)
                     : std::string(time.status().message());
  };
  EXPECT_EQ(text("1h30m"), "2026-11-20 12:33:20");
  EXPECT_EQ(text("2d"), "2026-11-18 14:03:20");
  EXPECT_EQ(text("06:00"), "2026-11-20 06:00:00");
  EXPECT_EQ(text("06:00:30"), "2026-11-20 06:00:30");
  EXPECT_EQ(text("2026-11-01"), "2026-11-01 00:00:00");
  EXPECT_EQ(text("2026-11-01 06:05"), "2026-11-01 06:05:00");
  EXPECT_EQ(text("2026-11-01 06:05:07"), "2026-11-01 06:05:07");
  EXPECT_EQ(text("2026-11-01T06:00:00Z"), "2026-11-01 07:00:00");
  EXPECT_EQ(text("2026-11-01T06:00:00+01:00"), "2026-11-01 06:00:00");
}

TEST(ComingTimeFromText, TakesTheNextTimeOfDayAndWhatIsExact) {
  absl::TimeZone berlin;
  ASSERT_TRUE(absl::LoadTimeZone("Europe/Berlin", &berlin));
  const absl::Time now = absl::FromCivil(absl::CivilSecond(2026, 10, 24, 14, 3, 20), berlin);
  const auto text = [&](const std::string& word) {
    const auto time = ComingTimeFromText(word, now, berlin);
    return time.ok() ? absl::FormatTime("%Y-%m-%d %H:%M:%S%Ez", *time, berlin)
                     : std::string(time.status().message());
  };
  EXPECT_EQ(text("23:00"), "2026-10-24 23:00:00+02:00");
  EXPECT_EQ(text("14:03:20"), "2026-10-25 14:03:20+01:00");  // summer time has ended
  EXPECT_EQ(text("06:00"), "2026-10-25 06:00:00+01:00");
  EXPECT_EQ(text("2026-11-20 23:30"), "2026-11-20 23:30:00+01:00");
  EXPECT_EQ(text("2026-01-31T18:00:00Z"), "2026-01-31 19:00:00+01:00");
  for (const char* wrong : {"", "soon", "25:00", "1h", "2026-11-20", "infinite-future"}) {
    EXPECT_FALSE(ComingTimeFromText(wrong, now, berlin).ok()) << wrong;
  }
}

TEST(TimeFromText, RefusesTheRest) {
  for (const char* wrong : {"", "yesterdays", "yesterday 25:00", "today07:00", "-1h", "-1d",
                            "25:00", "6", "infinite-past", "now", "2026-13-01", "nand", "1e300d"}) {
    EXPECT_FALSE(TimeFromText(wrong, absl::UnixEpoch(), absl::UTCTimeZone()).ok()) << wrong;
  }
}

TEST(CostFromText, TakesNumbersFromZeroToTheMostThatTheServerTakes) {
  EXPECT_EQ(*CostFromText("0"), 0);
  EXPECT_EQ(*CostFromText("2.5e3"), 2500);
  EXPECT_EQ(*CostFromText("1e15"), 1e15);
  for (const char* wrong : {"", "x", "-1", "nan", "inf", "1.1e15", "1e999", "1,5"}) {
    EXPECT_EQ(CostFromText(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace headgate::cli
