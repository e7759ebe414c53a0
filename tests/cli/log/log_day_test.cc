// A day of 200 jobs and one ETL that a lagging standby holds back from 07:00 to 07:25: the log says
// exactly that, over the wire and on the command line.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/remember/throttle_log/sqlite_store.h"
#include "server/remember/throttle_log/writer.h"
#include "tests/cli/test_server.h"
#include "tests/testing/temp_folder.h"

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kDay = 24 * 3600;
constexpr int kFrom = 7 * 3600, kTo = kFrom + 25 * 60;
constexpr int kJobs = 200;
constexpr char kEtl[] = "run-42:daily-aggregation:etl";
constexpr char kSignal[] = "replication_lag_seconds on standby-2";

engine::PolicySpec Policy() {
  engine::PolicySpec policy;
  policy.profiles = {{.name = "standbys", .signals = {kSignal}, .thresholds = {{2, 5}}}};
  engine::BudgetSpec budget;
  budget.name = "etl";
  budget.health = "standbys";
  engine::BudgetSpec others = budget;
  others.name = "jobs";
  others.health = "";
  policy.budgets = {budget, others};
  for (const auto& [identity, charged] : {std::pair("etl", "etl"), std::pair("batch", "jobs")}) {
    engine::RuleSpec& rule = policy.rules.emplace_back();
    rule.name = charged;
    rule.match.identity = identity;
    rule.action = engine::ChargeAction{{charged}};
  }
  return policy;
}

// The ETL asks every second, each job once a minute.
class Day {
 public:
  Day() { Live(); }

  v1::ListThrottledIntervalsResponse Intervals() {
    v1::ListThrottledIntervalsRequest request;
    request.mutable_filter()->mutable_from()->set_seconds(FakeClock::kStartWallNs / 1'000'000'000);
    return AnswerOf(server_.channel, &v1::ThrottleLogService::Stub::ListThrottledIntervals,
                    request);
  }
  Finished Headgate(const std::vector<std::string>& words) { return server_.Headgate(words); }
  int64_t denied() const { return denied_; }
  int64_t allowed_meanwhile() const { return allowed_meanwhile_; }

 private:
  void Live() {
    for (int second = 0; second < kDay; ++second) {
      const bool lags = second >= kFrom && second < kTo;
      SetLag(lags && second % 50 >= 3 ? 4.5 + (second == kFrom + 720 ? 2.6 : 1) : 0.5);
      const bool allowed = Ask(kEtl);
      if (!allowed) ++denied_;
      if (lags && allowed) ++allowed_meanwhile_;
      for (int job = second % 60; job < kJobs; job += 60)
        (void)Ask(absl::StrCat("job-", job, ":batch"));
      server_.clock.Advance(absl::Milliseconds(990));
      if (second % 10 == 9) writer_.Round(server_.clock.Read());
      server_.clock.Advance(absl::Milliseconds(10));
    }
  }

  void SetLag(double seconds) {
    const double pressure = std::max(0.0, (seconds - 2) / (5 - 2));
    const Now now = server_.clock.Read();
    const engine::Health health = {.speed = 1,
                                   .status = engine::HealthStatus::kHealthy,
                                   .gate_shut = pressure >= 1,
                                   .pressure = static_cast<float>(pressure),
                                   .signal = 0,
                                   .sampled_at_ns = now.monotonic_ns};
    EXPECT_TRUE(server_.engine.SetHealth("", "standbys", health, now).ok());
  }

  bool Ask(const std::string& identity) {
    const engine::CheckRequest request = {.identity = identity, .estimated_cost = 1};
    EXPECT_TRUE(server_.engine.Check(request, server_.clock.Read(), answer_).ok());
    thread_counts_.Record(request, answer_, server_.clock.Read());
    if (answer_.permit != 0)
      (void)server_.engine.Report(answer_.permit, {.cost = 1}, server_.clock.Read());
    return answer_.verdict == engine::Verdict::kAllowed;
  }

  const TempFolder folder_;
  const throttle_log::Retention retention_;
  std::unique_ptr<throttle_log::SqliteStore> store_ =
      *throttle_log::SqliteStore::Open(folder_.File("log.db"), retention_);
  TestServer server_{Policy(), {.log_store = store_.get()}};
  engine::CheckAnswer answer_;
  throttle_log::ThreadCounts& thread_counts_ = server_.recorder.AddThread();
  throttle_log::Writer writer_{server_.recorder, *store_, server_.clock, {.step = retention_.step}};
  int64_t denied_ = 0;
  int64_t allowed_meanwhile_ = 0;
};

// A day is lived once for all.
Day& TheDay() {
  static Day day;
  return day;
}

TEST(ADay, HasOneIntervalOfOneIdentityByOneSignal) {
  Day& day = TheDay();
  const v1::ListThrottledIntervalsResponse response = day.Intervals();
  ASSERT_EQ(response.intervals_size(), 1) << response.DebugString();
  const v1::ThrottledInterval& interval = response.intervals(0);
  EXPECT_EQ(interval.identity(), kEtl);
  const int64_t midnight = FakeClock::kStartWallNs / 1'000'000'000;
  EXPECT_EQ(interval.from().seconds(), midnight + kFrom);
  EXPECT_EQ(interval.to().seconds(), midnight + kTo);
  EXPECT_EQ(day.denied(), 1410);
  EXPECT_EQ(interval.denied(), 1410);
  EXPECT_EQ(interval.allowed(), 90);
  EXPECT_EQ(day.allowed_meanwhile(), 90);
  EXPECT_EQ(interval.denied_cost(), 1410);
  ASSERT_EQ(interval.causes_size(), 1);
  const v1::DenialCause& cause = interval.causes(0);
  EXPECT_EQ(cause.reason(), v1::REASON_HEALTH);
  EXPECT_EQ(cause.signal(), kSignal);
  EXPECT_EQ(cause.denied(), 1410);
  EXPECT_NEAR(cause.peak(), 7.1, 1e-6);
  EXPECT_EQ(cause.limit(), 5);
}

TEST(ADay, IsToldOnTheCommandLine) {
  const Finished told = TheDay().Headgate(
      {"log", "--since", "2026-01-01T00:00:00Z", "--until", "2026-01-02T00:00:00Z"});
  EXPECT_EQ(told.status, 0) << told.err;
  for (const char* part : {kEtl, "07:00", "07:25", "94", kSignal, "7.1 s", "5 s"}) {
    EXPECT_THAT(told.out, HasSubstr(part));
  }
  EXPECT_THAT(told.out, Not(HasSubstr("job-")));
}

TEST(ADay, CountsEveryJobToTheUnit) {
  const Finished told =
      TheDay().Headgate({"log", "batch", "--by", "level=1", "--since", "2026-01-01T00:00:00Z",
                         "--until", "2026-01-02T00:00:00Z", "-o", "csv"});
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr(absl::StrCat(kJobs * 24 * 60)));
}

}  // namespace
}  // namespace headgate::cli
