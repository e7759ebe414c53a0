#include "server/serve/web/exposition.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::web {
namespace {

using testing::HasSubstr;

TEST(Exposition, WritesGaugesAndCountersWithHelpAndType) {
  Exposition out;
  out.Gauge("headgate_things", "Things.").Set({{"kind", "a"}}, 3).Set({{"kind", "b"}}, 0.25);
  out.Counter("headgate_events_total", "Events.").Set({}, 1234567);
  EXPECT_EQ(out.Text(),
            "# HELP headgate_things Things.\n"
            "# TYPE headgate_things gauge\n"
            "headgate_things{kind=\"a\"} 3\n"
            "headgate_things{kind=\"b\"} 0.25\n"
            "# HELP headgate_events_total Events.\n"
            "# TYPE headgate_events_total counter\n"
            "headgate_events_total 1234567\n");
}

TEST(Exposition, MakesOneFamilyOfThoseWithOneName) {
  Exposition out;
  out.Gauge("headgate_things", "Things.").Set({{"kind", "a"}}, 1);
  out.Gauge("headgate_others", "Others.").Set({}, 2);
  out.Gauge("headgate_things", "Things.").Set({{"kind", "b"}}, 3);
  EXPECT_THAT(out.Text(),
              HasSubstr("headgate_things{kind=\"a\"} 1\nheadgate_things{kind=\"b\"} 3\n"));
}

TEST(Exposition, EscapesLabelsAndReplacesWhatIsNotUtf8) {
  Exposition out;
  out.Gauge("headgate_things", "Things.").Set({{"kind", "a\"b\\c\nd\xff"}}, 1);
  EXPECT_THAT(out.Text(), HasSubstr("headgate_things{kind=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"} 1\n"));
}

TEST(Exposition, EndsHistogramsWithAllThatWasCounted) {
  Exposition out;
  out.Histogram("headgate_time_seconds", "Time.")
      .Set({{"method", "Check"}}, HistogramValue{{{0.5, 2}, {1, 3}}, 4, 7.5});
  EXPECT_THAT(out.Text(),
              HasSubstr("# TYPE headgate_time_seconds histogram\n"
                        "headgate_time_seconds_count{method=\"Check\"} 4\n"
                        "headgate_time_seconds_sum{method=\"Check\"} 7.5\n"
                        "headgate_time_seconds_bucket{method=\"Check\",le=\"0.5\"} 2\n"
                        "headgate_time_seconds_bucket{method=\"Check\",le=\"1\"} 3\n"
                        "headgate_time_seconds_bucket{method=\"Check\",le=\"+Inf\"} 4\n"));
}

TEST(ToUtf8, KeepsCharactersAndReplacesEachOtherByte) {
  EXPECT_EQ(ToUtf8("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(ToUtf8("\xc3"), "\xef\xbf\xbd");
  EXPECT_EQ(ToUtf8("\xc0\x80z"), "\xef\xbf\xbd\xef\xbf\xbdz");
}

}  // namespace
}  // namespace headgate::web
