// What metrics tell of Checks that wait.

#include "gtest/gtest.h"
#include "server/serve/web/metrics.h"
#include "tests/serve/web/exposition_text.h"

namespace headgate::web {
namespace {

Scrape ScrapeOf(const line::LineStats& lines) {
  Exposition out;
  AddWaiting(lines, out);
  return Scrape::Parse(out.Text());
}

line::WaitTimes& WaitsOf(line::WaitEnd end, line::LineStats& lines) {
  return lines.waits[static_cast<size_t>(end)];
}

TEST(LineMetrics, TellWhoWaitsAndHowManyMay) {
  line::LineStats lines;
  lines.waiting = 7;
  lines.max_waiting = 100;
  lines.lines = 5;
  lines.waited_in = 2;
  lines.oldest = absl::Milliseconds(1500);
  lines.places = 3;
  lines.watches = 4;
  lines.entered = 20;
  const Scrape scrape = ScrapeOf(lines);
  EXPECT_EQ(scrape.Value("headgate_waiting"), 7);
  EXPECT_EQ(scrape.Value("headgate_waiting_max"), 100);
  EXPECT_EQ(scrape.Value("headgate_waiting_lines"), 2);
  EXPECT_EQ(scrape.Value("headgate_waiting_longest_seconds"), 1.5);
  EXPECT_EQ(scrape.Value("headgate_waiting_places"), 3);
  EXPECT_EQ(scrape.Value("headgate_lease_watches"), 4);
  EXPECT_EQ(scrape.Value("headgate_waits_total"), 20);
}

TEST(LineMetrics, TellHowLongWaitsWereByTheirEnd) {
  line::LineStats lines;
  WaitsOf(line::WaitEnd::kAdmitted, lines).Add(absl::Milliseconds(3));
  WaitsOf(line::WaitEnd::kAdmitted, lines).Add(absl::Seconds(5));
  WaitsOf(line::WaitEnd::kTimedOut, lines).Add(absl::Hours(3));
  const Scrape scrape = ScrapeOf(lines);
  EXPECT_EQ(scrape.Value("headgate_waits_ended_total", {{"end", "admitted"}}), 2);
  EXPECT_EQ(scrape.Value("headgate_waits_ended_total", {{"end", "timed_out"}}), 1);
  EXPECT_EQ(scrape.Value("headgate_waits_ended_total", {{"end", "left"}}), 0);
  const auto below = [&](const char* end, const char* bound) {
    return scrape.Value("headgate_wait_duration_seconds_bucket", {{"end", end}, {"le", bound}});
  };
  EXPECT_EQ(below("admitted", "0.001"), 0);
  EXPECT_EQ(below("admitted", "0.004"), 1);
  EXPECT_EQ(below("admitted", "4.096"), 1);
  EXPECT_EQ(below("admitted", "16.384"), 2);
  EXPECT_EQ(below("timed_out", "4194.304"), 0);
  EXPECT_EQ(below("timed_out", "+Inf"), 1);
  EXPECT_EQ(scrape.Value("headgate_wait_duration_seconds_sum", {{"end", "admitted"}}), 5.003);
}

TEST(LineMetrics, TellWhomALineHadNoRoomFor) {
  line::LineStats lines;
  lines.refused_full = 4;
  lines.refused_caller_full = 9;
  const Scrape scrape = ScrapeOf(lines);
  EXPECT_EQ(scrape.Value("headgate_waits_turned_away_total", {{"most", "all"}}), 4);
  EXPECT_EQ(scrape.Value("headgate_waits_turned_away_total", {{"most", "caller"}}), 9);
}

}  // namespace
}  // namespace headgate::web
