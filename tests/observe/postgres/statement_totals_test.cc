#include "server/observe/postgres/statement_totals.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/observe/postgres/reading_budget.h"

namespace headgate::postgres {
namespace {

using Rows = std::vector<StatementTotals::Row>;
using health::StatementsWish;

TEST(StatementTotals, GrowByWhatIsInBothReadings) {
  StatementTotals totals;
  totals.Add({{.key = "a", .calls = 1000, .seconds = 5, .squares = 1}}, "x", 1);
  const auto before = totals.counted();
  totals.Add({{.key = "a", .calls = 1100, .seconds = 5.2, .squares = 1.001}}, "x", 1);
  EXPECT_DOUBLE_EQ(totals.counted().calls - before.calls, 100);
  EXPECT_NEAR(totals.counted().timed_seconds - before.timed_seconds, 0.2, 1e-9);
  // A mean of 2 ms: 100 times 4 µs^2 of the squares are not deviation.
  EXPECT_NEAR(totals.counted().timed_deviations - before.timed_deviations, 0.0006, 1e-9);
  EXPECT_EQ(totals.counted().generation, before.generation);
}

TEST(StatementTotals, WhatDiffersBetweenStatementsIsNoDeviation) {
  StatementTotals totals;
  const auto squares = [](double calls, double mean, double deviation) {
    return calls * (mean * mean + deviation * deviation);
  };
  totals.Add({{.key = "short"}, {.key = "long"}}, "x", 1);
  const auto before = totals.counted();
  totals.Add({{.key = "short", .calls = 100, .seconds = 0.1, .squares = squares(100, 0.001, 0.002)},
              {.key = "long", .calls = 300, .seconds = 30, .squares = squares(300, 0.1, 0.002)}},
             "x", 1);
  const auto& after = totals.counted();
  EXPECT_NEAR((after.timed_deviations - before.timed_deviations) / 400, 0.002 * 0.002, 1e-12);
}

TEST(StatementTotals, RoundingDoesNotMakeADeviationNegative) {
  StatementTotals totals;
  totals.Add({{.key = "a", .calls = 1, .seconds = 0.1, .squares = 0.01}}, "x", 1);
  totals.Add({{.key = "a", .calls = 11, .seconds = 1.1, .squares = 0.1099999}}, "x", 1);
  EXPECT_GE(totals.counted().timed_deviations, 0);
}

TEST(StatementTotals, AnEvictedEntryOfLittleWeightChangesNothing) {
  StatementTotals totals;
  const auto reading = [&](double hot, Rows more) {
    more.push_back({.key = "hot", .calls = hot, .seconds = hot / 1000, .squares = 0});
    totals.Add(std::move(more), "x", 1);
  };
  reading(1000, {{.key = "rare", .calls = 1}});
  reading(1500, {{.key = "rare", .calls = 2}});
  const auto before = totals.counted();
  reading(2000, {});
  reading(2500, {{.key = "rare", .calls = 1}});
  EXPECT_DOUBLE_EQ(totals.counted().calls - before.calls, 1000);
  EXPECT_EQ(totals.counted().generation, before.generation);
}

TEST(StatementTotals, WhereMostOfItWasResetNothingIsComparedAcross) {
  StatementTotals totals;
  for (const double calls : {1000.0, 1500.0, 2000.0}) {
    totals.Add({{.key = "a", .calls = calls}}, "x", 1);
  }
  const auto before = totals.counted();
  totals.Add({{.key = "a", .calls = 10}}, "x", 1);  // of its role alone
  EXPECT_NE(totals.counted().generation, before.generation);
  EXPECT_DOUBLE_EQ(totals.counted().calls, before.calls);
  totals.Add({{.key = "a", .calls = 20}}, "y", 1);  // all of it
  EXPECT_DOUBLE_EQ(totals.counted().calls, before.calls);
}

TEST(StatementTotals, LongQueriesThatRunSeldomHaveNoSayInTheTimes) {
  StatementTotals totals;
  for (int i = 0; i < 5; ++i) {
    totals.Add({{.key = "short", .calls = 1000.0 * i, .seconds = 0.5 * i},
                {.key = "report", .calls = 0.5 * i, .seconds = 20.0 * i}},
               "x", 1);
  }
  EXPECT_DOUBLE_EQ(totals.counted().timed_seconds, 2);
  EXPECT_DOUBLE_EQ(totals.counted().calls, 4002);
  EXPECT_DOUBLE_EQ(totals.counted().busy_seconds, 82);
}

// As many as `count`, whose keys begin with `name`.
Rows Many(const std::string& name, size_t count, double calls, double ran = 0) {
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back({.key = absl::StrCat(name, i), .calls = calls, .ran = ran});
  }
  return rows;
}

Rows operator+(Rows rows, Rows more) {
  std::move(more.begin(), more.end(), std::back_inserter(rows));
  return rows;
}

TEST(StatementTotals, NewOnesThatRunTakeThePlaceOfOldOnesThatDoNot) {
  StatementTotals totals;
  totals.Add(Many("old", 200, 1e6) + Many("rare", 100, 10), "x", 1);
  EXPECT_THAT(totals.Compared(), testing::Each(testing::StartsWith("old")));
  totals.Add(Many("old", 200, 1e6) + Many("new", 50, 100, 100), "x", 30);
  const auto before = totals.counted();
  ASSERT_EQ(totals.Compared().size(), 200u);
  totals.Add(Many("old", 150, 1e6) + Many("new", 50, 200), "x", 30);
  EXPECT_DOUBLE_EQ(totals.counted().calls - before.calls, 5000);
  EXPECT_EQ(totals.counted().generation, before.generation);
}

TEST(StatementTotals, NewOnesThatRunMuchMakeADifferenceThatSaysNothing) {
  StatementTotals totals;
  totals.Add({{.key = "a", .calls = 1000}}, "x", 1);
  totals.Add({{.key = "a", .calls = 1100}}, "x", 1);
  const auto before = totals.counted();
  totals.Add({{.key = "a", .calls = 1200}, {.key = "b", .calls = 50, .ran = 50}}, "x", 1);
  EXPECT_DOUBLE_EQ(totals.counted().calls - before.calls, 100);
  EXPECT_NE(totals.counted().generation, before.generation);
}

TEST(StatementTotals, StatementsThatAreNewEachTimeHaveNoSay) {
  StatementTotals totals;
  totals.Add({{.key = "a", .calls = 1000}}, "x", 1);
  const auto before = totals.counted();
  for (int i = 1; i <= 20; ++i) {
    totals.Add(Rows{{.key = "a", .calls = 1000.0 + 100 * i}} +
                   Many(absl::StrCat("once", i, "."), 100, 1, 1),
               "x", 1);
    const std::vector<std::string> compared = totals.Compared();
    EXPECT_LE(compared.size(), 200u);
    EXPECT_THAT(compared, testing::Contains("a"));
  }
  EXPECT_DOUBLE_EQ(totals.counted().calls - before.calls, 2000);
  EXPECT_EQ(totals.counted().generation, before.generation);
}

TEST(StatementTotals, WhatCannotBeComparedHasRunAllTheSame) {
  StatementTotals totals;
  totals.Add({{.key = "a", .calls = 1000}, {.key = "b", .calls = 70}}, "x", 1);
  totals.AddOthers(1e6);  // ever, and not since a reading before
  const auto before = totals.counted();
  // One has grown, one was evicted and came back, others are new, or gone again.
  totals.Add({{.key = "a", .calls = 1100}, {.key = "b", .calls = 5}}, "x", 1);
  totals.AddOthers(30);
  EXPECT_DOUBLE_EQ(totals.counted().calls - before.calls, 100);
  EXPECT_DOUBLE_EQ(totals.counted().ran - before.ran, 135);
  EXPECT_EQ(totals.counted().ran_generation, before.ran_generation);
}

TEST(StatementTotals, WhatRanIsKnownWhereNothingOfItCanBeCompared) {
  StatementTotals totals;
  double ran = 0;
  for (int i = 0; i < 10; ++i) {
    totals.Add(Many(absl::StrCat("once", i, "."), 100, 1), "x", 1);
    totals.AddOthers(600);
    if (i > 0) {
      EXPECT_DOUBLE_EQ(totals.counted().ran - ran, 600);
    }
    ran = totals.counted().ran;
  }
  EXPECT_DOUBLE_EQ(totals.counted().calls, 0);
}

TEST(StatementTotals, WhereNothingIsKnownOfOthersItIsSaid) {
  StatementTotals totals;
  const auto generation_after = [&](const std::string& source, std::optional<double> others) {
    totals.Add({{.key = "a", .calls = 1000}}, source, 1);
    totals.AddOthers(others);
    return totals.counted().ran_generation;
  };
  const int64_t first = generation_after("x", 0);
  EXPECT_EQ(generation_after("x", 10), first);
  const int64_t unknown = generation_after("x", std::nullopt);
  EXPECT_NE(unknown, first);
  EXPECT_EQ(generation_after("x", 10), unknown);
  EXPECT_NE(generation_after("y", 10), unknown);  // all counts begin anew
}

TEST(StatementTotals, WhereMoreRunTheSameAreComparedAndWhatIsLeftOutIsNotLost) {
  StatementTotals totals;
  totals.Add(Many("one", 200, 1000), "x", 1);
  totals.Add(Many("one", 200, 1100) + Many("other", 200, 1000, 100), "x", 10);
  const auto before = totals.counted();
  EXPECT_EQ(totals.ran(), 400u);
  for (int i = 2; i < 5; ++i) {
    EXPECT_THAT(totals.Compared(), testing::Each(testing::StartsWith("one")));
    // In a short time there are some that run more than once by chance.
    totals.Add(Many("one", 200, 1000 + 100.0 * i) + Many("other", 200, 1e6, 3), "x", 0.3);
    totals.Add(Many("one", 200, 1000 + 100.0 * i) + Many("other", 200, 1e6, 100), "x", 10);
  }
  EXPECT_EQ(totals.counted().generation, before.generation);
}

TEST(ReadingBudget, ReadingsTakeNoMoreThanTheirShareOfACore) {
  for (const int64_t entries : {50, 5000}) {
    ReadingBudget budget;
    double spent = 0;
    int64_t now_ns = 0;
    for (; now_ns < 600'000'000'000; now_ns += 500'000'000) {
      if (!budget.Allows(StatementsWish::kSpare, now_ns)) continue;
      budget.Spend(entries, now_ns);
      spent += ReadingBudget::kReadingSeconds +
               ReadingBudget::kEntrySeconds * static_cast<double>(entries);
    }
    EXPECT_LT(spent / 600, 0.0007) << entries;
    EXPECT_GT(spent / 600, 0.0002) << entries;
  }
}

TEST(ReadingBudget, TwoReadingsMayFollowEachOtherClosely) {
  ReadingBudget budget;
  int64_t now_ns = 100'000'000'000;
  budget.Spend(5000, now_ns);
  EXPECT_FALSE(budget.Allows(StatementsWish::kPair, now_ns));
  while (!budget.Allows(StatementsWish::kPair, now_ns)) now_ns += 1'000'000'000;
  budget.Spend(5000, now_ns);
  now_ns += 1'500'000'000;
  EXPECT_FALSE(budget.Allows(StatementsWish::kSpare, now_ns));
  EXPECT_TRUE(budget.Allows(StatementsWish::kNow, now_ns));
}

}  // namespace
}  // namespace headgate::postgres
