// Stage: the database that the experiment is played on.
//
// A PostgreSQL primary and its streaming standby with pgbench's tables, all in shared memory so
// that every phase finds them warm, and a role each for the foreground ("app"), the backfill
// ("batch"), Headgate ("headgate", which has pg_monitor and nothing else) and the agent
// ("headgate-agent", which has pg_read_all_stats and nothing else). Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<Stage>> stage = Stage::Build(interrupt, say);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/demo/interrupt.h"
#include "tests/load/pgbench.h"
#include "tests/testing/postgres_cluster.h"

namespace headgate::demo {

class Stage {
 public:
  using Say = std::function<void(const std::string&)>;

  // Takes about 10 s. `say` is told what is being done.
  static absl::StatusOr<std::unique_ptr<Stage>> Build(const Interrupt& interrupt, const Say& say);

  PostgresCluster& cluster() { return *cluster_; }
  // A folder that goes with the stage.
  const std::string& folder() const { return cluster_->folder(); }

  load::PgbenchOptions foreground() const;
  std::string batch_dsn() const { return cluster_->primary().SocketDsn("batch"); }
  std::string agent_dsn() const { return cluster_->primary().SocketDsn("headgate-agent"); }

  static constexpr int kScale = 20;
  static constexpr int64_t kRows = kScale * load::kAccountsPerScale;

 private:
  explicit Stage(std::unique_ptr<PostgresCluster> cluster) : cluster_(std::move(cluster)) {}

  absl::Status FillTables(const Interrupt& interrupt);
  absl::Status MakeRoles();

  const std::unique_ptr<PostgresCluster> cluster_;
};

}  // namespace headgate::demo
