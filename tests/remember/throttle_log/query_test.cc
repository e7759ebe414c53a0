// Sums: what they count, how they are split and ordered, and that pages agree while rows arrive.

#include "server/remember/throttle_log/query.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/remember/throttle_log/fake_store.h"

namespace headgate::throttle_log {
namespace {

using ::testing::ElementsAre;

SumQuery From(int64_t from_s, int64_t to_s) {
  SumQuery query;
  query.filter.from_s = from_s;
  query.filter.to_s = to_s;
  return query;
}

SumPage SumsOf(const Store& store, const SumQuery& query) {
  absl::StatusOr<SumPage> page = QuerySums(store, query);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.ok() ? *std::move(page) : SumPage{};
}

std::vector<std::string> Identities(const SumPage& page) {
  std::vector<std::string> names;
  for (const Sum& sum : page.sums) names.push_back(sum.key.identity);
  return names;
}

TEST(QuerySums, CountsEachOutcomeAndItsCost) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 3, 30));
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 2, ByBurst("rows"), 50));
  Row warned = Denied(TimeOfDay(7, 0, 10), "b:etl", 1, ByBurst("soft"), 7);
  warned.key.outcome = Outcome::kWouldBeDenied;
  warned.key.folded = true;
  store.Add(warned);
  const SumPage page = SumsOf(store, From(TimeOfDay(7, 0), TimeOfDay(8, 0)));
  ASSERT_EQ(page.sums.size(), 1);
  EXPECT_EQ(page.sums[0].allowed, 3);
  EXPECT_EQ(page.sums[0].would_be_denied, 1);
  EXPECT_EQ(page.sums[0].denied, 2);
  EXPECT_EQ(page.sums[0].folded, 1);
  EXPECT_EQ(page.sums[0].allowed_cost, 37);
  EXPECT_EQ(page.sums[0].denied_cost, 50);
  EXPECT_EQ(page.sums[0].key, GroupKey{});
  EXPECT_FALSE(page.more);
}

TEST(QuerySums, OfNothingAreNone) {
  FakeStore store;
  EXPECT_TRUE(SumsOf(store, From(TimeOfDay(7, 0), TimeOfDay(8, 0))).sums.empty());
}

TEST(QuerySums, TakeTheBeginningOfTheRangeAndNotItsEnd) {
  FakeStore store;
  for (int second : {0, 10, 20})
    store.Add(Allowed(TimeOfDay(7, 0, second), "a:etl", 1 << second / 10));
  const SumPage page = SumsOf(store, From(TimeOfDay(7, 0, 10), TimeOfDay(7, 0, 20)));
  ASSERT_EQ(page.sums.size(), 1);
  EXPECT_EQ(page.sums[0].allowed, 2);
}

TEST(QuerySums, SplitByLevelCountShallowerIdentitiesAsTheyAre) {
  FakeStore store;
  for (const char* identity : {"x:daily:etl", "y:daily:etl", "weekly:etl", "etl"}) {
    store.Add(Allowed(TimeOfDay(7, 0), identity, 1));
  }
  SumQuery query = From(TimeOfDay(7, 0), TimeOfDay(8, 0));
  query.by.identity = true;
  query.level = 2;
  EXPECT_THAT(Identities(SumsOf(store, query)), ElementsAre("daily:etl", "etl", "weekly:etl"));
  EXPECT_EQ(SumsOf(store, query).sums[0].allowed, 2);
  query.level = 1;
  EXPECT_THAT(Identities(SumsOf(store, query)), ElementsAre("etl"));
  query.level = 0;
  EXPECT_THAT(Identities(SumsOf(store, query)),
              ElementsAre("etl", "weekly:etl", "x:daily:etl", "y:daily:etl"));
}

TEST(QuerySums, SplitByStepComeInOrderOfTime) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(7, 1, 50), "a:etl", 1));
  store.Add(Allowed(TimeOfDay(7, 0, 50), "a:etl", 2));
  store.Add(Allowed(TimeOfDay(7, 0, 10), "a:etl", 4));
  SumQuery query = From(TimeOfDay(7, 0), TimeOfDay(8, 0));
  query.by.step = true;
  query.step_s = 60;
  const SumPage page = SumsOf(store, query);
  ASSERT_EQ(page.sums.size(), 2);
  EXPECT_EQ(page.sums[0].key.step_s, TimeOfDay(7, 0));
  EXPECT_EQ(page.sums[0].allowed, 6);
  EXPECT_EQ(page.sums[1].key.step_s, TimeOfDay(7, 1));
  query.step_s = 0;
  EXPECT_EQ(SumsOf(store, query).sums.size(), 3);
}

TEST(QuerySums, SplitByStepsOfADayBeginAtMidnightUtc) {
  FakeStore store;
  store.Add(Allowed(TimeOfDay(23, 59, 50), "a:etl", 1));
  store.Add(Allowed(TimeOfDay(24, 0), "a:etl", 2));
  SumQuery query = From(kDay, kDay + 2 * 86'400);
  query.by.step = true;
  query.step_s = 86'400;
  query.coarse_s = 300;
  const SumPage page = SumsOf(store, query);
  ASSERT_EQ(page.sums.size(), 2);
  EXPECT_EQ(page.sums[0].key.step_s, kDay);
  EXPECT_EQ(page.sums[1].key.step_s, kDay + 86'400);
  EXPECT_EQ(page.sums[1].allowed, 2);
}

TEST(QuerySums, SplitByCause) {
  FakeStore store;
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 5, ByHealth("lag_seconds on s2")));
  store.Add(Denied(TimeOfDay(7, 0), "a:etl", 3, ByBurst("rows")));
  store.Add(Allowed(TimeOfDay(7, 0), "a:etl", 1));
  SumQuery query = From(TimeOfDay(7, 0), TimeOfDay(8, 0));
  query.by.outcome = query.by.reason = query.by.budget = query.by.rule = query.by.signal = true;
  query.by.target = true;
  const SumPage page = SumsOf(store, query);
  ASSERT_EQ(page.sums.size(), 3);
  EXPECT_EQ(page.sums[0].key.outcome, Outcome::kAllowed);
  EXPECT_EQ(page.sums[1].key.reason, engine::Reason::kHealth);
  EXPECT_EQ(page.sums[1].key.signal, "lag_seconds on s2");
  EXPECT_EQ(page.sums[1].denied, 5);
  EXPECT_EQ(page.sums[2].key.budget, "rows");
  EXPECT_EQ(page.sums[2].key.rule, "charge");
  EXPECT_EQ(page.sums[2].key.target, "main");
}

TEST(QuerySums, ByMostDeniedPutTheLargestFirstAndEqualsByName) {
  FakeStore store;
  store.Add(Denied(TimeOfDay(7, 0), "few", 1, ByBurst("rows"), 900));
  store.Add(Denied(TimeOfDay(7, 0), "most", 9, ByBurst("rows"), 9));
  store.Add(Denied(TimeOfDay(7, 0), "many", 5, ByBurst("rows"), 5));
  store.Add(Denied(TimeOfDay(7, 0), "also", 5, ByBurst("rows"), 5));
  SumQuery query = From(TimeOfDay(7, 0), TimeOfDay(8, 0));
  query.by.identity = true;
  query.order = SumOrder::kMaxDenied;
  EXPECT_THAT(Identities(SumsOf(store, query)), ElementsAre("most", "also", "many", "few"));
  query.order = SumOrder::kMaxCostDenied;
  EXPECT_THAT(Identities(SumsOf(store, query)), ElementsAre("few", "most", "also", "many"));
}

// All pages, with something done between them.
template <typename Between>
std::vector<GroupKey> AllPages(const Store& store, SumQuery query, Between between) {
  std::vector<GroupKey> keys;
  for (;;) {
    const SumPage page = SumsOf(store, query);
    for (const Sum& sum : page.sums) keys.push_back(sum.key);
    if (!page.more || page.sums.empty() || keys.size() > 10'000) return keys;
    query.after = page.sums.back();
    between();
  }
}

TEST(QuerySumsPages, NeitherRepeatNorSkipWhileRowsArrive) {
  FakeStore store;
  for (int i = 0; i < 20; ++i) {
    for (int step = 0; step < 30; step += 10) {
      store.Add(Allowed(TimeOfDay(7, 0, step), absl::StrCat("job-", 10 + i), 1));
    }
  }
  SumQuery query = From(TimeOfDay(7, 0), TimeOfDay(8, 0));
  query.by.step = query.by.identity = true;
  query.page_size = 7;
  int arrived = 0;
  const std::vector<GroupKey> keys = AllPages(store, query, [&] {
    // Old groups grow, and new ones come everywhere.
    store.Add(Denied(TimeOfDay(7, 0), "job-10", 5, ByBurst("rows")));
    store.Add(Allowed(TimeOfDay(7, 0, 20), absl::StrCat("job-", 1000 + arrived++), 1));
  });
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  const std::set<GroupKey> unique(keys.begin(), keys.end());
  EXPECT_EQ(unique.size(), keys.size());
  for (int i = 0; i < 20; ++i) {
    for (int step = 0; step < 30; step += 10) {
      EXPECT_TRUE(unique.contains(
          {.step_s = TimeOfDay(7, 0, step), .identity = absl::StrCat("job-", 10 + i)}));
    }
  }
}

TEST(QuerySumsPages, ByCountsHandOverAllThatIsBehindThePage) {
  FakeStore store;
  for (int i = 0; i < 20; ++i) {
    store.Add(Denied(TimeOfDay(7, 0), absl::StrCat("job-", 10 + i), i, ByBurst("rows")));
  }
  SumQuery query = From(TimeOfDay(7, 0), TimeOfDay(7, 1));
  query.by.identity = true;
  query.order = SumOrder::kMaxDenied;
  query.page_size = 6;
  const SumPage page = SumsOf(store, query);
  ASSERT_EQ(page.sums.size(), 6);
  ASSERT_EQ(page.rest.size(), 14);
  EXPECT_EQ(page.sums[5].key.identity, "job-24");
  EXPECT_EQ(page.rest[0].key.identity, "job-23");
  EXPECT_EQ(page.rest[13].key.identity, "job-10");
}

TEST(QuerySums, OfADayAreExact) {
  FakeStore store;
  for (int64_t step_s = kDay; step_s < kDay + 86'400; step_s += 10) {
    store.Add(Allowed(step_s, "a:etl", 2, 0.5));
    store.Add(Denied(step_s, "b:etl", 3, ByBurst("rows"), 0.25));
  }
  SumQuery query = From(kDay, kDay + 86'400);
  query.by.identity = true;
  const SumPage page = SumsOf(store, query);
  ASSERT_EQ(page.sums.size(), 2);
  EXPECT_EQ(page.sums[0].allowed, 17'280);
  EXPECT_EQ(page.sums[0].allowed_cost, 4320);
  EXPECT_EQ(page.sums[1].denied, 25'920);
  query.by.step = true;
  query.step_s = 3600;
  query.coarse_s = 300;
  query.page_size = 24;
  const SumPage half = SumsOf(store, query);
  EXPECT_TRUE(half.more);
  ASSERT_EQ(half.sums.size(), 24);
  EXPECT_EQ(half.sums.back().key.step_s, TimeOfDay(11, 0));
  EXPECT_EQ(half.sums.back().denied, 1080);
}

TEST(QuerySums, SayWhatTheStoreSays) {
  FakeStore store;
  store.Fail(absl::UnavailableError("gone"));
  EXPECT_EQ(QuerySums(store, From(0, 10)).status(), absl::UnavailableError("gone"));
}

TEST(QuerySums, OfTooManyGroupsToSortAreRefused) {
  FakeStore store;
  for (int i = 0; i < 101; ++i) store.Add(Allowed(TimeOfDay(7, 0), absl::StrCat("job-", i), 1));
  SumQuery query = From(TimeOfDay(7, 0), TimeOfDay(8, 0));
  query.by.identity = true;
  query.max_groups = 100;
  EXPECT_EQ(SumsOf(store, query).sums.size(), 101);
  query.order = SumOrder::kMaxDenied;
  EXPECT_EQ(QuerySums(store, query).status(),
            absl::ResourceExhaustedError("more than 100 groups to sort by counts: narrow it down, "
                                         "or split by less"));
}

TEST(WholeSteps, WidensToTheStepsThatTheLogHasThen) {
  const Retention retention;  // 10 s, after 24 h 5 min
  const absl::Time now = absl::FromUnixSeconds(TimeOfDay(36, 0));
  const Period fine = WholeSteps({TimeOfDay(35, 0, 1), TimeOfDay(35, 0, 11)}, retention, now);
  EXPECT_EQ(fine.from_s, TimeOfDay(35, 0));
  EXPECT_EQ(fine.to_s, TimeOfDay(35, 0, 20));
  const Period coarse = WholeSteps({TimeOfDay(7, 1), TimeOfDay(7, 6)}, retention, now);
  EXPECT_EQ(coarse.from_s, TimeOfDay(7, 0));
  EXPECT_EQ(coarse.to_s, TimeOfDay(7, 10));
  const Period exact = WholeSteps({TimeOfDay(7, 0), TimeOfDay(35, 0)}, retention, now);
  EXPECT_EQ(exact.from_s, TimeOfDay(7, 0));
  EXPECT_EQ(exact.to_s, TimeOfDay(35, 0));
}

TEST(LevelOf, CountsSegmentsFromTheRoot) {
  EXPECT_EQ(LevelOf("a:b:c", 1), "c");
  EXPECT_EQ(LevelOf("a:b:c", 2), "b:c");
  EXPECT_EQ(LevelOf("a:b:c", 3), "a:b:c");
  EXPECT_EQ(LevelOf("a:b:c", 8), "a:b:c");
  EXPECT_EQ(LevelOf("a:b:c", 0), "a:b:c");
  EXPECT_EQ(LevelOf("*", 2), "*");
}

}  // namespace
}  // namespace headgate::throttle_log
