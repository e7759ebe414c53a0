// A target that is reached through a connection pooler: the operator is told, in the log and in the
// status, and what is measured is measured all the same.

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_bouncer.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/running_headgated.h"

namespace headgate {
namespace {

constexpr char kMeasured[] = R"(
targets: [{name: t, default_health: h, primary: {dsn: "$0"}, polling: {interval: 100ms, timeout: 10s}}]
health_profiles: [{name: h, signals: [{name: active_backends, soft: 500, hard: 900}]}]
budgets: [{name: b, rate: 1000, burst: 1000}]
rules: [{name: b, charge: [b]}]
)";

TEST(PooledTarget, IsToldInTheLogAndInTheStatus) {
  if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
  if (!PostgresBouncer::Program().ok()) GTEST_SKIP() << PostgresBouncer::Program().status();
  const auto cluster = PostgresCluster::Start({});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const auto bouncer = PostgresBouncer::Start((*cluster)->folder(), (*cluster)->primary(), {});
  ASSERT_TRUE(bouncer.ok()) << bouncer.status();

  const RunningHeadgated server(
      {.yaml = absl::Substitute(kMeasured, (*bouncer)->Dsn("postgres", "postgres"))});
  EXPECT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
  EXPECT_TRUE(server.AwaitLog("PostgreSQL is not reached directly"));
  EXPECT_TRUE(server.AwaitStatus([](const v1::GetStatusResponse& status) {
    return absl::StrContains(status.targets(0).servers(0).note(), "pooler");
  }));
}

}  // namespace
}  // namespace headgate
