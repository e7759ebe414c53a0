// A server that is restarted beside a foreground and a job, at a real PostgreSQL: the rate goes on
// where it was.

#include <string>

#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/integration/batch_job.h"

namespace headgate {
namespace {

// Tolerances that let the rate grow far from what it begins with.
std::string TolerantPolicy(const std::string& dsn) {
  return absl::Substitute(R"(
targets:
  - name: shop
    primary: {dsn: "$0"}
    batch_work: {roles: [batch]}
budgets:
  - name: found
    rate: auto
    auto_tuning: {cores: 2, max_rate: 1, tolerance: 0.5, latency_tolerance: 1, tail_tolerance: 4}
rules:
  - {name: jobs, match: {identity: etl}, charge: [found]}
)",
                          dsn);
}

// The rate, where the foreground is being compared with batch work and without; else 0.
double RateBesideForeground(const v1::GetStatusResponse& status) {
  if (status.targets().empty() || status.targets(0).controllers().empty()) return 0;
  const v1::ControllerStatus& controller = status.targets(0).controllers(0);
  return controller.phase() == "work" || controller.phase() == "pause" ? controller.rate() : 0;
}

TEST(AutoRestart, TheRateGoesOnWhereItWas) {
  if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
  const auto cluster = ClusterWithForeground();
  ASSERT_NE(cluster, nullptr);
  auto foreground = load::Pgbench::Start({.bin = cluster->bin(),
                                          .folder = cluster->folder(),
                                          .dsn = cluster->primary().SocketDsn("app"),
                                          .clients = 4,
                                          .rate_per_second = 400});
  ASSERT_TRUE(foreground.ok()) << foreground.status();
  RunningHeadgated server({.yaml = TolerantPolicy(cluster->primary().Dsn("headgate"))});
  BatchJob job(server, cluster->primary(), "backfill", 2);
  static constexpr double kFarFromTheFirst = 0.4;  // which is 0.06
  const auto is_found = [](const v1::GetStatusResponse& status) {
    return RateBesideForeground(status) > kFarFromTheFirst;
  };
  ASSERT_TRUE(server.AwaitStatus(is_found));
  Pass(absl::Seconds(3));  // it is kept once a second
  ASSERT_TRUE(server.AwaitStatus(is_found));
  server.Terminate();
  server.Restart();
  double after = 0;
  EXPECT_TRUE(server.AwaitStatus(
      [&](const auto& status) { return (after = RateBesideForeground(status)) > 0; }));
  EXPECT_GT(after, kFarFromTheFirst / 2);
  job.Stop();
  EXPECT_TRUE((*foreground)->Stop().ok());
}

}  // namespace
}  // namespace headgate
