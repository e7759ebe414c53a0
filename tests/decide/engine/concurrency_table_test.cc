#include "server/decide/engine/concurrency_table.h"

#include <vector>

#include "gtest/gtest.h"

namespace headgate::engine {
namespace {

using Outcome = ConcurrencyTable::Outcome;

constexpr uint64_t kKey = 0x9e3779b97f4a7c15;

TEST(ConcurrencyTable, CountsUpToTheLimit) {
  ConcurrencyTable table(64);
  uint32_t cell = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(table.Acquire(kKey, 3, 100, cell), Outcome::kAcquired);
  }
  EXPECT_EQ(table.Acquire(kKey, 3, 100, cell), Outcome::kAtLimit);
  EXPECT_EQ(table.Count(kKey), 3);
}

TEST(ConcurrencyTable, ReleaseMakesRoom) {
  ConcurrencyTable table(64);
  uint32_t cell = 0;
  EXPECT_EQ(table.Acquire(kKey, 1, 100, cell), Outcome::kAcquired);
  table.Release(cell);
  EXPECT_EQ(table.Count(kKey), 0);
  EXPECT_EQ(table.Acquire(kKey, 1, 100, cell), Outcome::kAcquired);
}

TEST(ConcurrencyTable, KeysCountApart) {
  ConcurrencyTable table(64);
  uint32_t cell = 0;
  EXPECT_EQ(table.Acquire(kKey, 1, 100, cell), Outcome::kAcquired);
  EXPECT_EQ(table.Acquire(2 * kKey, 1, 100, cell), Outcome::kAcquired);
  EXPECT_EQ(table.Count(kKey), 1);
  EXPECT_EQ(table.Count(2 * kKey), 1);
}

TEST(ConcurrencyTable, UnknownKeyHasNone) {
  const ConcurrencyTable table(64);
  EXPECT_EQ(table.Count(kKey), 0);
  EXPECT_EQ(table.Find(kKey), ConcurrencyTable::kNone);
  EXPECT_EQ(table.EarliestExpiry(kKey), 0);
}

TEST(ConcurrencyTable, KnowsWhenTheFirstPermitExpires) {
  ConcurrencyTable table(64);
  uint32_t cell = 0;
  table.Acquire(kKey, 9, 300, cell);
  EXPECT_EQ(table.EarliestExpiry(kKey), 300);
  table.Acquire(kKey, 9, 200, cell);
  table.Acquire(kKey, 9, 400, cell);
  EXPECT_EQ(table.EarliestExpiry(kKey), 200);
  table.SetEarliestExpiry(cell, 250);
  EXPECT_EQ(table.EarliestExpiry(kKey), 250);
}

TEST(ConcurrencyTable, ReusesACellThatNobodyHolds) {
  ConcurrencyTable table(64);
  uint32_t cell = 0;
  for (uint64_t i = 1; i <= 10'000; ++i) {
    ASSERT_EQ(table.Acquire(i * kKey, 1, 100, cell), Outcome::kAcquired);
    table.Release(cell);
  }
}

TEST(ConcurrencyTable, FullTableSaysSoAndForgetsNobody) {
  ConcurrencyTable table(64);
  std::vector<uint64_t> held;
  uint32_t cell = 0;
  int full = 0;
  for (uint64_t i = 1; i <= 200; ++i) {
    const Outcome outcome = table.Acquire(i * kKey, 1, 100, cell);
    if (outcome == Outcome::kAcquired) held.push_back(i * kKey);
    full += outcome == Outcome::kTableFull;
  }
  EXPECT_GT(full, 0);
  EXPECT_LE(held.size(), 64U);
  for (const uint64_t key : held) EXPECT_EQ(table.Count(key), 1);
}

TEST(ConcurrencyTable, CountsAsFarAsItsLargestLimit) {
  ConcurrencyTable table(64);
  uint32_t cell = 0;
  for (int64_t i = 0; i < ConcurrencyTable::kMaxLimit; ++i) {
    ASSERT_EQ(table.Acquire(kKey, ConcurrencyTable::kMaxLimit, 100, cell), Outcome::kAcquired);
  }
  EXPECT_EQ(table.Acquire(kKey, ConcurrencyTable::kMaxLimit, 100, cell), Outcome::kAtLimit);
  EXPECT_EQ(table.Count(kKey), 65535);
}

}  // namespace
}  // namespace headgate::engine
