#include "server/remember/throttle_log/row_filter.h"

#include "gtest/gtest.h"

namespace headgate::throttle_log {
namespace {

TEST(RowFilter, APathBeginsWithTheRootAndIsItsOwnInverse) {
  EXPECT_EQ(PathOf("d666:vcopier:vreplication:online-ddl"), "online-ddl:vreplication:vcopier:d666");
  EXPECT_EQ(PathOf("online-ddl"), "online-ddl");
  EXPECT_EQ(PathOf(""), "");
  EXPECT_EQ(PathOf(PathOf("a:b:c")), "a:b:c");
}

TEST(RowFilter, ASegmentIsAWholeOne) {
  ScanFilter filter;
  filter.segment = "b";
  EXPECT_TRUE(TakesWho(filter, "b", "", ""));
  EXPECT_TRUE(TakesWho(filter, "a:b:c", "", ""));
  EXPECT_TRUE(TakesWho(filter, "a:b", "", ""));
  EXPECT_FALSE(TakesWho(filter, "ab:bc:c", "", ""));
  EXPECT_FALSE(TakesWho(filter, "", "", ""));
}

TEST(RowFilter, ASignalTakesItsInstancesAndNotItsNamesakes) {
  ScanFilter filter;
  filter.signals = {"replication_lag_seconds"};
  Cause cause;
  cause.signal = "replication_lag_seconds on standby-2";
  EXPECT_TRUE(TakesWhat(filter, Outcome::kDenied, cause));
  cause.signal = "replication_lag_seconds";
  EXPECT_TRUE(TakesWhat(filter, Outcome::kDenied, cause));
  cause.signal = "replication_lag_seconds_2 on a";
  EXPECT_FALSE(TakesWhat(filter, Outcome::kDenied, cause));
  cause.signal = "";
  EXPECT_FALSE(TakesWhat(filter, Outcome::kDenied, cause));
}

}  // namespace
}  // namespace headgate::throttle_log
