// A job that asks a server before each chunk, at a real PostgreSQL that has a foreground: what
// tests of `rate: auto` share.
//
//   const auto cluster = ClusterWithForeground();
//   BatchJob job(server, cluster->primary(), "backfill", 8);
//   ...
//   job.Stop();

#pragma once

#include <headgate/client.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "tests/load/batch_workers.h"
#include "tests/load/chunk_log.h"
#include "tests/load/pgbench.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate {

inline std::string CountUp(int64_t first, int64_t last) {
  return absl::StrCat("SELECT sum(i) FROM generate_series(", first, ", ", last, ") i");
}

// Waits in line before each chunk, and says afterwards for how long it kept the database busy.
class BatchJob {
 public:
  BatchJob(const RunningHeadgated& server, PostgresServer& database, std::string name, int workers)
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
  static constexpr int64_t kChunkRows = 50'000;  // about ten milliseconds of one core

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
inline std::unique_ptr<PostgresCluster> ClusterWithForeground() {
  auto cluster = PostgresCluster::Start({});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  if (!cluster.ok()) return nullptr;
  const load::PgbenchOptions filling{.bin = (*cluster)->bin(),
                                     .folder = (*cluster)->folder(),
                                     .dsn = (*cluster)->primary().SocketDsn()};
  const absl::Status filled = load::RunToEnd(load::PgbenchInitialization(filling, /*scale=*/2),
                                             (*cluster)->folder() + "/filling.log");
  EXPECT_TRUE(filled.ok()) << filled;
  const auto roles = (*cluster)->primary().RunSql(
      "CREATE ROLE app LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO app;"
      "CREATE ROLE batch LOGIN; CREATE ROLE headgate LOGIN IN ROLE pg_monitor");
  EXPECT_TRUE(roles.ok()) << roles.status();
  return *std::move(cluster);
}

inline void Pass(absl::Duration time) {
  const int64_t until_ns = MonotonicNs() + absl::ToInt64Nanoseconds(time);
  (void)WaitUntil([&] { return MonotonicNs() >= until_ns; }, time + absl::Minutes(1));
}

}  // namespace headgate
