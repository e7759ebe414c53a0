#include "tests/demo/stage.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace headgate::demo {
namespace {

// Two copies of the tables, of what the backfill leaves behind in them, and of the log of it all.
constexpr uintmax_t kDiskBytes = uintmax_t{7} << 30;
// More than all phases write, so that none is made meanwhile.
constexpr int kWalSegments = 48;

absl::Status CheckDisk() {
  const char* parent = getenv("TMPDIR");
  const std::string folder = parent != nullptr ? parent : "/tmp";
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  if (space.available >= kDiskBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(folder, " has ", space.available >> 20, " MB free, and the demo takes ",
                   kDiskBytes >> 20, "; set TMPDIR to a folder on a larger disk"));
}

constexpr char kRoles[] = R"sql(
CREATE ROLE app LOGIN;
CREATE ROLE batch LOGIN;
CREATE ROLE headgate LOGIN IN ROLE pg_monitor;
CREATE ROLE "headgate-agent" LOGIN IN ROLE pg_read_all_stats;
GRANT ALL ON ALL TABLES IN SCHEMA public TO app;
GRANT SELECT, UPDATE ON pgbench_accounts TO batch;
CREATE EXTENSION pg_stat_statements;
CREATE EXTENSION pg_prewarm;
)sql";

}  // namespace

absl::StatusOr<std::unique_ptr<Stage>> Stage::Build(const Interrupt& interrupt, const Say& say) {
  if (absl::Status status = CheckDisk(); !status.ok()) return status;
  say("starting PostgreSQL, a primary and a streaming standby");
  absl::StatusOr<std::unique_ptr<PostgresCluster>> cluster =
      PostgresCluster::Start({.standbys = 1,
                              .settings = {{"shared_buffers", "1GB"},
                                           // No checkpoint falls into one phase and not another.
                                           {"max_wal_size", "4GB"},
                                           {"min_wal_size", "2GB"},
                                           {"shared_preload_libraries", "pg_stat_statements"}}});
  if (!cluster.ok()) return cluster.status();
  std::unique_ptr<Stage> stage(new Stage(std::move(*cluster)));
  say(absl::StrCat("filling pgbench's tables, ", kRows / 1'000'000, " million accounts"));
  absl::Status status = stage->FillTables(interrupt);
  if (status.ok()) status = stage->cluster_->primary().FillWal(kWalSegments);
  if (status.ok()) status = stage->cluster_->WaitForStandbys();
  if (status.ok()) status = stage->MakeRoles();
  if (status.ok()) status = stage->cluster_->WaitForStandbys();
  if (!status.ok()) return status;
  return stage;
}

load::PgbenchOptions Stage::foreground() const {
  return {.bin = cluster_->bin(),
          .folder = cluster_->folder(),
          .dsn = cluster_->primary().SocketDsn("app")};
}

absl::Status Stage::FillTables(const Interrupt& interrupt) {
  load::PgbenchOptions options = foreground();
  options.dsn = cluster_->primary().SocketDsn();
  Subprocess filling(load::PgbenchInitialization(options, kScale),
                     {.log = folder() + "/pgbench.log"});
  while (!filling.HasEnded()) {
    absl::Status status = interrupt.Wait(absl::Milliseconds(50));
    if (!status.ok()) return status;
  }
  return filling.Outcome();
}

absl::Status Stage::MakeRoles() {
  absl::StatusOr<SqlSession> session = cluster_->primary().Open();
  if (!session.ok()) return session.status();
  for (const char* sql : {kRoles,
                          "SELECT pg_prewarm('pgbench_accounts'), "
                          "pg_prewarm('pgbench_accounts_pkey')",
                          "CHECKPOINT"}) {
    if (absl::Status status = session->Run(sql).status(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace headgate::demo
