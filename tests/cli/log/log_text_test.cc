#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/log/cause_text.h"
#include "client/cli/log/denial_text.h"
#include "client/cli/log/heat_strip.h"
#include "client/cli/log/sums_text.h"
#include "client/cli/output/table.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/time_style.h"
#include "client/cli/output/value_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/log_server.h"

namespace headgate::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Percent, LooksLikeAllOrNothingOnlyWhereItIs) {
  EXPECT_EQ(Percent(0, 1000), "0 %");
  EXPECT_EQ(Percent(1, 1000), "<1 %");
  EXPECT_EQ(Percent(1, 3), "33 %");
  EXPECT_EQ(Percent(999, 1000), ">99 %");
  EXPECT_EQ(Percent(1000, 1000), "100 %");
}

v1::DenialCause CauseOf(v1::LimitKind kind, double peak, double limit) {
  v1::DenialCause cause;
  cause.set_limit_kind(kind);
  cause.set_budget("rows");
  cause.set_rule("no-etl");
  cause.set_peak(peak);
  cause.set_limit(limit);
  return cause;
}

std::string Both(const v1::DenialCause& cause) {
  return absl::StrCat(CauseText(cause), " | ", PeakText(cause));
}

TEST(Cause, IsToldInTheUnitOfWhatWasMeasured) {
  v1::DenialCause cause = CauseOf(v1::LIMIT_KIND_HEALTH, 7.1, 5);
  cause.set_reason(v1::REASON_HEALTH);
  EXPECT_EQ(Both(cause), "health | ");
  cause.set_signal("replication_lag_seconds on standby-2");
  EXPECT_EQ(Both(cause), "replication_lag_seconds on standby-2 | 7.1 s over hard 5 s");
  cause.set_peak(5);
  EXPECT_EQ(PeakText(cause), "5 s over hard 5 s");
  cause.set_peak(std::numeric_limits<double>::infinity());
  EXPECT_EQ(PeakText(cause), "absent");
  cause.set_peak(0);
  cause.set_limit(0);  // denied for want of a sample
  EXPECT_EQ(PeakText(cause), "");
  cause.set_peak(2.5e9);
  cause.set_limit(1e9);
  cause.set_signal("slot_retained_bytes");
  EXPECT_EQ(PeakText(cause), "2.5 GB over hard 1 GB");
  cause.set_signal("wal_bytes_per_second");
  EXPECT_EQ(PeakText(cause), "2.5 GB/s over hard 1 GB/s");
  cause.set_signal("active_sessions");
  EXPECT_EQ(PeakText(cause), "2500000000 over hard 1000000000");
}

TEST(Cause, NamesTheBudgetOrTheRule) {
  v1::DenialCause burst = CauseOf(v1::LIMIT_KIND_BURST, 130, 100);
  EXPECT_EQ(Both(burst), "budget 'rows': burst | debt 130 over 100");
  burst.set_signal("replication_lag_seconds");
  burst.set_peak(3);
  burst.set_limit(5);
  EXPECT_EQ(Both(burst),
            "budget 'rows': burst, slowed by replication_lag_seconds | 3 s below hard 5 s");
  EXPECT_EQ(Both(CauseOf(v1::LIMIT_KIND_MAX_COST, 130, 100)),
            "budget 'rows': max cost | cost 130 over 100");
  EXPECT_EQ(Both(CauseOf(v1::LIMIT_KIND_MAX_CONCURRENCY, 3, 3)),
            "budget 'rows': max concurrency | 3 of 3 permits");
  EXPECT_EQ(Both(CauseOf(v1::LIMIT_KIND_PERMITS, 16384, 16384)),
            "its share of permits | 16384 of 16384 permits");
  EXPECT_EQ(Both(CauseOf(v1::LIMIT_KIND_RATE, 1, 0)), "budget 'rows': a rate of 0 | ");
  EXPECT_EQ(Both(CauseOf(v1::LIMIT_KIND_PROBE, 1, 0)), "budget 'rows': measuring | ");
  v1::DenialCause rule = CauseOf(v1::LIMIT_KIND_RULE, 0.3, 0.4);
  EXPECT_EQ(Both(rule), "rule 'no-etl' | ");
  rule.set_reason(v1::REASON_REJECT_RATIO);
  EXPECT_EQ(Both(rule), "rule 'no-etl', by chance | rejects 40 %");
}

TEST(DenialLine, SaysWhenToComeBackIfThatHelps) {
  const absl::TimeZone utc = absl::UTCTimeZone();
  v1::Denial denial = DenialOf(1, "job-7:etl", Today(7, 0, 1.25));
  *denial.mutable_cause() = BurstCause();
  denial.set_target("main");
  EXPECT_EQ(DenialLine(denial, utc, Colours::kOff),
            "2020-11-20 07:00:01.250  DENIED  job-7:etl on main  by budget 'rows': burst, debt 130 "
            "over 100; cost 45, retry after 2s");
  denial.clear_retry_after();
  EXPECT_THAT(DenialLine(denial, utc, Colours::kOff),
              HasSubstr("; cost 45, waiting will not help"));
  denial.set_outcome(v1::OUTCOME_WOULD_BE_DENIED);
  EXPECT_THAT(DenialLine(denial, utc, Colours::kOff), EndsWith("; cost 45"));
}

TEST(TimeStyle, IsAsShortAsItCanBe) {
  const absl::TimeZone utc = absl::UTCTimeZone();
  EXPECT_EQ(TimeStyle({Today(7, 0), Today(7, 5)}, utc).Text(Today(7, 5)), "07:05");
  EXPECT_EQ(TimeStyle({Today(7, 0), Today(7, 5, 10)}, utc).Text(Today(7, 0)), "07:00:00");
  const absl::Time tomorrow = Today(0, 0) + absl::Hours(24);
  EXPECT_EQ(TimeStyle({Today(7, 0), tomorrow}, utc).Range(Today(7, 0), tomorrow), "07:00–24:00");
  EXPECT_EQ(SpanText(Today(7, 0), tomorrow, utc), "2020-11-20 07:00–24:00 UTC");
  EXPECT_EQ(SpanText(Today(7, 0), tomorrow + absl::Hours(1), utc),
            "2020-11-20 07:00–2020-11-21 01:00 UTC");
}

TEST(HeatStep, IsRoundAndFitsTheWindow) {
  EXPECT_EQ(HeatStep(absl::Hours(1), LogAge::kFresh, 80), absl::Minutes(2));
  EXPECT_EQ(HeatStep(absl::Hours(1), LogAge::kFresh, 400), absl::Seconds(20));
  EXPECT_EQ(HeatStep(absl::Hours(1), LogAge::kCoarse, 80), absl::Minutes(5));
  EXPECT_EQ(HeatStep(absl::Hours(24), LogAge::kFresh, 80), absl::Hours(1));
  EXPECT_EQ(HeatStep(absl::Hours(24 * 30), LogAge::kCoarse, 80), absl::Hours(24));
}

TEST(Heat, ColoursTellTheSharesApartWhereTheyAreOn) {
  v1::QueryThrottleLogResponse sums;
  Set(Today(6, 0), sums.mutable_from());
  Set(Today(7, 0), sums.mutable_to());
  *sums.add_sums() = Sum("a", 9, 1);
  Set(Today(6, 0), sums.mutable_sums(0)->mutable_from());
  *sums.add_sums() = Sum("a", 1, 9);
  Set(Today(6, 30), sums.mutable_sums(1)->mutable_from());
  const HeatOptions options = {.step = absl::Minutes(30), .zone = absl::UTCTimeZone()};
  EXPECT_THAT(HeatText(sums, options, Colours::kOn),
              HasSubstr("a  \x1b[33m░\x1b[0m\x1b[31m█\x1b[0m    \x1b[31m50 %\x1b[0m\n"));
  EXPECT_THAT(HeatText(sums, options, Colours::kOff), Not(HasSubstr("\x1b")));
}

v1::QueryThrottleLogResponse SumAt(absl::Time at, absl::Time from, absl::Time to) {
  v1::QueryThrottleLogResponse sums;
  Set(from, sums.mutable_from());
  Set(to, sums.mutable_to());
  *sums.add_sums() = Sum("a", 9, 1);
  Set(at, sums.mutable_sums(0)->mutable_from());
  return sums;
}

TEST(Heat, ShowsDatesWhereThereAreSeveralDays) {
  const absl::Time yesterday = Today(18, 0) - absl::Hours(24);
  const HeatOptions options = {.step = absl::Hours(1), .zone = absl::UTCTimeZone()};
  EXPECT_THAT(HeatText(SumAt(yesterday, yesterday, Today(12, 0)), options, Colours::kOff),
              HasSubstr("\n\n         11-20   08:00\n"));
  EXPECT_THAT(HeatText(SumAt(Today(0, 0), Today(0, 0), Today(18, 0)), options, Colours::kOff),
              HasSubstr("\n\n   00:00   08:00   16:00\n"));
}

TEST(Heat, HeadingIsNoWiderThanTheWindow) {
  HeatOptions options = {.step = absl::Hours(1), .zone = absl::UTCTimeZone()};
  options.columns = 40;
  const std::string text =
      HeatText(SumAt(Today(7, 0), Today(6, 0), Today(8, 0)), options, Colours::kOff);
  for (const std::string_view line :
       {text.substr(0, text.find('\n')), text.substr(text.find('\n') + 1)}) {
    EXPECT_LE(DisplayWidth(line.substr(0, line.find('\n'))), 40u) << line;
  }
  options.columns = 100;
  EXPECT_THAT(HeatText(SumAt(Today(7, 0), Today(6, 0), Today(8, 0)), options, Colours::kOff),
              HasSubstr("1h a cell: · not held back, "));
}

TEST(Heat, ShowsTheMostDeniedAndCountsTheRest) {
  v1::QueryThrottleLogResponse sums;
  Set(Today(6, 0), sums.mutable_from());
  Set(Today(7, 0), sums.mutable_to());
  for (int i = 0; i < 5; ++i) {
    *sums.add_sums() = Sum(absl::StrCat("job-", i), 9, i);
    *sums.mutable_sums(i)->mutable_from() = sums.from();
  }
  HeatOptions options = {.step = absl::Minutes(30), .zone = absl::UTCTimeZone()};
  options.most = 2;
  const std::string text = HeatText(sums, options, Colours::kOff);
  EXPECT_LT(text.find("job-4"), text.find("job-3"));
  EXPECT_THAT(text, HasSubstr("\nand 3 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("job-2")));
}

TEST(HeatText, KeepsTheRootOfAnIdentityThatIsTooLong) {
  v1::QueryThrottleLogResponse sums;
  Set(Today(6, 0), sums.mutable_from());
  Set(Today(7, 0), sums.mutable_to());
  *sums.add_sums() = Sum("d666bbfc_169e_11ed:vcopier:vreplication:online-ddl", 1, 3);
  *sums.add_sums() = Sum("job:a-root-that-is-longer-than-a-label-may-be", 1, 2);
  *sums.add_sums() = Sum("one-segment-that-is-longer-than-a-label", 1, 1);
  const HeatOptions options{.step = absl::Minutes(10), .zone = absl::UTCTimeZone(), .columns = 60};
  const std::string text = HeatText(sums, options, Colours::kOff);
  EXPECT_THAT(text, HasSubstr("\nd666bbfc_169…:online-ddl "));
  EXPECT_THAT(text, HasSubstr("\n…:a-root-that-is-longer…  "));
  EXPECT_THAT(text, HasSubstr("\none-segment-that-is-lon…  "));
}

}  // namespace
}  // namespace headgate::cli
