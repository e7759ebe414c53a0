// The same questions to SQLite and to the model of a store: random rows, the same answers.

#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/remember/throttle_log/interval_text.h"
#include "server/remember/throttle_log/query.h"
#include "server/remember/throttle_log/replay.h"
#include "server/remember/throttle_log/sqlite_store.h"
#include "tests/remember/throttle_log/fake_store.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/temp_folder.h"

namespace headgate::throttle_log {
namespace {

// Twenty minutes of a few identities, with every kind of outcome.
std::vector<Row> SomeRows() {
  std::mt19937 dice(7);
  const auto roll = [&dice](uint32_t sides) { return static_cast<int>(dice() % sides); };
  std::vector<Row> rows;
  for (int64_t step_s = TimeOfDay(7, 0); step_s < TimeOfDay(7, 20); step_s += 10) {
    for (const char* identity : {"x:daily:etl", "y:daily:etl", "report", "*"}) {
      if (roll(3) == 0) continue;
      rows.push_back(Allowed(step_s, identity, 1 + roll(20), roll(100)));
      rows.back().key.folded = roll(4) == 0;
      rows.back().key.target = roll(2) == 0 ? "main" : "";
      const int denied = 1 + roll(40);
      const Cause cause = roll(2) == 0 ? ByBurst("rows") : ByHealth("lag_seconds on s2");
      rows.push_back(Measured(Denied(step_s, identity, denied, cause, roll(100)), roll(9), 5));
      if (roll(4) == 0) rows.back().key.outcome = Outcome::kWouldBeDenied;
    }
  }
  return rows;
}

class QueryOnSqlite : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = SqliteStore::Open(folder_.File("log.db"), Retention());
    ASSERT_TRUE(opened.ok()) << opened.status();
    sqlite_ = *std::move(opened);
    const std::vector<Row> rows = SomeRows();
    ASSERT_TRUE(sqlite_->Append(rows, 1).ok());
    ASSERT_TRUE(model_.Append(rows, 1).ok());
  }

  TempFolder folder_;
  std::unique_ptr<SqliteStore> sqlite_;
  FakeStore model_;
};

std::vector<std::string> AllSums(const Store& store, SumQuery query) {
  std::vector<std::string> sums;
  for (bool more = true; more;) {
    const absl::StatusOr<SumPage> page = QuerySums(store, query);
    if (!page.ok()) return {std::string(page.status().message())};
    for (const Sum& sum : page->sums) {
      sums.push_back(absl::StrCat(
          sum.key.step_s, " ", sum.key.identity, " ", sum.key.target, " ",
          static_cast<int>(sum.key.outcome), " ", static_cast<int>(sum.key.reason), " ",
          sum.key.budget, " ", sum.key.signal, ": ", sum.allowed, " ", sum.would_be_denied, " ",
          sum.denied, " ", sum.folded, " ", sum.allowed_cost, " ", sum.denied_cost));
    }
    if (!page->sums.empty()) query.after = page->sums.back();
    more = page->more;
  }
  return sums;
}

TEST_F(QueryOnSqlite, SumsAgreeWithTheModel) {
  SumQuery query;
  query.filter.from_s = TimeOfDay(7, 0, 30);
  query.filter.to_s = TimeOfDay(7, 19);
  query.coarse_s = 300;
  query.page_size = 300;
  size_t compared = 0;
  for (int groups = 0; groups < 64; ++groups) {
    query.by = {.step = (groups & 1) != 0,
                .identity = (groups & 2) != 0,
                .target = (groups & 4) != 0,
                .outcome = (groups & 8) != 0,
                .signal = (groups & 16) != 0};
    query.level = (groups & 32) != 0 ? 1 : 0;
    for (int64_t step_s : {0, 60, 900}) {
      if (!query.by.step && step_s > 0) continue;
      query.step_s = step_s;
      for (SumOrder order : {SumOrder::kName, SumOrder::kMaxDenied, SumOrder::kMaxCostDenied}) {
        query.order = order;
        const auto sums = AllSums(*sqlite_, query);
        ASSERT_EQ(sums, AllSums(model_, query)) << groups << " by " << step_s;
        compared += sums.size();
      }
    }
  }
  EXPECT_GT(compared, 2000);
}

TEST_F(QueryOnSqlite, FiltersAgreeWithTheModel) {
  SumQuery query;
  query.filter.from_s = kDay;
  query.filter.to_s = kDay + 86'400;
  query.by = {.identity = true, .outcome = true, .reason = true, .budget = true};
  std::vector<ScanFilter> filters(7, query.filter);
  filters[0].identity = "daily:etl";
  filters[1].segment = "daily";
  filters[2].target = "main";
  filters[3].outcomes = {Outcome::kDenied, Outcome::kWouldBeDenied};
  filters[4].reasons = {engine::Reason::kHealth};
  filters[5].budgets = {"rows"};
  filters[6].signals = {"lag_seconds"};
  for (const ScanFilter& filter : filters) {
    query.filter = filter;
    const auto sums = AllSums(*sqlite_, query);
    EXPECT_FALSE(sums.empty());
    EXPECT_EQ(sums, AllSums(model_, query));
  }
}

TEST_F(QueryOnSqlite, IntervalsAgreeWithTheModel) {
  IntervalQuery query;
  query.filter.from_s = kDay;
  query.filter.to_s = kDay + 86'400;
  for (double ratio : {0.3, 0.6, 0.9}) {
    query.min_denied_ratio = ratio;
    const auto of_sqlite = FindIntervals(*sqlite_, query);
    const auto of_model = FindIntervals(model_, query);
    ASSERT_TRUE(of_sqlite.ok() && of_model.ok());
    ASSERT_EQ(of_sqlite->intervals.size(), of_model->intervals.size());
    EXPECT_GT(of_sqlite->intervals.size(), 2);
    for (size_t i = 0; i < of_sqlite->intervals.size(); ++i) {
      EXPECT_EQ(of_sqlite->intervals[i].identity, of_model->intervals[i].identity);
      EXPECT_EQ(Sentence(of_sqlite->intervals[i]), Sentence(of_model->intervals[i]));
    }
  }
}

TEST_F(QueryOnSqlite, ReplaysAgreeWithTheModel) {
  ReplayOptions options;
  options.policy = engine::OneBudget(engine::RateBudget("rows", 20, 100));
  options.policy.targets.resize(1);
  options.policy.targets[0].name = "main";
  options.filter.from_s = TimeOfDay(7, 0);
  options.filter.to_s = TimeOfDay(8, 0);
  const auto of_sqlite = Replay(*sqlite_, options);
  const auto of_model = Replay(model_, options);
  ASSERT_TRUE(of_sqlite.ok() && of_model.ok());
  ASSERT_EQ(of_sqlite->identities.size(), of_model->identities.size());
  for (size_t i = 0; i < of_sqlite->identities.size(); ++i) {
    const ReplayedIdentity& a = of_sqlite->identities[i];
    const ReplayedIdentity& b = of_model->identities[i];
    EXPECT_EQ(a.before.allowed, b.before.allowed);
    EXPECT_EQ(a.before.denied, b.before.denied);
    EXPECT_EQ(a.after.allowed, b.after.allowed);
    EXPECT_EQ(a.after.denied, b.after.denied);
  }
  EXPECT_EQ(of_sqlite->caveats, of_model->caveats);
}

}  // namespace
}  // namespace headgate::throttle_log
