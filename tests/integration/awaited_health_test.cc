// A database that recovers while jobs wait for it in line, and nobody else asks.

#include <string>

#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"
#include "tests/testing/waiting_checks.h"

namespace headgate {
namespace {

// Without demand for a second, the next poll is ten minutes away.
constexpr char kSleepy[] = R"(
targets:
  - name: t
    default_health: h
    primary: {dsn: "$0"}
    polling: {interval: 50ms, timeout: 2s, idle_after: 1s, idle_interval: 10m}
health_profiles:
  - {name: h, recovery: 100ms, signals: [{name: press, sql: SELECT value FROM press, soft: 1, hard: 2}]}
budgets: [{name: b, rate: 1000, burst: 1000}]
rules: [{name: b, charge: [b]}]
)";

class AwaitedHealth : public testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
    auto cluster = PostgresCluster::Start({});
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    Run("CREATE TABLE press AS SELECT 7::float8 AS value");
  }
  void Run(const std::string& sql) const {
    const absl::StatusOr<SqlRows> rows = cluster_->primary().RunSql(sql);
    ASSERT_TRUE(rows.ok()) << rows.status();
  }

  std::unique_ptr<PostgresCluster> cluster_;
};

// How long the first in line has waited; no line: 0.
int64_t WaitedSeconds(const RunningHeadgated& server) {
  const v1::ListLinesResponse response =
      AnswerOf(server.channel(), &v1::StatusService::Stub::ListLines);
  return response.lines_size() == 0 ? 0 : response.lines(0).longest_waited().seconds();
}

TEST_F(AwaitedHealth, IsMeasuredForAsLongAsSomebodyWaits) {
  const RunningHeadgated server({.yaml = absl::Substitute(kSleepy, cluster_->primary().Dsn())});
  ASSERT_TRUE(WaitUntil([&] { return server.Check("job:etl").reason() == v1::REASON_HEALTH; }));
  WaitingChecks waiter(server.address(), {.checks = 1, .identity = "waiter"});
  waiter.Send();
  ASSERT_TRUE(WaitUntil([&] { return WaitedSeconds(server) >= 3; }));
  Run("UPDATE press SET value = 0");
  EXPECT_EQ(waiter.Await(absl::Minutes(1)).allowed, 1);
}

}  // namespace
}  // namespace headgate
