// Throttled intervals, and the sentence that tells one.

#include "server/remember/throttle_log/intervals.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/remember/throttle_log/interval_text.h"
#include "tests/remember/throttle_log/fake_store.h"

namespace headgate::throttle_log {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kSecond = 1'000'000'000;
constexpr char kLag[] = "replication_lag_seconds on standby-2";

IntervalQuery OfTheDay() {
  IntervalQuery query;
  query.filter.from_s = kDay;
  query.filter.to_s = kDay + 86'400;
  return query;
}

IntervalPage Find(const Store& store, const IntervalQuery& query) {
  absl::StatusOr<IntervalPage> page = FindIntervals(store, query);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.ok() ? *std::move(page) : IntervalPage{};
}

// A step of ten Checks.
void AddStep(FakeStore& store, int64_t step_s, const std::string& identity, int64_t denied,
             const Cause& cause = ByHealth(kLag)) {
  if (denied < 10) store.Add(Allowed(step_s, identity, 10 - denied));
  if (denied > 0) store.Add(Denied(step_s, identity, denied, cause));
}

TEST(FindIntervals, FindsAnEtlThatLagHeldBackAmongTwoHundredOthers) {
  FakeStore store;
  int batch = 0;
  for (int64_t step_s = kDay; step_s < kDay + 86'400; step_s += 10) {
    std::vector<Row> rows;
    for (int i = 0; i < 200 && step_s % 300 == 0; ++i) {
      rows.push_back(Allowed(step_s, absl::StrCat("job-", i), 5));
    }
    const bool held = step_s >= TimeOfDay(7, 0) && step_s < TimeOfDay(7, 25);
    // 150 steps: 1,410 of 1,500.
    const int64_t denied = held ? (step_s % 100 < 60 ? 9 : 10) : 0;
    if (denied < 10) rows.push_back(Allowed(step_s, "daily:etl", 10 - denied));
    if (denied > 0) {
      const double lag = step_s == TimeOfDay(7, 12) ? 7.1 : 6.5;
      rows.push_back(Measured(Denied(step_s, "daily:etl", denied, ByHealth(kLag), 2), lag, 5));
    }
    ASSERT_TRUE(store.Append(rows, ++batch).ok());
  }
  const IntervalPage page = Find(store, OfTheDay());
  ASSERT_EQ(page.intervals.size(), 1);
  const Interval& interval = page.intervals[0];
  EXPECT_EQ(interval.identity, "daily:etl");
  EXPECT_EQ(interval.target, "main");
  EXPECT_EQ(interval.tally.from_s, TimeOfDay(7, 0));
  EXPECT_EQ(interval.tally.to_s, TimeOfDay(7, 25));
  EXPECT_EQ(interval.tally.denied, 1410);
  EXPECT_EQ(interval.tally.allowed, 90);
  EXPECT_EQ(interval.tally.denied_cost, 300);
  ASSERT_EQ(interval.tally.causes.size(), 1);
  EXPECT_EQ(interval.tally.causes[0].cause, ByHealth(kLag));
  EXPECT_EQ(interval.tally.causes[0].counts.peak, 7.1);
  EXPECT_EQ(Sentence(interval),
            "07:00–07:25 UTC, 94 % denied (1,410 of 1,500), by replication_lag_seconds on "
            "standby-2, 7.1 s over hard 5 s");
}

TEST(FindIntervals, CountsTheRatioItselfAsThrottled) {
  FakeStore store;
  AddStep(store, TimeOfDay(7, 0), "half", 5);
  AddStep(store, TimeOfDay(7, 0), "less", 4);
  const IntervalPage page = Find(store, OfTheDay());
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(page.intervals[0].identity, "half");
}

TEST(FindIntervals, NeedsADenialHoweverSmallTheRatio) {
  FakeStore store;
  AddStep(store, TimeOfDay(7, 0), "never", 0);
  AddStep(store, TimeOfDay(7, 0), "once", 1);
  IntervalQuery query = OfTheDay();
  query.min_denied_ratio = 1e-12;
  EXPECT_EQ(Find(store, query).intervals.size(), 1);
  query.min_denied_ratio = 0.1;
  EXPECT_EQ(Find(store, query).intervals.size(), 1);
}

TEST(FindIntervals, JoinsAcrossAGapAndCountsWhatHappenedInIt) {
  FakeStore store;
  AddStep(store, TimeOfDay(7, 0, 0), "etl", 10);
  AddStep(store, TimeOfDay(7, 0, 10), "etl", 2);
  AddStep(store, TimeOfDay(7, 1, 10), "etl", 10);  // 60 s after the end of the first
  AddStep(store, TimeOfDay(7, 1, 20), "etl", 0);   // behind the last: not part of it
  const IntervalPage page = Find(store, OfTheDay());
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(page.intervals[0].tally.to_s, TimeOfDay(7, 1, 20));
  EXPECT_EQ(page.intervals[0].tally.denied, 22);
  EXPECT_EQ(page.intervals[0].tally.allowed, 8);
}

TEST(FindIntervals, SplitsAtALongerGap) {
  FakeStore store;
  AddStep(store, TimeOfDay(7, 0, 0), "etl", 10);
  AddStep(store, TimeOfDay(7, 0, 10), "etl", 2);
  AddStep(store, TimeOfDay(7, 1, 20), "etl", 10);
  const IntervalPage page = Find(store, OfTheDay());
  ASSERT_EQ(page.intervals.size(), 2);
  EXPECT_EQ(page.intervals[0].tally.to_s, TimeOfDay(7, 0, 10));
  EXPECT_EQ(page.intervals[0].tally.denied, 10);
  EXPECT_EQ(page.intervals[1].tally.from_s, TimeOfDay(7, 1, 20));
}

TEST(FindIntervals, AddsUpWhatIsBelowALevel) {
  FakeStore store;
  AddStep(store, TimeOfDay(7, 0), "x:daily:etl", 10);
  AddStep(store, TimeOfDay(7, 0), "y:daily:etl", 4);
  IntervalQuery query = OfTheDay();
  query.level = 2;
  const IntervalPage page = Find(store, query);
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(page.intervals[0].identity, "daily:etl");
  EXPECT_EQ(page.intervals[0].tally.denied, 14);
}

TEST(FindIntervals, ByOneCauseStillComparesWithAllThatWasAllowed) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 0), "etl", 10));
  store.Add(Denied(TimeOfDay(7, 0), "etl", 10, ByHealth(kLag)));
  store.Add(Denied(TimeOfDay(7, 0), "etl", 90, ByBurst("rows")));
  IntervalQuery query = OfTheDay();
  query.filter.signals = {"replication_lag_seconds"};
  const IntervalPage page = Find(store, query);
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(page.intervals[0].tally.denied, 10);
  EXPECT_EQ(page.intervals[0].tally.allowed, 10);
  query.filter.signals = {"replication_lag"};
  EXPECT_TRUE(Find(store, query).intervals.empty());
}

TEST(FindIntervals, PutsTheCauseOfTheMostDenialsFirst) {
  FakeStore store;
  AddStep(store, TimeOfDay(7, 0, 0), "etl", 9, ByBurst("rows"));
  AddStep(store, TimeOfDay(7, 0, 10), "etl", 10);
  AddStep(store, TimeOfDay(7, 0, 20), "etl", 10);
  const IntervalPage page = Find(store, OfTheDay());
  ASSERT_EQ(page.intervals.size(), 1);
  ASSERT_EQ(page.intervals[0].tally.causes.size(), 2);
  EXPECT_EQ(page.intervals[0].tally.causes[0].counts.checks, 20);
  EXPECT_EQ(page.intervals[0].tally.causes[1].cause.budget, "rows");
}

TEST(FindIntervals, TakesCoarseStepsAtTheirLength) {
  FakeStore store;
  Row coarse = Denied(TimeOfDay(7, 0), "etl", 100, ByBurst("rows"));
  coarse.length_s = 300;
  store.Add(coarse);
  AddStep(store, TimeOfDay(7, 5), "etl", 10);
  const IntervalPage page = Find(store, OfTheDay());
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(page.intervals[0].tally.to_s, TimeOfDay(7, 5, 10));
}

TEST(FindIntervals, PagesNeitherRepeatNorSkipWhileRowsArrive) {
  FakeStore store;
  for (int hour = 0; hour < 5; ++hour) {
    for (int i = 0; i < 4; ++i) AddStep(store, TimeOfDay(hour, 0), absl::StrCat("job-", i), 10);
  }
  IntervalQuery query = OfTheDay();
  query.page_size = 3;
  std::vector<std::string> seen;
  for (;;) {
    const IntervalPage page = Find(store, query);
    for (const Interval& interval : page.intervals) {
      seen.push_back(absl::StrCat((interval.tally.from_s - kDay) / 3600, " ", interval.identity));
    }
    if (!page.more) break;
    ASSERT_EQ(page.intervals.size(), 3);
    query.after = page.intervals.back();
    // Known intervals grow longer.
    AddStep(store, TimeOfDay(0, 0, static_cast<int>(seen.size()) * 10), "job-0", 10);
  }
  ASSERT_EQ(seen.size(), 20);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(seen[i], absl::StrCat(i / 4, " job-", i % 4));
}

TEST(FindIntervals, PutsWhoIsHeldBackNowBeforeWhatIsOver) {
  FakeStore store;
  for (int minute = 0; minute < 20; minute += 4) {
    for (const char* identity : {"a", "b"}) AddStep(store, TimeOfDay(7, minute), identity, 10);
  }
  // It began before all of them, and goes on.
  for (int s = 0; s < 1200; s += 10) AddStep(store, TimeOfDay(7, 0, s), "now", 10);
  IntervalQuery query = OfTheDay();
  query.newest_first = true;
  query.page_size = 4;
  std::vector<std::string> seen;
  for (;;) {
    const IntervalPage page = Find(store, query);
    for (const Interval& interval : page.intervals) {
      seen.push_back(absl::StrCat((interval.tally.to_s - TimeOfDay(7, 0)) / 60, interval.identity));
    }
    if (!page.more) break;
    query.after = page.intervals.back();
  }
  EXPECT_THAT(seen,
              ElementsAre("20now", "16a", "16b", "12a", "12b", "8a", "8b", "4a", "4b", "0a", "0b"));
}

Interval Example(Cause cause, double peak, double limit) {
  Interval interval{"etl", "main", {}};
  interval.tally.Add(Measured(Denied(TimeOfDay(7, 0), "etl", 10, std::move(cause)), peak, limit));
  return interval;
}

std::string CauseOf(const Interval& interval) {
  const std::string text = Sentence(interval);
  return text.substr(text.find(", by ") + 5);
}

TEST(IntervalSentence, SaysTheUnitOfTheSignal) {
  EXPECT_EQ(CauseOf(Example(ByHealth("slot_retained_bytes"), 13.56e9, 1e10)),
            "slot_retained_bytes, 13.6 GB over hard 10 GB");
  EXPECT_EQ(CauseOf(Example(ByHealth("wal_bytes_per_second"), 6.1e7, 6e7)),
            "wal_bytes_per_second, 61 MB/s over hard 60 MB/s");
  EXPECT_EQ(CauseOf(Example(ByHealth("active_backends"), 32, 20)),
            "active_backends, 32 over hard 20");
  EXPECT_EQ(CauseOf(Example(ByHealth("lag_seconds on s"), INFINITY, 5)),
            "lag_seconds on s, which was absent");
  EXPECT_EQ(CauseOf(Example(ByHealth(""), 0, 0)), "health: there was no recent sample");
}

TEST(IntervalSentence, SaysWhichLimitOfABudget) {
  EXPECT_EQ(CauseOf(Example(ByBurst("rows"), 1234.4, 1000)),
            "budget 'rows': debt would be 1234, over its burst of 1000");
  EXPECT_EQ(CauseOf(Example(ByBurst("rows", "lag_seconds"), 3, 5)),
            "budget 'rows', slowed by lag_seconds, 3 s below hard 5 s");
  Cause cause = ByBurst("rows");
  cause.limit = engine::Limit::kRate;
  EXPECT_EQ(CauseOf(Example(cause, 0, 0)), "budget 'rows', whose rate is 0");
  cause.limit = engine::Limit::kProbe;
  EXPECT_EQ(CauseOf(Example(cause, 0, 0)),
            "budget 'rows': the foreground was being measured without batch work");
  cause.reason = engine::Reason::kMaxCost;
  cause.limit = engine::Limit::kMaxCost;
  EXPECT_EQ(CauseOf(Example(cause, 50, 20)), "budget 'rows': cost 50 over its max_cost of 20");
  EXPECT_EQ(CauseOf(Example(cause, 0, 0)), "budget 'rows', whose max_cost is 0");
  cause.reason = engine::Reason::kMaxConcurrency;
  cause.limit = engine::Limit::kMaxConcurrency;
  EXPECT_EQ(CauseOf(Example(cause, 8, 8)), "budget 'rows': 8 permits outstanding of 8");
  EXPECT_EQ(CauseOf(Example({.reason = engine::Reason::kPermits, .limit = engine::Limit::kPermits},
                            16384, 16384)),
            "permits: 16384 outstanding of the 16384 that its caller may have");
}

TEST(IntervalSentence, SaysWhichRule) {
  Cause cause;
  cause.reason = engine::Reason::kDenyRule;
  cause.rule = "no-ddl";
  EXPECT_EQ(CauseOf(Example(cause, 0, 0)), "rule 'no-ddl'");
  cause.reason = engine::Reason::kRejectRatio;
  EXPECT_EQ(CauseOf(Example(cause, 0.2, 0.3)), "rule 'no-ddl', which rejects 30 %");
  EXPECT_EQ(CauseOf(Example(cause, 0.2, 0.999999)), "rule 'no-ddl', which rejects 99.9999 %");
}

TEST(IntervalSentence, CountsSeveralCausesAndTakesHealthForOne) {
  Interval interval = Example(ByHealth("lag_seconds"), 7, 5);
  Cause also_by_budget = ByBurst("rows", "lag_seconds");
  also_by_budget.reason = engine::Reason::kHealth;
  interval.tally.Add(Measured(Denied(TimeOfDay(7, 0, 10), "etl", 5, also_by_budget), 8, 5));
  interval.tally.Add(Measured(Denied(TimeOfDay(7, 0, 20), "etl", 2, ByBurst("rows")), 120, 100));
  EXPECT_EQ(CauseOf(interval),
            "lag_seconds, 8 s over hard 5 s (15); by budget 'rows': debt would be 120, over "
            "its burst of 100 (2)");
}

TEST(IntervalSentence, SaysTheDateWhereItIsNotOneDay) {
  Interval interval{"etl", "main", {}};
  interval.tally.Add(Denied(TimeOfDay(23, 59, 50), "etl", 1, ByHealth("")));
  interval.tally.Add(Denied(TimeOfDay(24, 0, 0), "etl", 1, ByHealth("")));
  EXPECT_THAT(Sentence(interval),
              ::testing::StartsWith(
                  "2026-01-01 23:59:50–2026-01-02 00:00:10 UTC, 100 % denied (2 of 2), by "));
}

// A step of `length_s` in which Checks of the identity waited for so long in all, and at least one
// for so long.
Row WaitedStep(int64_t step_s, const std::string& identity, int64_t waited_s, int64_t held_s,
               const Cause& cause = ByHealth(kLag)) {
  Row row = Denied(step_s, identity, 0, cause);
  row.key.outcome = Outcome::kWaited;
  row.counts.waits.Add(
      {.began = 1, .admitted = 1, .waited_ns = waited_s * kSecond, .held_ns = held_s * kSecond});
  return row;
}

TEST(FindIntervals, ATimeInWhichAnIdentityWaitedIsOne) {
  FakeStore store;
  for (int64_t step_s = TimeOfDay(7, 0); step_s < TimeOfDay(7, 25); step_s += 10) {
    store.Add(Allowed(step_s, "daily:etl", 1));
    const int64_t held_s = step_s % 50 == 0 ? 9 : 8;
    store.Add(Measured(WaitedStep(step_s, "daily:etl", 31, held_s), 7.1, 5));
  }
  store.Add(WaitedStep(TimeOfDay(8, 0), "daily:etl", 4, 4));  // not for half of it
  const IntervalPage page = Find(store, OfTheDay());
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(
      Sentence(page.intervals[0]),
      "07:00–07:25 UTC, waited 82 % of the time (31 s a chunk), by replication_lag_seconds on "
      "standby-2, 7.1 s over hard 5 s");
  EXPECT_EQ(page.intervals[0].tally.denied, 0);
  EXPECT_EQ(page.intervals[0].tally.waits.value().waited_ns, 150 * 31 * kSecond);
}

TEST(FindIntervals, OfALevelTheOneThatWaitedMostSaysForHowLong) {
  FakeStore store;
  for (const char* const tenant : {"a:etl", "b:etl", "c:etl"}) {
    store.Add(WaitedStep(TimeOfDay(7, 0), tenant, 4, 4));
    store.Add(WaitedStep(TimeOfDay(8, 0), tenant, 4, 4));
  }
  // Of one identity several causes, and several servers one after the other, add up.
  Row more = WaitedStep(TimeOfDay(7, 0), "b:etl", 3, 3, ByBurst("rows"));
  more.key.server = "headgate-2";
  store.Add(more);
  IntervalQuery query = OfTheDay();
  query.level = 1;
  const IntervalPage page = Find(store, query);
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(page.intervals[0].identity, "etl");
  EXPECT_NEAR(page.intervals[0].held_share, 0.7, 1e-9);
}

TEST(FindIntervals, OfAStepThatIsNotOverOnlyWhatHasPassedCounts) {
  FakeStore store;
  store.Add(WaitedStep(TimeOfDay(7, 0), "etl", 4, 4));
  IntervalQuery query = OfTheDay();
  EXPECT_EQ(Find(store, query).intervals.size(), 0);
  query.now_s = TimeOfDay(7, 0) + 4;
  const IntervalPage page = Find(store, query);
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(page.intervals[0].held_share, 1);
}

TEST(FindIntervals, WaitsForOthersThanTheFilterNamesAreLeftOut) {
  FakeStore store;
  store.Add(WaitedStep(TimeOfDay(7, 0), "etl", 9, 9, ByBurst("rows")));
  store.Add(WaitedStep(TimeOfDay(8, 0), "etl", 9, 9));
  IntervalQuery query = OfTheDay();
  query.filter.reasons = {engine::Reason::kHealth};
  const IntervalPage page = Find(store, query);
  ASSERT_EQ(page.intervals.size(), 1);
  EXPECT_EQ(page.intervals[0].tally.from_s, TimeOfDay(8, 0));
}

TEST(IntervalSentence, SaysWhatWasMoreOfItFirst) {
  Interval interval = Example(ByHealth("lag_seconds"), 7, 5);
  interval.held_share = 0.2;
  interval.tally.waits.Add({.began = 2, .admitted = 2, .waited_ns = 5 * kSecond});
  EXPECT_THAT(
      Sentence(interval),
      ::testing::HasSubstr(" denied (10 of 10), waited 20 % of the time (2.5 s a chunk), by"));
  interval.tally.Add(Allowed(TimeOfDay(7, 0), "etl", 90));
  EXPECT_THAT(Sentence(interval),
              ::testing::HasSubstr(
                  "UTC, waited 20 % of the time (2.5 s a chunk), 10 % denied (10 of 100), by"));
}

TEST(IntervalSentence, NeverRoundsToAll) {
  Interval interval{"etl", "main", {}};
  interval.tally.Add(Denied(TimeOfDay(7, 0), "etl", 9999, ByHealth("")));
  interval.tally.Add(Allowed(TimeOfDay(7, 0), "etl", 1));
  EXPECT_THAT(Sentence(interval), ::testing::HasSubstr("over 99 % denied (9,999 of 10,000)"));
}

}  // namespace
}  // namespace headgate::throttle_log
