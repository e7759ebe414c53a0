// What every throttle_log::Store has to do, as one suite of typed tests.
//
// A store's own test gives a Maker, whose objects open one store, empty at first, and anew after it
// was closed:
//
//   struct SqliteMaker {
//     std::unique_ptr<throttle_log::Store> Open(const throttle_log::Retention& retention);
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, LogStoreContract, SqliteMaker);
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/store.h"
#include "server/remember/throttle_log/waits_text.h"

namespace headgate::throttle_log {

inline void PrintTo(const Row& row, std::ostream* out) {
  *out << row.step_s << "+" << row.length_s << " " << row.key.identity << "@" << row.key.target
       << (row.key.folded ? " folded" : "") << " outcome " << static_cast<int>(row.key.outcome)
       << " reason " << static_cast<int>(row.key.cause.reason) << " limit "
       << static_cast<int>(row.key.cause.limit) << " '" << row.key.cause.budget << "' '"
       << row.key.cause.rule << "' '" << row.key.cause.signal << "': " << row.counts.checks << ", "
       << row.counts.cost << ", " << row.counts.peak << " of " << row.counts.limit;
  if (row.counts.waits.get() != nullptr) *out << ", waits " << WaitsText(*row.counts.waits.get());
}

inline bool operator==(const Row& a, const Row& b) {
  const auto all = [](const Row& row) {
    return std::tuple(row.step_s, row.length_s, row.key, row.counts.checks, row.counts.cost,
                      row.counts.peak, row.counts.limit, row.counts.waits.get() != nullptr);
  };
  if (all(a) != all(b)) return false;
  return a.counts.waits.get() == nullptr || *a.counts.waits.get() == *b.counts.waits.get();
}

}  // namespace headgate::throttle_log

namespace headgate {

using throttle_log::Counts;
using throttle_log::Outcome;
using throttle_log::Retention;
using throttle_log::Row;
using throttle_log::RowKey;
using throttle_log::ScanFilter;

// 2026-01-01 00:00 UTC; all steps and blocks begin here.
inline constexpr int64_t kLogBegin = 1'767'225'600;

inline Row AllowedRow(int64_t step_s, const std::string& identity, int64_t checks,
                      double cost = 0) {
  return {.step_s = step_s,
          .length_s = 10,
          .key = {.target = "main", .identity = identity, .cause = {}},
          .counts = {.checks = checks, .cost = cost}};
}

inline Row DeniedRow(int64_t step_s, const std::string& identity, int64_t checks,
                     const std::string& signal, double peak, double limit) {
  Row row = AllowedRow(step_s, identity, checks, 0.5 * static_cast<double>(checks));
  row.key.outcome = Outcome::kDenied;
  row.key.cause = {.reason = engine::Reason::kHealth,
                   .limit = engine::Limit::kHealth,
                   .budget = "",
                   .rule = "",
                   .signal = signal};
  row.counts.peak = peak;
  row.counts.limit = limit;
  return row;
}

// Of whole microseconds, as stores keep them.
inline Row WaitedRow(int64_t step_s, const std::string& identity, const std::string& signal,
                     const throttle_log::Waits& waits) {
  Row row = DeniedRow(step_s, identity, 0, signal, 7, 5);
  row.key.outcome = Outcome::kWaited;
  row.counts.waits.Add(waits);
  return row;
}

inline Row Coarse(Row row, int32_t length_s) {
  row.length_s = length_s;
  return row;
}

inline std::vector<Row> ScanAll(const throttle_log::Store& store, const ScanFilter& filter) {
  std::vector<Row> rows;
  const absl::Status status = store.Scan(filter, [&](const Row& row) {
    rows.push_back(row);
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  return rows;
}

inline ScanFilter Between(int64_t from_s, int64_t to_s) {
  ScanFilter filter;
  filter.from_s = from_s;
  filter.to_s = to_s;
  return filter;
}

// Of the days around kLogBegin.
inline ScanFilter Everything() {
  return Between(kLogBegin - 100 * 86'400, kLogBegin + 100 * 86'400);
}

inline int64_t ChecksIn(const throttle_log::Store& store) {
  int64_t checks = 0;
  for (const Row& row : ScanAll(store, Everything())) checks += row.counts.checks;
  return checks;
}

template <typename Maker>
class LogStoreContract : public testing::Test {
 protected:
  void Open(const Retention& retention = {}) {
    store_ = nullptr;
    store_ = maker_.Open(retention);
    ASSERT_NE(store_, nullptr);
  }
  void Append(const std::vector<Row>& rows) {
    const absl::Status status = store_->Append(rows, ++batch_);
    ASSERT_TRUE(status.ok()) << status;
  }
  // As often as it takes.
  void MaintainAt(int64_t now_s) {
    for (int i = 0; i < 20; ++i) {
      const absl::Status status = store_->Maintain(absl::FromUnixSeconds(now_s));
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  std::vector<std::string> Identities(const ScanFilter& filter) {
    std::vector<std::string> identities;
    for (const Row& row : ScanAll(*store_, filter)) identities.push_back(row.key.identity);
    return identities;
  }

  Maker maker_;
  std::unique_ptr<throttle_log::Store> store_;
  int64_t batch_ = 0;
};
TYPED_TEST_SUITE_P(LogStoreContract);

TYPED_TEST_P(LogStoreContract, AnEmptyLogHasNothing) {
  this->Open();
  EXPECT_THAT(ScanAll(*this->store_, Everything()), testing::IsEmpty());
  this->MaintainAt(kLogBegin);
  EXPECT_EQ(this->store_->State().oldest, absl::InfiniteFuture());
  EXPECT_TRUE(this->store_->State().status.ok());
}

TYPED_TEST_P(LogStoreContract, WhatIsAppendedComesBackWhole) {
  this->Open();
  Row row = {.step_s = kLogBegin + 10,
             .length_s = 10,
             .key = {.target = "t",
                     .identity = "a:b",
                     .folded = true,
                     .outcome = Outcome::kWouldBeDenied,
                     .cause = {.reason = engine::Reason::kCapacity,
                               .limit = engine::Limit::kBurst,
                               .budget = "it's, a \"budget\"\\\t\n",
                               .rule = "ümläut",
                               .signal = "s on x"}},
             .counts = {.checks = 3'000'000'000, .cost = 0.1, .peak = 7.1, .limit = 5}};
  this->Append({row});
  EXPECT_THAT(ScanAll(*this->store_, Everything()), testing::ElementsAre(row));
}

TYPED_TEST_P(LogStoreContract, CountsAddUpAndThePeakKeepsItsLimit) {
  this->Open();
  const std::string signal = "replication_lag_seconds on standby-2";
  this->Append({DeniedRow(kLogBegin, "etl", 2, signal, 6, 5)});
  this->Append({DeniedRow(kLogBegin, "etl", 3, signal, 9, 7)});
  this->Append({DeniedRow(kLogBegin, "etl", 4, signal, 8, 6)});
  EXPECT_THAT(ScanAll(*this->store_, Everything()),
              testing::ElementsAre(DeniedRow(kLogBegin, "etl", 9, signal, 9, 7)));
}

TYPED_TEST_P(LogStoreContract, OneKeyTwiceInABatchAddsUp) {
  this->Open();
  this->Append({AllowedRow(kLogBegin, "a", 1, 0.25), AllowedRow(kLogBegin, "a", 2, 0.5)});
  EXPECT_THAT(ScanAll(*this->store_, Everything()),
              testing::ElementsAre(AllowedRow(kLogBegin, "a", 3, 0.75)));
}

TYPED_TEST_P(LogStoreContract, TheLastBatchIsNotAddedAgain) {
  this->Open();
  const std::vector<Row> rows = {AllowedRow(kLogBegin, "a", 1)};
  ASSERT_TRUE(this->store_->Append(rows, 7).ok());
  ASSERT_TRUE(this->store_->Append(rows, 7).ok());
  EXPECT_EQ(ChecksIn(*this->store_), 1);
  ASSERT_TRUE(this->store_->Append(rows, 8).ok());
  EXPECT_EQ(ChecksIn(*this->store_), 2);
}

TYPED_TEST_P(LogStoreContract, ABatchWithARowThatIsWrongLeavesNothing) {
  this->Open();
  Row wrong = AllowedRow(kLogBegin, "b", 1);
  wrong.length_s = 0;
  const std::vector<Row> rows = {AllowedRow(kLogBegin, "a", 1), wrong};
  EXPECT_TRUE(absl::IsInvalidArgument(this->store_->Append(rows, 1)));
  EXPECT_EQ(ChecksIn(*this->store_), 0);
  this->Append({AllowedRow(kLogBegin, "a", 1)});  // of the same number
  EXPECT_EQ(ChecksIn(*this->store_), 1);
}

TYPED_TEST_P(LogStoreContract, WhatWasAppendedIsThereAfterItWasOpenedAnew) {
  this->Open();
  this->Append({AllowedRow(kLogBegin, "a", 1)});
  this->Open();
  this->Append({AllowedRow(kLogBegin, "a", 2), AllowedRow(kLogBegin, "b", 1)});
  EXPECT_THAT(ScanAll(*this->store_, Everything()),
              testing::ElementsAre(AllowedRow(kLogBegin, "a", 3), AllowedRow(kLogBegin, "b", 1)));
}

TYPED_TEST_P(LogStoreContract, ANewOpenersFirstBatchIsTakenWhateverItsNumber) {
  this->Open();
  const std::vector<Row> rows = {AllowedRow(kLogBegin, "a", 1)};
  ASSERT_TRUE(this->store_->Append(rows, 1).ok());
  this->Open();
  ASSERT_TRUE(this->store_->Append(rows, 1).ok());
  EXPECT_EQ(ChecksIn(*this->store_), 2);
}

TYPED_TEST_P(LogStoreContract, RowsComeByTimeThenByIdentity) {
  this->Open();
  this->Append({AllowedRow(kLogBegin + 3600, "a", 1), AllowedRow(kLogBegin + 10, "b", 1),
                AllowedRow(kLogBegin, "c:a", 1), AllowedRow(kLogBegin + 10, "a:z", 1),
                AllowedRow(kLogBegin, "a", 1), AllowedRow(kLogBegin + 90'000, "a", 1)});
  EXPECT_THAT(ScanAll(*this->store_, Everything()),
              testing::ElementsAre(
                  AllowedRow(kLogBegin, "a", 1), AllowedRow(kLogBegin, "c:a", 1),
                  AllowedRow(kLogBegin + 10, "a:z", 1), AllowedRow(kLogBegin + 10, "b", 1),
                  AllowedRow(kLogBegin + 3600, "a", 1), AllowedRow(kLogBegin + 90'000, "a", 1)));
}

TYPED_TEST_P(LogStoreContract, AVisitorThatHasEnoughSeesNoMore) {
  this->Open();
  this->Append({AllowedRow(kLogBegin, "a", 1), AllowedRow(kLogBegin, "b", 1),
                AllowedRow(kLogBegin + 10, "a", 1)});
  int seen = 0;
  ASSERT_TRUE(this->store_->Scan(Everything(), [&](const Row&) { return ++seen < 2; }).ok());
  EXPECT_EQ(seen, 2);
}

TYPED_TEST_P(LogStoreContract, ARangeOfTimeTakesTheStepsThatBeginInIt) {
  this->Open();
  this->Append({AllowedRow(kLogBegin, "a", 1), AllowedRow(kLogBegin + 10, "b", 1),
                AllowedRow(kLogBegin + 20, "c", 1)});
  EXPECT_THAT(this->Identities(Between(kLogBegin + 1, kLogBegin + 20)), testing::ElementsAre("b"));
  EXPECT_THAT(this->Identities(Between(kLogBegin, kLogBegin + 21)),
              testing::ElementsAre("a", "b", "c"));
  EXPECT_THAT(this->Identities(Between(kLogBegin + 20, kLogBegin + 20)), testing::IsEmpty());
}

TYPED_TEST_P(LogStoreContract, ASelectorTakesItsLevelAndWhatIsBelow) {
  this->Open();
  this->Append({AllowedRow(kLogBegin, "ddl", 1), AllowedRow(kLogBegin, "x:ddl", 1),
                AllowedRow(kLogBegin, "y:x:ddl", 1), AllowedRow(kLogBegin, "x:ddl2", 1),
                AllowedRow(kLogBegin, "xx:ddl", 1), AllowedRow(kLogBegin, "ddl:x", 1),
                AllowedRow(kLogBegin, "x:ddl-2", 1), AllowedRow(kLogBegin, "z%:_dl", 1)});
  ScanFilter filter = Everything();
  filter.identity = "x:ddl";
  EXPECT_THAT(this->Identities(filter), testing::ElementsAre("x:ddl", "y:x:ddl"));
  filter.identity = "ddl";
  EXPECT_THAT(this->Identities(filter), testing::ElementsAre("ddl", "x:ddl", "xx:ddl", "y:x:ddl"));
  filter.identity = "none";
  EXPECT_THAT(this->Identities(filter), testing::IsEmpty());
  filter.identity = "_dl";
  EXPECT_THAT(this->Identities(filter), testing::ElementsAre("z%:_dl"));
}

TYPED_TEST_P(LogStoreContract, ASegmentIsFoundWhereverItStands) {
  this->Open();
  this->Append({AllowedRow(kLogBegin, "x:ddl", 1), AllowedRow(kLogBegin, "ddl:y:x", 1),
                AllowedRow(kLogBegin, "x", 1), AllowedRow(kLogBegin, "xx:ddl", 1),
                AllowedRow(kLogBegin, "a:x:b", 1)});
  ScanFilter filter = Everything();
  filter.segment = "x";
  EXPECT_THAT(this->Identities(filter), testing::ElementsAre("a:x:b", "ddl:y:x", "x", "x:ddl"));
}

TYPED_TEST_P(LogStoreContract, OtherFiltersTakeAnyOfWhatTheyName) {
  this->Open();
  Row elsewhere = AllowedRow(kLogBegin, "elsewhere", 1);
  elsewhere.key.target = "other";
  Row budget = AllowedRow(kLogBegin, "budget", 1);
  budget.key.outcome = Outcome::kWouldBeDenied;
  budget.key.cause.reason = engine::Reason::kCapacity;
  budget.key.cause.budget = "batch";
  this->Append({AllowedRow(kLogBegin, "allowed", 1), elsewhere, budget,
                DeniedRow(kLogBegin, "one", 1, "lag on a", 1, 1),
                DeniedRow(kLogBegin, "two", 1, "lag on b", 1, 1),
                DeniedRow(kLogBegin, "three", 1, "lag2 on a", 1, 1),
                DeniedRow(kLogBegin, "four", 1, "lag", 1, 1)});
  const auto taken = [&](auto set) {
    ScanFilter filter = Everything();
    set(filter);
    return this->Identities(filter);
  };
  using testing::ElementsAre;
  EXPECT_THAT(taken([](ScanFilter& f) { f.target = "other"; }), ElementsAre("elsewhere"));
  EXPECT_THAT(taken([](ScanFilter& f) {
                f.outcomes = {Outcome::kWouldBeDenied, Outcome::kAllowed};
              }),
              ElementsAre("allowed", "budget", "elsewhere"));
  EXPECT_THAT(taken([](ScanFilter& f) { f.reasons = {engine::Reason::kCapacity}; }),
              ElementsAre("budget"));
  EXPECT_THAT(taken([](ScanFilter& f) { f.budgets = {"none", "batch"}; }), ElementsAre("budget"));
  EXPECT_THAT(taken([](ScanFilter& f) { f.signals = {"lag"}; }), ElementsAre("four", "one", "two"));
  EXPECT_THAT(taken([](ScanFilter& f) {
                f.signals = {"lag on b", "lag2"};
              }),
              ElementsAre("three", "two"));
  EXPECT_THAT(taken([](ScanFilter& f) {
                f.signals = {"lag"};
                f.identity = "one";
                f.outcomes = {Outcome::kAllowed};
              }),
              testing::IsEmpty());
}

TYPED_TEST_P(LogStoreContract, EachServerThatDecidedIsCountedByItself) {
  std::vector<Row> rows = {AllowedRow(kLogBegin, "a", 1), AllowedRow(kLogBegin, "a", 2),
                           AllowedRow(kLogBegin, "a", 4)};
  rows[1].key.server = "headgate-0";
  rows[2].key.server = "headgate-1";
  this->Open();
  this->Append(rows);
  EXPECT_EQ(ScanAll(*this->store_, Everything()), rows);
  ScanFilter filter = Everything();
  filter.server = "headgate-1";
  EXPECT_EQ(ScanAll(*this->store_, filter), std::vector<Row>{rows[2]});
}

TYPED_TEST_P(LogStoreContract, StepsAreSummedUpWithinMultiplesOfTheSum) {
  this->Open();
  this->Append({AllowedRow(kLogBegin + 590, "a", 1, 0.5), AllowedRow(kLogBegin + 1190, "a", 2, 0.5),
                AllowedRow(kLogBegin + 1200, "a", 4, 0.5),
                AllowedRow(kLogBegin + 1200, "b", 8, 0.5)});
  ScanFilter filter = Everything();
  filter.sum_over_s = 1200;
  EXPECT_THAT(ScanAll(*this->store_, filter),
              testing::ElementsAre(Coarse(AllowedRow(kLogBegin, "a", 3, 1), 1200),
                                   Coarse(AllowedRow(kLogBegin + 1200, "a", 4, 0.5), 1200),
                                   Coarse(AllowedRow(kLogBegin + 1200, "b", 8, 0.5), 1200)));
}

TYPED_TEST_P(LogStoreContract, MoreThanTheRangeSumsUpToOne) {
  this->Open();
  this->Append({AllowedRow(kLogBegin + 590, "a", 1), AllowedRow(kLogBegin + 7200, "a", 2),
                AllowedRow(kLogBegin + 14'400, "a", 4)});
  ScanFilter filter = Between(kLogBegin + 60, kLogBegin + 14'400);
  filter.sum_over_s = int64_t{1} << 60;
  EXPECT_THAT(ScanAll(*this->store_, filter),
              testing::ElementsAre(Coarse(AllowedRow(kLogBegin + 60, "a", 3), 14'340)));
}

TYPED_TEST_P(LogStoreContract, OldStepsBecomeCoarserWithTheSameTotals) {
  this->Open({.coarsen_after = absl::Hours(24)});
  std::vector<Row> rows;
  for (int64_t step_s = kLogBegin; step_s < kLogBegin + 3600; step_s += 10) {
    rows.push_back(AllowedRow(step_s, "a", 1, 0.25));
    rows.push_back(DeniedRow(step_s, "a", 2, "lag", static_cast<double>(step_s % 600), 5));
  }
  this->Append(rows);
  this->Append({AllowedRow(kLogBegin + 7 * 86'400 - 60, "a", 1)});  // still fine
  this->MaintainAt(kLogBegin + 7 * 86'400);
  std::vector<Row> expected;
  for (int64_t step_s = kLogBegin; step_s < kLogBegin + 3600; step_s += 300) {
    expected.push_back(Coarse(AllowedRow(step_s, "a", 30, 7.5), 300));
    const double peak = step_s % 600 == 0 ? 290 : 590;
    expected.push_back(Coarse(DeniedRow(step_s, "a", 60, "lag", peak, 5), 300));
  }
  expected.push_back(AllowedRow(kLogBegin + 7 * 86'400 - 60, "a", 1));
  EXPECT_THAT(ScanAll(*this->store_, Everything()), testing::ElementsAreArray(expected));
  EXPECT_EQ(this->store_->State().oldest, absl::FromUnixSeconds(kLogBegin));
}

// As an operator reads it who asks how far back the log goes: to the step, and not to the hour or
// the day that the store keeps together.
TYPED_TEST_P(LogStoreContract, TheOldestIsTheBeginningOfTheFirstStep) {
  this->Open({.coarsen_after = absl::Hours(24)});
  constexpr int64_t kFirst = kLogBegin + 15 * 3600 + 55 * 60 + 10;
  const auto oldest_after = [this](std::vector<Row> rows, int64_t now_s) {
    if (!rows.empty()) this->Append(rows);
    this->MaintainAt(now_s);
    return absl::ToUnixSeconds(this->store_->State().oldest);
  };
  EXPECT_EQ(
      oldest_after({AllowedRow(kFirst + 40, "b", 1), AllowedRow(kFirst + 20, "a", 1)}, kFirst + 60),
      kFirst + 20);
  EXPECT_EQ(oldest_after({AllowedRow(kFirst + 600, "a", 1)}, kFirst + 660), kFirst + 20);
  // Of another server, which could not write until now.
  EXPECT_EQ(oldest_after({AllowedRow(kFirst, "c", 1)}, kFirst + 660), kFirst);
  // Coarser, it begins where its step does.
  EXPECT_EQ(oldest_after({AllowedRow(kFirst + 2 * 86'400, "a", 1)}, kFirst + 2 * 86'400 + 60),
            kLogBegin + 15 * 3600 + 55 * 60);
  EXPECT_EQ(oldest_after({}, kFirst + 32 * 86'400), kLogBegin + 2 * 86'400 + 15 * 3600 + 55 * 60);
}

TYPED_TEST_P(LogStoreContract, WhatComesLateIsAddedToTheCoarseSteps) {
  this->Open({.coarsen_after = absl::Hours(24)});
  this->Append({AllowedRow(kLogBegin, "a", 1)});
  this->MaintainAt(kLogBegin + 7 * 86'400);
  this->Append({AllowedRow(kLogBegin + 10, "a", 2)});
  EXPECT_EQ(ChecksIn(*this->store_), 3);
  this->MaintainAt(kLogBegin + 7 * 86'400);
  EXPECT_THAT(ScanAll(*this->store_, Everything()),
              testing::ElementsAre(Coarse(AllowedRow(kLogBegin, "a", 3), 300)));
}

TYPED_TEST_P(LogStoreContract, WhatIsTooOldGoesAndItsNamesWithIt) {
  this->Open({.coarsen_after = absl::Hours(48), .keep_for = absl::Hours(24 * 10)});
  this->Append({AllowedRow(kLogBegin, "old", 1), AllowedRow(kLogBegin + 5 * 86'400, "middle", 1),
                AllowedRow(kLogBegin + 12 * 86'400, "new", 1)});
  this->MaintainAt(kLogBegin + 12 * 86'400);
  EXPECT_THAT(this->Identities(Everything()), testing::ElementsAre("middle", "new"));
  this->MaintainAt(kLogBegin + 20 * 86'400);
  EXPECT_THAT(this->Identities(Everything()), testing::ElementsAre("new"));
  this->Append({AllowedRow(kLogBegin + 20 * 86'400, "old", 1)});
  EXPECT_THAT(this->Identities(Everything()), testing::ElementsAre("new", "old"));
}

TYPED_TEST_P(LogStoreContract, BeyondTheSizeCapTheOldestGoes) {
  const int64_t max_bytes = 4 << 20;
  this->Open({.coarsen_after = absl::Hours(24 * 30), .max_bytes = max_bytes});
  constexpr int kDays = 12;
  int64_t checks = 0;
  for (int64_t day = 0; day < kDays; ++day) {
    std::vector<Row> rows;
    for (int i = 0; i < 20'000; ++i) {
      rows.push_back(AllowedRow(kLogBegin + day * 86'400 + (i % 60) * 10,
                                absl::StrCat("identity-", i / 60, ":batch"), 1, 0.1));
    }
    checks += 20'000;
    this->Append(rows);
  }
  this->MaintainAt(kLogBegin + kDays * 86'400);
  EXPECT_LE(this->store_->State().bytes, max_bytes + (4 << 20));
  ScanFilter filter = Everything();
  filter.sum_over_s = int64_t{1} << 60;
  filter.from_s = kLogBegin;
  filter.to_s = kLogBegin + 10;
  EXPECT_THAT(ScanAll(*this->store_, filter), testing::IsEmpty());
  filter.from_s = kLogBegin + (kDays - 1) * 86'400;
  filter.to_s = filter.from_s + 86'400;
  EXPECT_EQ(ScanAll(*this->store_, filter).size(), 334);
  EXPECT_LT(ChecksIn(*this->store_), checks);
}

// Random batches, scanned as they are and summed up, before and after maintenance.
TYPED_TEST_P(LogStoreContract, RandomRowsAddUpAsInAModel) {
  this->Open({.coarsen_after = absl::Hours(2)});
  std::mt19937 random(20260101);
  const auto pick = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  std::map<std::pair<int64_t, RowKey>, Counts> model;  // by the hour
  for (int batch = 0; batch < 30; ++batch) {
    std::vector<Row> rows;
    for (int i = 0; i < 100; ++i) {
      const int64_t step_s = kLogBegin + pick(3 * 8640) * 10;
      const std::string identity = absl::StrCat("i", pick(5), ":j", pick(2));
      const std::string signal = absl::StrCat("s", pick(2));
      const int kind = pick(3);
      Row row = kind == 0   ? AllowedRow(step_s, identity, pick(5), pick(100) * 0.25)
                : kind == 1 ? DeniedRow(step_s, identity, pick(5), signal, 1 + pick(50), 5)
                            : WaitedRow(step_s, identity, signal,
                                        {.began = pick(3),
                                         .admitted = pick(3),
                                         .denied = pick(3),
                                         .left = pick(3),
                                         .waited_ns = pick(1'000'000) * 1000,
                                         .held_ns = pick(1'000'000) * 1000,
                                         .longest_ns = pick(1'000'000) * 1000,
                                         .ended_within = {pick(3), 0, pick(3), 0, 1, pick(3)}});
      row.key.folded = pick(4) == 0;
      rows.push_back(row);
      model[{step_s / 3600 * 3600, row.key}].Add(row.counts);
    }
    this->Append(rows);
  }
  ScanFilter filter = Everything();
  filter.sum_over_s = 3600;
  std::vector<Row> expected;
  for (const auto& [key, counts] : model) {
    expected.push_back(
        {.step_s = key.first, .length_s = 3600, .key = key.second, .counts = counts});
  }
  EXPECT_THAT(ScanAll(*this->store_, filter), testing::UnorderedElementsAreArray(expected));
  this->MaintainAt(kLogBegin + 3 * 86'400);
  EXPECT_THAT(ScanAll(*this->store_, filter), testing::UnorderedElementsAreArray(expected));
}

REGISTER_TYPED_TEST_SUITE_P(
    LogStoreContract, AnEmptyLogHasNothing, WhatIsAppendedComesBackWhole,
    CountsAddUpAndThePeakKeepsItsLimit, OneKeyTwiceInABatchAddsUp, TheLastBatchIsNotAddedAgain,
    ABatchWithARowThatIsWrongLeavesNothing, WhatWasAppendedIsThereAfterItWasOpenedAnew,
    ANewOpenersFirstBatchIsTakenWhateverItsNumber, RowsComeByTimeThenByIdentity,
    AVisitorThatHasEnoughSeesNoMore, ARangeOfTimeTakesTheStepsThatBeginInIt,
    ASelectorTakesItsLevelAndWhatIsBelow, ASegmentIsFoundWhereverItStands,
    OtherFiltersTakeAnyOfWhatTheyName, EachServerThatDecidedIsCountedByItself,
    StepsAreSummedUpWithinMultiplesOfTheSum, MoreThanTheRangeSumsUpToOne,
    OldStepsBecomeCoarserWithTheSameTotals, TheOldestIsTheBeginningOfTheFirstStep,
    WhatComesLateIsAddedToTheCoarseSteps, WhatIsTooOldGoesAndItsNamesWithIt,
    BeyondTheSizeCapTheOldestGoes, RandomRowsAddUpAsInAModel);

}  // namespace headgate
