// Every view of the throttle log has the same sums for the same time, those of this moment
// included: random Checks, most of them counted but not collected or written yet, seen by all
// groupings, filters, orders, sizes of pages, as intervals and as single denials.

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/engine/cause.h"
#include "server/remember/throttle_log/row_filter.h"
#include "server/remember/throttle_log/sqlite_store.h"
#include "tests/remember/throttle_log/fake_store.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/test_scale.h"

namespace headgate::rpc {
namespace {

using throttle_log::Outcome;

// Checks of which some are allowed, some denied for each of several reasons.
engine::PolicySpec MixedPolicy() {
  engine::BudgetSpec warned = engine::RateBudget("warned", 1, 20);
  warned.mode = engine::Mode::kWarn;
  engine::PolicySpec spec;
  spec.budgets = {engine::RateBudget("rows", 20, 60), engine::MaxCostBudget("small", 8), warned};
  spec.rules = {engine::ChargeRule("all", "", {"rows"}),
                engine::ChargeRule("daily", "daily:etl", {"small"}),
                engine::ChargeRule("watched", "report", {"warned"}),
                engine::RuleOn("frozen", "frozen", engine::DenyAction{}),
                engine::RuleOn("shed", "shed", engine::RejectAction{0.5})};
  return spec;
}

struct Totals {
  int64_t allowed = 0;
  int64_t would_be_denied = 0;
  int64_t denied = 0;
  double cost = 0;

  bool operator==(const Totals& other) const {
    return allowed == other.allowed && would_be_denied == other.would_be_denied &&
           denied == other.denied && std::abs(cost - other.cost) < 1e-6;
  }
};
std::ostream& operator<<(std::ostream& out, const Totals& totals) {
  return out << totals.allowed << " allowed, " << totals.would_be_denied << " would be denied, "
             << totals.denied << " denied, cost " << totals.cost;
}

class Views {
 public:
  Views(throttle_log::Store& store, uint32_t seed)
      : random_(seed), server_(MixedPolicy(), {.log_store = &store, .written_log = &store}) {}

  size_t Roll(size_t below) { return random_() % below; }

  // What is counted besides the log.
  struct Counted {
    throttle_log::RowKey key;
    double cost = 0;
  };

  void CheckSomeone() {
    static constexpr const char* kEnds[] = {"daily:etl", "etl",  "report",
                                            "frozen",    "shed", "other"};
    const std::string identity = absl::StrCat("job-", Roll(20), ":", kEnds[Roll(6)]);
    const Now now = server_.clock.Read();
    engine::CheckAnswer answer;
    const engine::CheckRequest request =
        engine::Request(identity, static_cast<double>(Roll(12)) / 2);
    ASSERT_TRUE(server_.engine.Check(request, now, answer).ok());
    threads_[Roll(2)]->Record(request, answer, now);
    const throttle_log::CauseView cause = engine::CauseOf(answer);
    counted_.push_back({{.target = "",
                         .identity = identity,
                         .folded = false,
                         .outcome = cause.outcome,
                         .cause = cause.ToCause()},
                        answer.predicted_cost});
  }

  // Some seconds of work, of which the log may have collected and written a part.
  void Work() {
    for (int moments = static_cast<int>(Roll(6)); moments >= 0; --moments) {
      server_.clock.Advance(absl::Milliseconds(Roll(7000)));
      if (Roll(3) == 0) server_.log_writer->Round(server_.clock.Read());
      for (int checks = static_cast<int>(Roll(30)); checks > 0; --checks) CheckSomeone();
    }
  }

  v1::LogFilter RandomFilter() {
    static constexpr const char* kSelectors[] = {"", "etl", "daily:etl", "job-3:shed", "nobody"};
    v1::LogFilter filter;
    filter.set_identity(kSelectors[Roll(5)]);
    if (Roll(4) == 0) filter.set_segment(absl::StrCat("job-", Roll(20)));
    if (Roll(4) == 0) filter.add_outcomes(v1::OUTCOME_DENIED);
    if (Roll(4) == 0) {
      filter.add_reasons(v1::REASON_CAPACITY);
      filter.add_reasons(v1::REASON_DENY_RULE);
    }
    if (Roll(6) == 0) filter.add_budgets("rows");
    return filter;
  }

  // What the log should say.
  Totals Expected(const v1::LogFilter& filter) const {
    throttle_log::ScanFilter scan;
    scan.to_s = INT64_MAX;
    scan.identity = filter.identity();
    scan.segment = filter.segment();
    for (int outcome : filter.outcomes())
      scan.outcomes.push_back(static_cast<Outcome>(outcome - 1));
    for (int reason : filter.reasons()) {
      scan.reasons.push_back(static_cast<engine::Reason>(reason));
    }
    scan.budgets.assign(filter.budgets().begin(), filter.budgets().end());
    Totals totals;
    for (const Counted& check : counted_) {
      if (!throttle_log::Takes(scan, 0, check.key)) continue;
      (check.key.outcome == Outcome::kDenied    ? totals.denied
       : check.key.outcome == Outcome::kAllowed ? totals.allowed
                                                : totals.would_be_denied) += 1;
      totals.cost += check.cost;
    }
    return totals;
  }

  // Some grouping, order and size of pages; all pages of it.
  Totals Sums(const v1::LogFilter& filter) {
    v1::QueryThrottleLogRequest request;
    *request.mutable_filter() = filter;
    std::string what = filter.ShortDebugString();
    for (int group = v1::LOG_GROUP_IDENTITY; group <= v1::LOG_GROUP_STEP; ++group) {
      if (Roll(2) == 0) request.add_group_by(static_cast<v1::LogGroup>(group));
    }
    request.set_level(static_cast<int>(Roll(4)));
    if (Roll(2) == 0) request.mutable_step()->set_seconds(10 * static_cast<int64_t>(1 + Roll(3)));
    request.set_order(static_cast<v1::LogOrder>(Roll(3)));
    static constexpr int kSizes[] = {3, 10, 1000};
    request.set_page_size(kSizes[Roll(3)]);
    Totals totals;
    do {
      v1::QueryThrottleLogResponse page;
      EXPECT_TRUE(
          CallRpc(server_.channel, &v1::ThrottleLogService::Stub::QueryThrottleLog, request, page)
              .ok());
      EXPECT_EQ(page.waiting_checks(), 0);
      for (const v1::LogSum& sum : page.sums()) {
        totals.allowed += sum.allowed();
        totals.would_be_denied += sum.would_be_denied();
        totals.denied += sum.denied();
        totals.cost += sum.allowed_cost() + sum.denied_cost();
      }
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return totals;
  }

  // Denied Checks in intervals: every step with a denial is throttled.
  int64_t DeniedInIntervals(const v1::LogFilter& filter) {
    v1::ListThrottledIntervalsRequest request;
    *request.mutable_filter() = filter;
    request.set_level(static_cast<int>(Roll(3)));
    request.set_min_denied_ratio(1e-9);
    request.mutable_max_gap()->set_seconds(static_cast<int64_t>(Roll(60)));
    request.set_page_size(static_cast<int>(1 + Roll(20)));
    int64_t denied = 0;
    do {
      v1::ListThrottledIntervalsResponse page;
      EXPECT_TRUE(CallRpc(server_.channel, &v1::ThrottleLogService::Stub::ListThrottledIntervals,
                          request, page)
                      .ok());
      for (const v1::ThrottledInterval& interval : page.intervals()) denied += interval.denied();
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return denied;
  }

  Totals SingleDenials(const std::string& identity) {
    v1::ListDenialsRequest request;
    request.set_identity(identity);
    request.set_page_size(1000);
    v1::ListDenialsResponse denials;
    EXPECT_TRUE(
        CallRpc(server_.channel, &v1::ThrottleLogService::Stub::ListDenials, request, denials)
            .ok());
    Totals totals;
    for (const v1::Denial& denial : denials.denials()) {
      (denial.outcome() == v1::OUTCOME_DENIED ? totals.denied : totals.would_be_denied) += 1;
    }
    return totals;
  }

 private:
  std::mt19937 random_;
  InProcessServer server_;
  throttle_log::ThreadCounts* threads_[2] = {&server_.recorder.AddThread(),
                                             &server_.recorder.AddThread()};
  std::vector<Counted> counted_;
};

void AllAgree(throttle_log::Store& store, uint32_t seed) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Views views(store, seed);
  for (int round = 0; round < 12; ++round) {
    views.Work();
    const v1::LogFilter filter = views.RandomFilter();
    SCOPED_TRACE(filter.ShortDebugString());
    // Whichever view comes first: none makes another one right.
    const size_t first = views.Roll(3);
    for (size_t i = 0; i < 3; ++i) {
      if ((first + i) % 3 == 0) {
        EXPECT_EQ(views.Sums(filter), views.Expected(filter));
      } else if ((first + i) % 3 == 1) {
        v1::LogFilter denied = filter;
        denied.clear_outcomes();
        EXPECT_EQ(views.DeniedInIntervals(denied), views.Expected(denied).denied);
      } else {
        v1::LogFilter whose;
        whose.set_identity(filter.identity());
        const Totals single = views.SingleDenials(filter.identity());
        EXPECT_EQ(single.denied, views.Expected(whose).denied);
        EXPECT_EQ(single.would_be_denied, views.Expected(whose).would_be_denied);
      }
    }
  }
}

TEST(ThrottleLogViews, HaveEqualSumsOfTheSameTime) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    throttle_log::FakeStore store;
    AllAgree(store, seed);
  }
}

TEST(ThrottleLogViews, HaveEqualSumsWhereTheLogIsKeptInSqlite) {
  for (uint32_t seed = 100; seed < 110; ++seed) {
    auto store = throttle_log::SqliteStore::Open(":memory:", {});
    ASSERT_TRUE(store.ok()) << store.status();
    AllAgree(**store, seed);
  }
}

TEST(ThrottleLogViews, SayWhatIsMissingWhereTheStoreTakesNothing) {
  // A store that can be read and not written, as on a full disk.
  class FullStore final : public throttle_log::Store {
   public:
    absl::Status Append(absl::Span<const throttle_log::Row>, int64_t) override {
      return absl::ResourceExhaustedError("the disk is full");
    }
    absl::Status Scan(const throttle_log::ScanFilter&,
                      absl::FunctionRef<bool(const throttle_log::Row&)>) const override {
      return absl::OkStatus();
    }
    absl::Status Maintain(absl::Time) override { return absl::OkStatus(); }
    throttle_log::StoreState State() const override { return {}; }
  } store;
  InProcessServer server(engine::OneBudget(engine::RateBudget("rows", 10, 100)),
                         {.log_store = &store, .written_log = &store});
  server.Check("a:etl", 1);
  server.Check("b:etl", 1);
  server.Check("b:etl", 1);
  v1::QueryThrottleLogRequest request;
  request.mutable_filter()->set_identity("b:etl");
  v1::QueryThrottleLogResponse sums;
  ASSERT_TRUE(
      CallRpc(server.channel, &v1::ThrottleLogService::Stub::QueryThrottleLog, request, sums).ok());
  EXPECT_EQ(sums.sums_size(), 0);
  EXPECT_EQ(sums.waiting_checks(), 2);
}

}  // namespace
}  // namespace headgate::rpc
