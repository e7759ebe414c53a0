// PostgresServer: one real PostgreSQL server, and the faults that a test inflicts on it.
//
// It listens on 127.0.0.1 at a port of its own and on a Unix socket in its cluster's folder. The
// socket admits everybody as anybody; over TCP a password is asked where the cluster was started
// with one. Calls return when what they say has happened, or with an error after 30 s.
// Thread-compatible. Made by PostgresCluster.
//
//   PostgresServer& primary = cluster->primary();
//   absl::StatusOr<SqlRows> rows = primary.RunSql("SELECT count(*) FROM t");
//   primary.Suspend();  // hung, as if its machine had stalled
//   primary.Resume();
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/testing/postgres_process.h"
#include "tests/testing/sql_session.h"

namespace headgate {

class PostgresServer {
 public:
  // `data` is its data folder below `folder`, where its log and socket are too.
  PostgresServer(std::string name, std::string bin, std::string folder, Account account);
  ~PostgresServer();  // as Kill()
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // "primary", "standby-1", ...: as it was created. Also a standby's application_name.
  const std::string& name() const { return name_; }
  int port() const { return port_; }
  const std::string& data() const { return data_; }
  const std::string& log() const { return log_; }
  pid_t pid() const { return pid_; }  // of the postmaster; 0 when it is not running

  // Connection strings, by TCP and by the Unix socket.
  std::string Dsn(const std::string& role = "postgres", const std::string& database = "postgres",
                  const std::string& password = "") const;
  std::string SocketDsn(const std::string& role = "postgres",
                        const std::string& database = "postgres") const;

  // As superuser, by the Unix socket.
  absl::StatusOr<SqlRows> RunSql(const std::string& sql,
                                 const std::string& database = "postgres") const;
  // Writes so many segments of WAL, 16 MB each. From the next checkpoint on they are used again, as
  // those of a database are that has been up for a while; while one is made all commits stand
  // still. Give a min_wal_size of more than that, and let standbys have it before the checkpoint.
  absl::Status FillWal(int segments) const;
  absl::StatusOr<SqlSession> Open(const std::string& database = "postgres") const;

  // Starts it and waits until it takes connections. It keeps its port for good.
  absl::Status Start();

  enum class StopMode { kFast, kImmediate };
  absl::Status Stop(StopMode mode = StopMode::kFast);

  // SIGKILL to all its processes, as a crash of the machine.
  void Kill();

  // SIGSTOP to all its processes, and SIGCONT.
  void Suspend();
  void Resume();

  // Of a standby.
  absl::Status Promote();
  absl::Status PauseReplay();
  absl::Status ResumeReplay();

  // Makes a stopped server one that follows `primary` from its next start on. A former primary must
  // have been stopped kFast, with its last WAL received by the new one.
  absl::Status BecomeStandbyOf(const PostgresServer& primary);

  // Appended to postgresql.conf; in force after the next start, or pg_reload_conf().
  absl::Status Configure(const std::vector<std::pair<std::string, std::string>>& settings);

  // For PostgresCluster, before the first start: takes a port that is free now.
  absl::Status TakePort();

 private:
  absl::Status StartOnce();
  absl::Status WaitForReplay(const std::string& state);
  // Returns the children that got it.
  std::vector<pid_t> SignalAll(int signal);

  const std::string name_;
  const std::string bin_;
  const std::string folder_;
  const std::string data_;
  const std::string log_;
  const Account account_;
  int port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace headgate
