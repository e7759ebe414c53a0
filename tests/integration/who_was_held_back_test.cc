// An incident whose truth is counted by the jobs themselves: six of them, one of which asks without
// waiting, a gate that shuts, a pause, and a server that is restarted. What the log says has to
// agree with it to the Check, and to a hundredth of the time that was waited.

#include <poll.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serve/web/scraped_headgated.h"
#include "tests/testing/counting_job.h"
#include "tests/testing/override_requests.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/test_scale.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

using ::testing::HasSubstr;

constexpr char kIncident[] = R"(
targets:
  - {name: orders, default_health: h, primary: {dsn: "$0"}, polling: {interval: 50ms, timeout: 5s}}
health_profiles:
  - {name: h, recovery: 100ms, signals: [{name: press, sql: SELECT value FROM press, soft: 1, hard: 2}]}
budgets: [{name: b, rate: 20, burst: 2}]
rules: [{name: b, match: {identity: etl}, charge: [b]}]
throttle_log: {step: 1s, coarse_step: 60s$1}
)";

class WhoWasHeldBack : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
    auto cluster = PostgresCluster::Start({});
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    Run("CREATE TABLE press AS SELECT 0::float8 AS value");
    Run("CREATE DATABASE log");
    const std::string store = std::string(GetParam()) == "postgres"
                                  ? absl::StrCat(", postgres: {dsn: \"",
                                                 cluster_->primary().Dsn("postgres", "log"), "\"}")
                                  : "";
    server_ = std::make_unique<web::ScrapedHeadgated>(
        absl::Substitute(kIncident, cluster_->primary().Dsn(), store));
    ASSERT_TRUE(server_->AwaitHealth(v1::HEALTH_STATE_HEALTHY, "probe"));
  }
  void Run(const std::string& sql) const {
    const absl::StatusOr<SqlRows> rows = cluster_->primary().RunSql(sql);
    ASSERT_TRUE(rows.ok()) << rows.status();
  }
  void Press(double value) const { Run(absl::StrCat("UPDATE press SET value = ", value)); }
  // A part of the incident: as long as an operator would see it in a long run.
  static void Pass(absl::Duration time) {
    poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(time * (IsLong() ? 5 : 1))));
  }
  static bool IsLong() { return TestScale() >= 1; }
  double WaitedByMetrics() const {
    const web::Scrape scrape = server_->Scraped();
    double waited_s = 0;
    for (const char* const reason : {"HEALTH", "CAPACITY", "DENY_RULE"}) {
      waited_s += scrape.Value("headgate_waited_seconds_total", {{"reason", reason}}).value_or(0);
    }
    return waited_s;
  }
  v1::QueryThrottleLogResponse Sums(const std::vector<v1::LogGroup>& by) const {
    v1::QueryThrottleLogRequest request;
    for (const v1::LogGroup group : by) request.add_group_by(group);
    return AnswerOf(server_->channel(), &v1::ThrottleLogService::Stub::QueryThrottleLog, request);
  }

  std::unique_ptr<PostgresCluster> cluster_;
  std::unique_ptr<web::ScrapedHeadgated> server_;
};

TEST_P(WhoWasHeldBack, IsInTheLogAsTheJobsSawIt) {
  std::vector<std::unique_ptr<CountingJob>> jobs;
  for (int i = 1; i <= 5; ++i) {
    const std::string identity = absl::StrCat("job-", i, ":etl");
    jobs.push_back(std::make_unique<CountingJob>(server_->channel(), identity, absl::Minutes(2)));
  }
  jobs.push_back(
      std::make_unique<CountingJob>(server_->channel(), "greedy:etl", absl::ZeroDuration()));
  Pass(absl::Seconds(1));
  Press(7);
  Pass(absl::Seconds(3));
  Press(0);
  Pass(absl::Seconds(1));
  EXPECT_TRUE(server_->AwaitLog("the gate is shut"));
  EXPECT_THAT(server_->Log(), HasSubstr("by=press"));
  const auto paused =
      AnswerOf(server_->channel(), &v1::OverrideService::Stub::CreateOverride, Pause("job-2:etl"));
  Pass(absl::Seconds(2));
  AnswerOf(server_->channel(), &v1::OverrideService::Stub::DeleteOverride,
           Ending(paused.override().id()));
  // Monitoring has what the log has: what came in between is in the later of the two.
  const double before_s = WaitedByMetrics();
  double logged_s = 0;
  const auto until_now = Sums({});
  for (const v1::LogSum& sum : until_now.sums()) {
    logged_s += absl::ToDoubleSeconds(DurationOf(sum.waiting().waited()));
  }
  EXPECT_LE(before_s, logged_s + 0.01);
  EXPECT_TRUE(WaitUntil([&] { return WaitedByMetrics() >= logged_s - 0.01; }));
  EXPECT_GT(before_s, 5);
  server_->Terminate();
  server_->Restart();
  Pass(absl::Seconds(1));
  std::map<std::string, SeenByJob> truth;
  for (const auto& job : jobs) truth[job->identity()] = job->Stop();

  std::map<std::string, v1::LogSum> logged;
  const v1::QueryThrottleLogResponse all = Sums({v1::LOG_GROUP_IDENTITY});
  for (const v1::LogSum& sum : all.sums()) {
    logged[sum.identity()] = sum;
  }
  for (const auto& [identity, seen] : truth) {
    SCOPED_TRACE(identity);
    ExpectLogged(logged[identity], seen);
  }
  int64_t left = 0;
  for (const auto& [identity, sum] : logged) left += sum.waiting().left();
  EXPECT_GE(left, 3);
  EXPECT_GT(truth["greedy:etl"].denied, 10);
  EXPECT_FALSE(logged["greedy:etl"].has_waiting());

  // By what: the gate for three seconds, of each but the greedy one; the pause, of one.
  std::map<std::pair<std::string, v1::Reason>, absl::Duration> by_reason;
  const auto split = Sums({v1::LOG_GROUP_IDENTITY, v1::LOG_GROUP_REASON});
  for (const v1::LogSum& sum : split.sums()) {
    by_reason[{sum.identity(), sum.reason()}] = DurationOf(sum.waiting().waited());
  }
  const auto by_health = by_reason[{"job-1:etl", v1::REASON_HEALTH}];
  EXPECT_GE(by_health, absl::Seconds(2) * (IsLong() ? 5 : 1));
  EXPECT_GE((by_reason[{"job-2:etl", v1::REASON_DENY_RULE}]),
            absl::Seconds(1.5) * (IsLong() ? 5 : 1));
  EXPECT_EQ((by_reason[{"job-1:etl", v1::REASON_DENY_RULE}]), absl::ZeroDuration());
  EXPECT_GT((by_reason[{"job-1:etl", v1::REASON_CAPACITY}]), absl::ZeroDuration());

  v1::ListThrottledIntervalsRequest intervals;
  intervals.mutable_filter()->add_reasons(v1::REASON_HEALTH);
  intervals.mutable_filter()->set_identity("job-1:etl");
  const auto found = AnswerOf(server_->channel(),
                              &v1::ThrottleLogService::Stub::ListThrottledIntervals, intervals);
  ASSERT_GE(found.intervals_size(), 1);
  EXPECT_THAT(found.intervals(0).message(), HasSubstr("waited "));
  EXPECT_THAT(found.intervals(0).message(), HasSubstr("by press, 7 over hard 2"));
}

INSTANTIATE_TEST_SUITE_P(Stores, WhoWasHeldBack, testing::Values("sqlite", "postgres"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace headgate
