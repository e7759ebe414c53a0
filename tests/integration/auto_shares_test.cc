// Two jobs on one budget whose rate Headgate finds, at a real PostgreSQL with a foreground: one of
// eight workers and one of a single worker, all of which wait in line, get alike of the database's
// time.
//
// That takes a machine on which the single worker is back in line when its turn comes. Where it is
// not, since the machine stands still for moments, the room that has come meanwhile is for those
// who ask, as it should be. So the jobs are measured in windows, until one shows equal shares: by
// order of arrival, or for those who ask most often, none would.

#include <headgate/client.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "tests/load/batch_workers.h"
#include "tests/load/chunk_log.h"
#include "tests/load/pgbench.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/test_scale.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr int kScale = 2;
constexpr int64_t kChunkRows = 50'000;  // about ten milliseconds of one core
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

std::string CountUp(int64_t first, int64_t last) {
  return absl::StrCat("SELECT sum(i) FROM generate_series(", first, ", ", last, ") i");
}

// Waits in line before each chunk, and says afterwards for how long it kept the database busy.
class Job {
 public:
  Job(const RunningHeadgated& server, PostgresServer& database, std::string name, int workers)
      : identity_(absl::StrCat(name, ":etl")) {
    auto client = client::Client::Create({.address = server.address(),
                                          .on_unreachable = client::OnUnreachable::Wait(),
                                          .check_deadline = absl::Seconds(30)});
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    auto batch = load::BatchWorkers::Start({.dsn = database.SocketDsn("batch"),
                                            .workers = workers,
                                            .table_rows = int64_t{1} << 40,
                                            .chunk_rows = kChunkRows,
                                            .statement = CountUp,
                                            .ask = Asker()},
                                           &chunks_);
    EXPECT_TRUE(batch.ok()) << batch.status();
    batch_ = *std::move(batch);
  }

  void Stop() {
    const absl::Status stopped = batch_->Stop();
    EXPECT_TRUE(stopped.ok()) << stopped;
  }
  load::BatchStats Over(const load::Window& window) const { return chunks_.Over(window); }

 private:
  load::Ask Asker() {
    return [this](int, int64_t rows, const std::stop_token& stop) -> absl::StatusOr<load::Turn> {
      absl::StatusOr<client::Permit> granted =
          client_->CheckOrWait({.identity = identity_,
                                .estimated_cost = static_cast<double>(rows),
                                .pattern = "count-up"},
                               absl::InfiniteDuration(), stop);
      if (!granted.ok()) return granted.status();
      auto permit = std::make_shared<client::Permit>(*std::move(granted));
      return load::Turn{.done = [permit](absl::Duration took) {
        permit->Report({.busy_time = took}).IgnoreError();
      }};
    };
  }

  const std::string identity_;
  load::ChunkLog chunks_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<load::BatchWorkers> batch_;  // goes first
};

// Tables and roles for a foreground.
std::unique_ptr<PostgresCluster> ClusterWithForeground() {
  auto cluster = PostgresCluster::Start({});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  if (!cluster.ok()) return nullptr;
  const load::PgbenchOptions filling{.bin = (*cluster)->bin(),
                                     .folder = (*cluster)->folder(),
                                     .dsn = (*cluster)->primary().SocketDsn()};
  const absl::Status filled = load::RunToEnd(load::PgbenchInitialization(filling, kScale),
                                             (*cluster)->folder() + "/filling.log");
  EXPECT_TRUE(filled.ok()) << filled;
  const auto roles = (*cluster)->primary().RunSql(
      "CREATE ROLE app LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO app;"
      "CREATE ROLE batch LOGIN; CREATE ROLE headgate LOGIN IN ROLE pg_monitor");
  EXPECT_TRUE(roles.ok()) << roles.status();
  return *std::move(cluster);
}

void Pass(absl::Duration time) {
  const int64_t until_ns = MonotonicNs() + absl::ToInt64Nanoseconds(time);
  (void)WaitUntil([&] { return MonotonicNs() >= until_ns; }, time + absl::Minutes(1));
}

absl::Time WallTime() { return SystemClock::ReadKernel().wall(); }

// Jain's index of what the two got.
double MeasuredIn(const load::Window& window, const Job& many, const Job& one) {
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
  Job many(server, cluster->primary(), "many", 8);
  Job one(server, cluster->primary(), "one", 1);
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
