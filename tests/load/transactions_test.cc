// Throughput and percentiles that are exact, whatever the windows.

#include "tests/load/transactions.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate::load {
namespace {

absl::Time Second(double seconds) { return absl::FromUnixSeconds(1000) + absl::Seconds(seconds); }

// One every 10 ms from 0 to 10 s, the n-th with a latency of n us.
Transactions Steady() {
  Transactions transactions;
  for (int64_t n = 0; n < 1000; ++n) {
    transactions.Add({.ended_us = absl::ToUnixMicros(Second(0)) + n * 10'000, .latency_us = n});
  }
  return transactions;
}

TEST(Transactions, ReadsALineOfPgbench) {
  Transactions transactions;
  EXPECT_TRUE(transactions.AddLine("3 17 2311 0 1001 500000"));
  EXPECT_EQ(transactions.last(), Second(1.5));
  EXPECT_EQ(transactions.Over({{.from = Second(1), .to = Second(2)}}).p50,
            absl::Microseconds(2311));
}

TEST(Transactions, ReadsALineWithAScheduleLag) {
  Transactions transactions;
  EXPECT_TRUE(transactions.AddLine("3 17 2311 0 1001 500000 120"));
}

TEST(Transactions, LeavesOutWhatDidNotHappen) {
  Transactions transactions;
  EXPECT_FALSE(transactions.AddLine("3 17 skipped 0 1001 500000"));
  EXPECT_FALSE(transactions.AddLine("3 17"));
  EXPECT_FALSE(transactions.AddLine(""));
  EXPECT_TRUE(transactions.empty());
}

TEST(Transactions, CountsAWindowWithoutItsEnd) {
  const ForegroundStats stats = Steady().Over({{.from = Second(2), .to = Second(4)}});
  EXPECT_EQ(stats.count, 200);
  EXPECT_DOUBLE_EQ(stats.per_second, 100);
}

TEST(Transactions, TakesPercentilesOverAllWindowsTogether) {
  const ForegroundStats stats =
      Steady().Over({{.from = Second(0), .to = Second(1)}, {.from = Second(9), .to = Second(10)}});
  EXPECT_EQ(stats.count, 200);
  EXPECT_DOUBLE_EQ(stats.per_second, 100);
  EXPECT_EQ(stats.p50, absl::Microseconds(900));
  EXPECT_EQ(stats.p99, absl::Microseconds(998));
  EXPECT_EQ(stats.mean, absl::Nanoseconds(499'500));
}

TEST(Transactions, SortsWhatComesLate) {
  Transactions transactions = Steady();
  transactions.Add({.ended_us = absl::ToUnixMicros(Second(3.005)), .latency_us = 1});
  EXPECT_EQ(transactions.Over({{.from = Second(3), .to = Second(4)}}).count, 101);
  EXPECT_EQ(transactions.last(), Second(9.99));
}

TEST(Transactions, AnEmptyWindowIsZero) {
  const ForegroundStats stats = Steady().Over({{.from = Second(20), .to = Second(21)}});
  EXPECT_EQ(stats.count, 0);
  EXPECT_EQ(stats.per_second, 0);
  EXPECT_EQ(stats.p99, absl::ZeroDuration());
}

}  // namespace
}  // namespace headgate::load
