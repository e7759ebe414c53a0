// PostgresCluster: a real PostgreSQL primary and its streaming standbys, in a temporary folder.
//
// The PostgreSQL of postgres_installation.h, run by user "postgres" where the caller is root,
// reachable from this machine only. Everything is ended and removed by the destructor, and also
// when the program dies. About 1 s to start, 0.4 s more for each standby. It is for demonstrations
// and benchmarks too. Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<PostgresCluster>> cluster =
//       PostgresCluster::Start({.standbys = 1, .settings = {{"shared_buffers", "1GB"}}});
//   (*cluster)->primary().RunSql("CREATE TABLE t (i int)");
//   (*cluster)->WaitForStandbys();
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/testing/postgres_installation.h"
#include "tests/testing/postgres_process.h"
#include "tests/testing/postgres_server.h"

namespace headgate {

struct PostgresOptions {
  int standbys = 0;
  // postgresql.conf of all servers, such as {"shared_preload_libraries", "pg_stat_statements"}.
  std::vector<std::pair<std::string, std::string>> settings = {};
  // Of the superuser. Not empty: all roles need their password over TCP (scram-sha-256).
  std::string password = {};
  // Off, data outlives a crash of a server but not of the machine, and writing is faster.
  bool fsync = false;
};

class PostgresCluster {
 public:
  // Where the programs are; an error that says what is missing, if they are not installed.
  static absl::StatusOr<std::string> BinFolder() { return FindPostgresBin(); }

  static absl::StatusOr<std::unique_ptr<PostgresCluster>> Start(const PostgresOptions& options);

  // As they were created, whatever was promoted since.
  PostgresServer& primary() { return *servers_[0]; }
  PostgresServer& standby(size_t i = 0) { return *servers_[i + 1]; }

  // Until every standby streams and has replayed what the primary has written by now.
  absl::Status WaitForStandbys();

  const std::string& folder() const { return folder_; }
  const std::string& bin() const { return bin_; }  // pgbench is here

 private:
  PostgresCluster(std::string bin, std::string folder, Account account)
      : installed_bin_(std::move(bin)),
        bin_(installed_bin_),
        folder_(std::move(folder)),
        account_(account),
        cleanup_(std::make_unique<FolderCleanup>(folder_)) {}

  // Puts a copy of the programs into the folder where the servers' account may not run them.
  absl::Status EnsureReachable();
  // Into `data`, by initdb.
  absl::Status InitDb(const std::string& data, const std::string& log,
                      const std::string& password) const;
  // The same by a copy of what initdb once made in `templates`, where each installation has its
  // own.
  absl::Status CopyTemplate(const std::string& templates, const PostgresServer& to) const;
  absl::Status Initialize(const PostgresOptions& options);
  absl::Status AddStandby(const std::string& name);
  absl::Status StartAll();

  const std::string installed_bin_;
  std::string bin_;
  const std::string folder_;
  const Account account_;
  std::unique_ptr<FolderCleanup> cleanup_;  // goes after the servers
  std::vector<std::unique_ptr<PostgresServer>> servers_;
};

}  // namespace headgate
