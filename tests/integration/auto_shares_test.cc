// Two jobs on one budget whose rate Headgate finds, at a real PostgreSQL with a foreground: one of
// eight workers and one of a single worker, all of which wait in line, get alike of the database's
// time.
//
// That takes a machine on which the single worker is back in line when its turn comes. Where it is
// not, since the machine stands still for moments, the room that has come meanwhile is for those
// who ask, as it should be. So the jobs are measured in windows, until one shows equal shares: by
// order of arrival, or for those who ask most often, none would.

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/substitute.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "tests/integration/batch_job.h"
#include "tests/load/chunk_log.h"
#include "tests/load/pgbench.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/test_scale.h"

namespace headgate {
namespace {

constexpr absl::Duration kWarmUp = absl::Seconds(4);
constexpr int kWindows = 6;

std::string TwoJobsPolicy(const std::string& dsn) {
  return absl::Substitute(R"(
targets:
  - name: shop
    default_health: database
    primary: {dsn: "$0"}
    batch_work: {roles: [batch]}
health_profiles:
  - name: database
    signals: [{name: connection_fraction}]
budgets:
  - {name: found, rate: auto, auto_tuning: {max_rate: 1}}
rules:
  - {name: jobs, match: {identity: etl}, charge: [found]}
)",
                          dsn);
}

absl::Time WallTime() { return SystemClock::ReadKernel().wall(); }

// Jain's index of what the two got.
double MeasuredIn(const load::Window& window, const BatchJob& many, const BatchJob& one) {
  const load::BatchStats of_many = many.Over(window);
  const load::BatchStats of_one = one.Over(window);
  const double a = of_many.in_flight;
  const double b = of_one.in_flight;
  const double jain = (a + b) * (a + b) / (2 * (a * a + b * b));
  std::printf(
      "busy seconds a second: %.3f of eight workers, %.3f of one; chunks of %.1f and %.1f ms; "
      "Jain's index %.3f\n",
      a, b, absl::ToDoubleMilliseconds(of_many.mean_chunk),
      absl::ToDoubleMilliseconds(of_one.mean_chunk), jain);
  return b > 0 ? jain : 0;
}

TEST(AutoShares, EightWorkersGetNoMoreOfAFoundRateThanOneWhereAllWaitInLine) {
  if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
  const bool is_long = TestScale() >= 1;
  const auto cluster = ClusterWithForeground();
  ASSERT_NE(cluster, nullptr);
  auto foreground = load::Pgbench::Start({.bin = cluster->bin(),
                                          .folder = cluster->folder(),
                                          .dsn = cluster->primary().SocketDsn("app"),
                                          .clients = 4,
                                          .rate_per_second = 100});
  ASSERT_TRUE(foreground.ok()) << foreground.status();
  RunningHeadgated server({.yaml = TwoJobsPolicy(cluster->primary().Dsn("headgate"))});
  ASSERT_TRUE(server.AwaitHealth(v1::HEALTH_STATE_HEALTHY));
  BatchJob many(server, cluster->primary(), "many", 8);
  BatchJob one(server, cluster->primary(), "one", 1);
  Pass(kWarmUp);
  const double equal = is_long ? 0.95 : 0.9;
  double best = 0;
  for (int i = 0; i < kWindows && best < equal; ++i) {
    load::Window window{.from = WallTime(), .to = absl::InfiniteFuture()};
    Pass(is_long ? absl::Seconds(40) : absl::Seconds(12));
    window.to = WallTime();
    best = std::max(best, MeasuredIn(window, many, one));
  }
  many.Stop();
  one.Stop();
  EXPECT_TRUE((*foreground)->Stop().ok());
  EXPECT_GE(best, equal);
}

}  // namespace
}  // namespace headgate
