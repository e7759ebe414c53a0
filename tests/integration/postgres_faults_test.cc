// What becomes of Checks, and what is said of health, when PostgreSQL fails in every way that it
// can.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(50);

// One target "t" whose health is a number in the table `knob`: soft 1, hard 2. `more` is appended
// to the target.
std::string Configuration(const std::string& dsn, const std::string& more = "") {
  return absl::Substitute(R"(
targets:
  - name: t
    default_health: h
    primary: {dsn: "$0"}
    polling: {interval: $1ms, timeout: 2s}
$2
health_profiles:
  - name: h
    stale_after: 3s
    recovery: 100ms
    signals:
      - {name: knob, sql: SELECT value FROM knob, soft: 1, hard: 2}
      - {name: active_backends, soft: 50, hard: 100}
)",
                          dsn, absl::ToInt64Milliseconds(kInterval), more);
}

std::unique_ptr<PostgresCluster> StartCluster(PostgresOptions options = {}) {
  auto cluster = PostgresCluster::Start(options);
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  if (!cluster.ok()) return nullptr;
  EXPECT_TRUE(
      (*cluster)
          ->primary()
          .RunSql("CREATE TABLE knob AS SELECT 0::float8 AS value;"
                  "CREATE ROLE headgate LOGIN PASSWORD 'right'; GRANT pg_monitor TO headgate;"
                  "GRANT SELECT ON knob TO headgate;"
                  "CREATE ROLE nobody LOGIN; GRANT SELECT ON knob TO nobody")
          .ok());
  return *std::move(cluster);
}

#define REQUIRE_POSTGRES()                                 \
  if (!PostgresCluster::BinFolder().ok()) {                \
    GTEST_SKIP() << PostgresCluster::BinFolder().status(); \
  }

void Turn(PostgresCluster& cluster, double value) {
  ASSERT_TRUE(cluster.primary().RunSql(absl::StrCat("UPDATE knob SET value = ", value)).ok());
}

bool IsPrimaryReachable(const v1::GetStatusResponse& status) {
  return status.targets(0).servers(0).reachable();
}
bool PrimaryErrorHas(const v1::GetStatusResponse& status, const std::string& text) {
  const v1::ServerStatus& primary = status.targets(0).servers(0);
  return !primary.reachable() && absl::StrContains(absl::AsciiStrToLower(primary.error()), text);
}

TEST(PostgresFaults, ABreachDeniesWithinOnePollIntervalAndFiftyMilliseconds) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
  auto session = cluster->primary().Open();
  ASSERT_TRUE(session.ok());
  // But for the time that the machine spent on others, and that PostgreSQL took for the last poll.
  const auto waited = [&] {
    return WaitedForProcessor(server.pid()) + WaitedForProcessor(getpid());
  };
  const auto last_poll = [&] {
    const auto& took = server.Status().targets(0).servers(0).poll_time();
    return absl::Seconds(took.seconds()) + absl::Nanoseconds(took.nanos());
  };
  std::vector<absl::Duration> delays;
  for (int round = 0; round < 9; ++round) {
    ASSERT_TRUE(session->Run("UPDATE knob SET value = 0").ok());
    ASSERT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_ALLOWED; }));
    ASSERT_TRUE(session->Run("UPDATE knob SET value = 7").ok());
    const absl::Duration waited_before = waited();
    const int64_t breach_ns = MonotonicNs();
    v1::Decision decision;
    ASSERT_TRUE(WaitUntil([&] {
      decision = server.Check("job");
      return decision.verdict() == v1::VERDICT_DENIED;
    }));
    const absl::Duration delay = absl::Nanoseconds(MonotonicNs() - breach_ns);
    delays.push_back(delay - (waited() - waited_before) - last_poll());
    EXPECT_EQ(decision.reason(), v1::REASON_HEALTH);
    EXPECT_EQ(decision.health().signal(), "knob");
    EXPECT_NEAR(decision.health().pressure(), 6, 0.01);
    const auto& retry_after = decision.retry_after();
    EXPECT_GT(absl::Seconds(retry_after.seconds()) + absl::Nanoseconds(retry_after.nanos()),
              absl::ZeroDuration());
  }
  // All but one: where other processes get this test's core just then, the poll that would see the
  // breach starts late, and no deadline of ours holds.
  std::sort(delays.begin(), delays.end());
  EXPECT_LE(delays[delays.size() - 2], kInterval + absl::Milliseconds(50)) << delays.back();
}

TEST(PostgresFaults, ChecksSlowDownBetweenSoftAndHard) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  Turn(*cluster, 1.5);
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
  ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
  const v1::Decision decision = server.Check("job");
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_NEAR(decision.health().speed(), 0.5, 0.01);
  EXPECT_LT(decision.health().sample_age().seconds(), 3);
}

TEST(PostgresFaults, DownAtTheStartIsWarmingAndHealthyOnceItIsUp) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  ASSERT_TRUE(cluster->primary().Stop().ok());
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
  const v1::Decision decision = server.Check("job");
  EXPECT_EQ(decision.verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(decision.health().state(), v1::HEALTH_STATE_WARMING);
  EXPECT_FALSE(decision.health().has_sample_age());
  EXPECT_TRUE(server.AwaitStatus([](const auto& status) {
    return !IsPrimaryReachable(status) && !status.targets(0).servers(0).error().empty();
  }));
  ASSERT_TRUE(cluster->primary().Start().ok());
  EXPECT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
}

TEST(PostgresFaults, KilledWhileServingIsStaleAndHealthyAfterTheRestart) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
  ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
  cluster->primary().Kill();
  ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_STALE));
  EXPECT_EQ(server.Check("job").verdict(), v1::VERDICT_DENIED);
  EXPECT_FALSE(IsPrimaryReachable(server.Status()));
  ASSERT_TRUE(cluster->primary().Start().ok());
  EXPECT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
}

TEST(PostgresFaults, HungIsStaleAndHealthyOnceItGoesOn) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
  ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
  cluster->primary().Suspend();
  ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_STALE));
  // Every poll is given up in time: one that failed was not the last.
  EXPECT_TRUE(server.AwaitStatus([](const auto& status) {
    return !IsPrimaryReachable(status) && status.targets(0).servers(0).poll_time().seconds() < 20;
  }));
  cluster->primary().Resume();
  EXPECT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
}

TEST(PostgresFaults, HungPostgresDoesNotHoldUpAnOrderlyStop) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  int64_t from_ns = 0;
  {
    RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
    ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
    cluster->primary().Suspend();
    ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_STALE));
    from_ns = MonotonicNs();
  }
  EXPECT_LT(absl::Nanoseconds(MonotonicNs() - from_ns), absl::Seconds(30));
  cluster->primary().Resume();
}

TEST(PostgresFaults, OutOfConnectionsIsSaidAndEndsWithIt) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster({.settings = {{"max_connections", "10"}}});
  std::vector<SqlSession> sessions;
  for (;;) {  // all that superusers may have
    auto session = cluster->primary().Open();
    if (!session.ok()) break;
    sessions.push_back(*std::move(session));
  }
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
  EXPECT_TRUE(
      server.AwaitStatus([](const auto& status) { return PrimaryErrorHas(status, "connection"); }));
  EXPECT_EQ(server.Check("job").health().state(), v1::HEALTH_STATE_WARMING);
  sessions.clear();
  EXPECT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
}

TEST(PostgresFaults, AWrongPasswordIsSaid) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster({.password = "secret"});
  // In the environment: a configuration may not hold a password.
  std::string yaml = Configuration("DSN");
  yaml.replace(yaml.find("dsn: \"DSN\""), 10, "dsn_env: TEST_DSN");
  const auto with = [&](const std::string& password) -> HeadgatedOptions {
    const std::string dsn = cluster->primary().Dsn("headgate", "postgres", password);
    return {.yaml = yaml, .environment = {{"TEST_DSN", dsn}}};
  };
  EXPECT_TRUE(RunningHeadgated(with("wrong")).AwaitStatus([](const auto& status) {
    return PrimaryErrorHas(status, "password");
  }));
  EXPECT_TRUE(RunningHeadgated(with("right")).AwaitHealth(v1::HEALTH_STATE_HEALTHY));
}

TEST(PostgresFaults, ARoleThatMayNotMonitorIsAnErrorAndNeverAZero) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("nobody"))});
  EXPECT_TRUE(
      server.AwaitStatus([](const auto& status) { return PrimaryErrorHas(status, "pg_monitor"); }));
  EXPECT_EQ(server.Check("job").verdict(), v1::VERDICT_DENIED);
}

std::string WithStandby(const PostgresCluster& cluster, const std::string& set_aside) {
  return absl::Substitute(R"(
targets:
  - name: t
    default_health: h
    primary: {dsn: "$0"}
    polling: {interval: 50ms, timeout: 2s}
    standbys:
      - name: standby-1
$1
health_profiles:
  - name: h
    stale_after: 3s
    recovery: 100ms
    signals:
      - {name: replication_lag_seconds, soft: 1, hard: 2}
      - {name: replication_lag_bytes, soft: 1e6, hard: 2e6}
)",
                          const_cast<PostgresCluster&>(cluster).primary().Dsn("headgate"),
                          set_aside);
}

TEST(PostgresFaults, AStandbyThatStopsDeniesUntilItIsSetAside) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster({.standbys = 1});
  ASSERT_TRUE(cluster->WaitForStandbys().ok());
  RunningHeadgated server({.yaml = WithStandby(*cluster, "")});
  ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
  ASSERT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_ALLOWED; }));
  ASSERT_TRUE(cluster->standby().Stop().ok());
  v1::Decision decision;
  ASSERT_TRUE(WaitUntil([&] {
    decision = server.Check("job");
    return decision.verdict() == v1::VERDICT_DENIED;
  }));
  EXPECT_TRUE(absl::StrContains(decision.health().signal(), "on standby-1"))
      << decision.DebugString();
  server.Rewrite(WithStandby(*cluster, "        set_aside_until: 2100-01-01T00:00:00Z"));
  EXPECT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_ALLOWED; }));
  EXPECT_TRUE(server.Status().targets(0).servers(1).has_set_aside_until());
  server.Rewrite(WithStandby(*cluster, ""));
  EXPECT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_DENIED; }));
  ASSERT_TRUE(cluster->standby().Start().ok());
  EXPECT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_ALLOWED; }));
}

TEST(PostgresFaults, AStandbyThatPausesLagsUntilItIsResumed) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster({.standbys = 1});
  ASSERT_TRUE(cluster->WaitForStandbys().ok());
  RunningHeadgated server({.yaml = WithStandby(*cluster, "")});
  ASSERT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_ALLOWED; }));
  ASSERT_TRUE(cluster->standby().PauseReplay().ok());
  ASSERT_TRUE(cluster->primary()
                  .RunSql("CREATE TABLE much AS SELECT repeat('x', 1000) FROM "
                          "generate_series(1, 10000)")
                  .ok());
  EXPECT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_DENIED; }));
  ASSERT_TRUE(cluster->standby().ResumeReplay().ok());
  EXPECT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_ALLOWED; }));
}

TEST(PostgresFaults, APrimaryThatWasDemotedIsNotTakenForOne) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster({.standbys = 1});
  ASSERT_TRUE(cluster->WaitForStandbys().ok());
  // The address leads to a server that is a standby now.
  RunningHeadgated server({.yaml = Configuration(cluster->standby().Dsn("headgate"))});
  EXPECT_TRUE(
      server.AwaitStatus([](const auto& status) { return PrimaryErrorHas(status, "standby"); }));
  EXPECT_EQ(server.Check("job").verdict(), v1::VERDICT_DENIED);
  ASSERT_TRUE(cluster->standby().Promote().ok());
  EXPECT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
}

TEST(PostgresFaults, AReloadThatKeepsTheConnectionsKeepsWhatIsKnown) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
  ASSERT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_ALLOWED; }));
  server.Rewrite(Configuration(cluster->primary().Dsn("headgate")) +
                 "budgets:\n  - {name: b, rate: 1, burst: 10}\n");
  while (server.Status().config().version() < 2) {
    ASSERT_EQ(server.Check("job").verdict(), v1::VERDICT_ALLOWED);
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(server.Check("job").verdict(), v1::VERDICT_ALLOWED);
  }
}

TEST(PostgresFaults, ATargetThatIsNoLongerMeasuredRunsAtFullSpeed) {
  REQUIRE_POSTGRES();
  const auto cluster = StartCluster();
  Turn(*cluster, 9);
  RunningHeadgated server({.yaml = Configuration(cluster->primary().Dsn("headgate"))});
  ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
  EXPECT_EQ(server.Check("job").verdict(), v1::VERDICT_DENIED);
  server.Rewrite("targets: [{name: t}]\n");
  EXPECT_TRUE(WaitUntil([&] { return server.Check("job").verdict() == v1::VERDICT_ALLOWED; }));
}

}  // namespace
}  // namespace headgate
