// Throughput and percentiles that are exact, whatever the windows.

#include "tests/load/transactions.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate::load {
namespace {

absl::Time At(double seconds) { return absl::FromUnixSeconds(1000) + absl::Seconds(seconds); }

// One every 10 ms from 0 to 10 s, the n-th with a latency of n us.
Transactions Steady() {
  Transactions transactions;
  for (int64_t n = 0; n < 1000; ++n) {
    transactions.Add({.ended_us = absl::ToUnixMicros(At(0)) + n * 10'000, .latency_us = n});
  }
  return transactions;
}

TEST(Transactions, ReadsALineOfPgbench) {
  Transactions transactions;
  EXPECT_TRUE(transactions.AddLine("3 17 2311 0 1001 500000"));
  EXPECT_EQ(transactions.last(), At(1.5));
  EXPECT_EQ(transactions.Over({{.from = At(1), .to = At(2)}}).p50, absl::Microseconds(2311));
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
  const ForegroundStats stats = Steady().Over({{.from = At(2), .to = At(4)}});
  EXPECT_EQ(stats.count, 200);
  EXPECT_DOUBLE_EQ(stats.per_second, 100);
}

TEST(Transactions, TakesPercentilesOverAllWindowsTogether) {
  const ForegroundStats stats =
      Steady().Over({{.from = At(0), .to = At(1)}, {.from = At(9), .to = At(10)}});
  EXPECT_EQ(stats.count, 200);
  EXPECT_DOUBLE_EQ(stats.per_second, 100);
  EXPECT_EQ(stats.p50, absl::Microseconds(900));
  EXPECT_EQ(stats.p99, absl::Microseconds(998));
  EXPECT_EQ(stats.mean, absl::Nanoseconds(499'500));
}

TEST(Transactions, SortsWhatComesLate) {
  Transactions transactions = Steady();
  transactions.Add({.ended_us = absl::ToUnixMicros(At(3.005)), .latency_us = 1});
  EXPECT_EQ(transactions.Over({{.from = At(3), .to = At(4)}}).count, 101);
  EXPECT_EQ(transactions.last(), At(9.99));
}

TEST(Transactions, AnEmptyWindowIsZero) {
  const ForegroundStats stats = Steady().Over({{.from = At(20), .to = At(21)}});
  EXPECT_EQ(stats.count, 0);
  EXPECT_EQ(stats.per_second, 0);
  EXPECT_EQ(stats.p99, absl::ZeroDuration());
}

}  // namespace
}  // namespace headgate::load
