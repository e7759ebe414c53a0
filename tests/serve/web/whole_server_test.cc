// Metrics and probes of a whole server that makes decisions.

#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serve/web/scraped_headgated.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/rpc_call.h"

namespace headgate::web {
namespace {

using testing::HasSubstr;

constexpr char kPolicy[] = R"(
targets: [{name: a}, {name: b}]
budgets:
  - {name: small, rate: 1, burst: 5}
  - {name: watched, rate: 1, burst: 5, mode: WARN}
  - {name: each, rate: 1000, burst: 1000, split: {depth: 1}, max_buckets: 64}
rules:
  - {name: etl, match: {identity: etl}, charge: [small]}
  - {name: careful, match: {identity: careful}, charge: [watched]}
  - {name: all, match: {segment: job}, charge: [each]}
)";

TEST(WholeServer, CountsChecksByVerdictReasonAndBudget) {
  ScrapedHeadgated server(kPolicy);
  for (int i = 0; i < 8; ++i) server.Check("etl", 1, "a");
  for (int i = 0; i < 7; ++i) server.Check("careful", 1, "b");
  const Scrape scrape = server.AwaitScrape(
      [](const Scrape& seen) { return seen.Value("headgate_checks_total").value_or(0) == 15; });
  const auto checks = [&](const char* target, const char* verdict, const char* reason) {
    return scrape.Value("headgate_checks_total",
                        {{"target", target}, {"verdict", verdict}, {"reason", reason}});
  };
  EXPECT_EQ(checks("a", "ALLOWED", "NONE"), 5);
  EXPECT_EQ(checks("a", "DENIED", "CAPACITY"), 3);
  EXPECT_EQ(checks("b", "ALLOWED", "NONE"), 5);
  EXPECT_EQ(checks("b", "WOULD_BE_DENIED", "CAPACITY"), 2);
  EXPECT_EQ(checks("b", "DENIED", "CAPACITY"), 0);
  EXPECT_EQ(scrape.Value("headgate_budget_refused_checks_total",
                         {{"target", "a"}, {"budget", "small"}, {"verdict", "DENIED"}}),
            3);
  EXPECT_EQ(scrape.Value("headgate_budget_refused_checks_total", {{"budget", "watched"}}), 2);
  EXPECT_EQ(scrape.Value("headgate_checks_cost_total", {{"target", "a"}, {"verdict", "ALLOWED"}}),
            5);
  EXPECT_EQ(scrape.Value("headgate_rpcs_total", {{"method", "Check"}, {"code", "OK"}}), 15);
  EXPECT_GE(scrape.Value("headgate_rpc_duration_seconds_count", {{"method", "Check"}}), 1);
  EXPECT_GE(scrape.Value("headgate_decision_duration_seconds_count"), 1);
  EXPECT_EQ(scrape.Value("headgate_permits_outstanding"), 12);
}

TEST(WholeServer, CountsRefusedCallsByCode) {
  ScrapedHeadgated server(kPolicy);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(CallRpc(server.channel(), &v1::ThrottlerService::Stub::Check,
                      CheckOf("no such: identity", 1))
                  .error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  const Scrape scrape = server.Scraped();
  EXPECT_EQ(scrape.Value("headgate_rpcs_total", {{"code", "INVALID_ARGUMENT"}}), 3);
}

// Checks from several threads while metrics are scraped: no scrape goes backwards, and in the end
// metrics, throttle log and callers agree to the unit.
TEST(WholeServer, AgreesWithTheThrottleLogAndTheCallersUnderLoad) {
  ScrapedHeadgated server(kPolicy);
  constexpr int kThreads = 3, kChecks = 3000;
  std::atomic<int64_t> denied{0};
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kChecks; ++n) {
        const std::string identity = n % 2 == 0 ? "etl" : absl::StrCat("job-", i, ":etl");
        denied += server.Check(identity, 1, "a").verdict() == v1::VERDICT_DENIED ? 1 : 0;
      }
      --running;
    });
  }
  double before = 0;
  while (running > 0) {
    const double now = server.Scraped().Value("headgate_checks_total").value_or(0);
    EXPECT_GE(now, before);
    before = now;
  }
  for (std::thread& thread : threads) thread.join();
  const Scrape scrape = server.AwaitScrape([](const Scrape& seen) {
    return seen.Value("headgate_checks_total").value_or(0) == kThreads * kChecks;
  });
  EXPECT_EQ(scrape.Value("headgate_checks_total", {{"verdict", "DENIED"}}),
            static_cast<double>(denied.load()));
  int64_t logged = 0;
  EXPECT_TRUE(WaitUntil([&] {
    v1::QueryThrottleLogResponse response;
    EXPECT_TRUE(
        CallRpc(server.channel(), &v1::ThrottleLogService::Stub::QueryThrottleLog, {}, response)
            .ok());
    logged = 0;
    int64_t all = 0;
    for (const v1::LogSum& sum : response.sums()) {
      logged += sum.denied();
      all += sum.denied() + sum.allowed() + sum.would_be_denied();
    }
    return all == kThreads * kChecks;
  }));
  EXPECT_EQ(logged, denied.load());
}

TEST(WholeServer, TellsNothingOfTargetsAndBudgetsThatAReloadTookAway) {
  ScrapedHeadgated server(kPolicy);
  for (int i = 0; i < 8; ++i) server.Check("etl", 1, "a");
  server.AwaitScrape([](const Scrape& seen) {
    return seen.Value("headgate_budget_refused_checks_total", {{"budget", "small"}}) == 3;
  });
  server.Rewrite(
      "targets: [{name: b}]\nbudgets: [{name: other, rate: 1, burst: 1}]\n"
      "rules: [{name: r, charge: [other]}]\n");
  const Scrape after = server.AwaitScrape(
      [](const Scrape& seen) { return seen.Value("headgate_config_version") == 2; });
  for (const Scrape::Series& series : after.series()) {
    if (series.labels.contains("target")) {
      EXPECT_EQ(series.labels.at("target"), "b") << series.name;
    }
    if (series.labels.contains("budget")) {
      EXPECT_EQ(series.labels.at("budget"), "other") << series.name;
    }
  }
  // They are where they were if it comes back.
  server.Rewrite(kPolicy);
  const Scrape back = server.AwaitScrape(
      [](const Scrape& seen) { return seen.Value("headgate_config_version") == 3; });
  EXPECT_EQ(back.Value("headgate_budget_refused_checks_total", {{"budget", "small"}}), 3);
}

TEST(WholeServer, TellsThatAFileWasRefused) {
  ScrapedHeadgated server(kPolicy);
  EXPECT_EQ(server.Scraped().Value("headgate_config_last_load_success"), 1);
  server.Rewrite("budgets: [{nam: x}]\n");
  const Scrape refused = server.AwaitScrape(
      [](const Scrape& seen) { return seen.Value("headgate_config_last_load_success") == 0; });
  EXPECT_EQ(refused.Value("headgate_config_version"), 1);
}

TEST(WholeServer, NeverTellsAnIdentity) {
  ScrapedHeadgated server(kPolicy);
  for (int i = 0; i < 50; ++i) server.Check(absl::StrCat("who-", i, ":job"), 1, "a");
  server.AwaitScrape(
      [](const Scrape& seen) { return seen.Value("headgate_checks_total").value_or(0) == 50; });
  EXPECT_THAT(server.Get("/metrics").body, testing::Not(HasSubstr("who-")));
}

TEST(WholeServer, IsReadyWhenItServesAndNotOnceItStops) {
  ScrapedHeadgated server(kPolicy);
  EXPECT_EQ(server.Get("/readyz").body, "ready\n");
  EXPECT_EQ(server.Get("/healthz").status, 200);
}

std::string Measured(const std::string& dsn) {
  return absl::StrCat("targets:\n  - name: t\n    default_health: h\n    primary: {dsn: \"", dsn,
                      "\"}\n    polling: {interval: 50ms, timeout: 5s}\nhealth_profiles:\n"
                      "  - name: h\n    signals: [{name: active_backends, soft: 50, hard: 100}]\n");
}

TEST(WholeServer, IsDegradedAfterAWhileWithoutADatabaseAndAliveAllTheTime) {
  // Nobody listens there.
  ScrapedHeadgated server(Measured("host=127.0.0.1 port=1 user=nobody"), {"--ready-after=300ms"});
  const ScrapedHeadgated::Page starting = server.Get("/readyz");
  if (starting.status == 503) {
    EXPECT_EQ(starting.body, "starting: waiting for the first sample of target 't'\n");
  }
  ScrapedHeadgated::Page page;
  EXPECT_TRUE(WaitUntil([&] { return (page = server.Get("/readyz")).status == 200; }));
  EXPECT_THAT(page.body, HasSubstr("degraded: no sample of target 't' within 300ms"));
  EXPECT_EQ(server.Get("/healthz").status, 200);
  EXPECT_EQ(server.Scraped().Value("headgate_ready", {{"state", "degraded"}}), 1);
  EXPECT_EQ(server.Scraped().Value("headgate_postgres_up", {{"target", "t"}}), 0);
}

TEST(WholeServer, StaysReadyThoughNoProbeCameBeforeATargetWithoutADatabase) {
  const ScrapedHeadgated server(kPolicy);
  server.Rewrite(absl::StrCat(Measured("host=127.0.0.1 port=1 user=nobody"),
                              "rules: [{name: r, priority: 1}]\n"));
  // A scrape would ask for readiness.
  server.AwaitStatus([](const auto& status) { return status.config().version() == 2; });
  EXPECT_EQ(server.Get("/readyz").body, "ready\n");
}

TEST(WholeServer, TellsHealthOfARealDatabase) {
  if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
  auto cluster = PostgresCluster::Start({});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  ScrapedHeadgated server(Measured((*cluster)->primary().Dsn()));
  EXPECT_TRUE(WaitUntil([&] { return server.Get("/readyz").body == "ready\n"; }));
  const LabelMap profile = {{"target", "t"}, {"profile", "h"}};
  const Scrape healthy = server.AwaitScrape([&](const Scrape& seen) {
    return seen.Value("headgate_health_state",
                      {{"target", "t"}, {"profile", "h"}, {"state", "healthy"}}) == 1 &&
           seen.Value("headgate_health_sample_age_seconds", profile).value_or(5) < 5;
  });
  EXPECT_EQ(healthy.Value("headgate_health_state", profile), 1);  // one of seven
  EXPECT_EQ(healthy.Value("headgate_health_speed", profile), 1);
  EXPECT_EQ(healthy.Value("headgate_health_gate_shut", profile), 0);
  EXPECT_EQ(healthy.Value("headgate_health_signal_hard_threshold", profile), 100);
  EXPECT_TRUE(healthy.HasSeries("headgate_health_signal_value"));
  // Liveness and readiness do not follow the database; health does.
  (*cluster)->primary().Kill();
  server.AwaitScrape([&](const Scrape& seen) {
    return seen.Value("headgate_health_state", {{"state", "stale"}}) == 1 &&
           seen.Value("headgate_postgres_up") == 0;
  });
  EXPECT_EQ(server.Get("/healthz").status, 200);
  EXPECT_EQ(server.Get("/readyz").body, "ready\n");
}

}  // namespace
}  // namespace headgate::web
