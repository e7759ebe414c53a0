#include "tests/testing/postgres_bouncer.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/testing/free_port.h"
#include "tests/testing/sql_session.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr char kProgram[] = "/usr/sbin/pgbouncer";

// Where FolderCleanup looks for what has to be ended.
absl::StatusOr<std::string> MakeFolder(const std::string& in, const Account& account) {
  static std::atomic<int> count = 0;
  // Sequentially consistent: a test.
  std::string folder = absl::StrCat(in, "/bouncer-", count.fetch_add(1));
  if (mkdir(folder.c_str(), 0755) != 0 || chown(folder.c_str(), account.uid, account.gid) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("making ", folder));
  }
  return folder;
}

absl::Status WriteFiles(const std::string& folder, const PostgresServer& server, int port,
                        const BouncerOptions& options) {
  std::ofstream users(folder + "/users");
  for (const std::string& role : options.roles) {
    users << '"' << role << "\" \"" << options.password << "\"\n";
  }
  std::ofstream settings(folder + "/pgbouncer.ini");
  settings << "[databases]\n* = host=127.0.0.1 port=" << server.port() << "\n[pgbouncer]\n"
           << "listen_addr = 127.0.0.1\nlisten_port = " << port << "\nunix_socket_dir =\n"
           << "auth_type = trust\nauth_file = " << folder << "/users\n"
           << "pool_mode = " << options.mode << "\n"
           << "default_pool_size = " << (options.mode == "session" ? 10 : 1) << "\n"
           << "pidfile = " << folder << "/postmaster.pid\n"
           << "ignore_startup_parameters = " << options.ignored << "\n";
  users.close();
  settings.close();
  if (users && settings) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write the settings in ", folder));
}

}  // namespace

absl::StatusOr<std::string> PostgresBouncer::Program() {
  if (access(kProgram, X_OK) == 0) return kProgram;
  return absl::NotFoundError("PgBouncer is not installed: apt-get install pgbouncer");
}

absl::StatusOr<std::unique_ptr<PostgresBouncer>> PostgresBouncer::Start(
    const std::string& folder, const PostgresServer& server, const BouncerOptions& options) {
  absl::StatusOr<std::string> program = Program();
  if (!program.ok()) return program.status();
  absl::StatusOr<Account> account = PostgresAccount();
  if (!account.ok()) return account.status();
  absl::StatusOr<std::string> own = MakeFolder(folder, *account);
  if (!own.ok()) return own.status();
  const int port = FreePort();
  if (absl::Status status = WriteFiles(*own, server, port, options); !status.ok()) return status;
  const std::string log = *own + "/log";
  absl::StatusOr<pid_t> pid = StartProgram({*program, *own + "/pgbouncer.ini"}, *account, log);
  if (!pid.ok()) return pid.status();
  std::unique_ptr<PostgresBouncer> bouncer(new PostgresBouncer(port, *pid));
  const std::string dsn = bouncer->Dsn(options.roles.front(), "postgres");
  if (WaitUntil([&] { return SqlSession::Open(dsn).ok(); })) return bouncer;
  return absl::UnavailableError(absl::StrCat("PgBouncer does not answer:\n", TailOf(log)));
}

PostgresBouncer::~PostgresBouncer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::StatusOr<std::string> PostgresBouncer::LeftBehind(const std::string& role,
                                                        const std::string& database) const {
  absl::StatusOr<SqlSession> session = SqlSession::Open(Dsn(role, database));
  if (!session.ok()) return session.status();
  absl::StatusOr<SqlRows> rows = session->Run(R"sql(
SELECT string_agg(what, ', ' ORDER BY what) FROM (
  SELECT name || ' = ' || setting FROM pg_settings WHERE source = 'session' AND name NOT IN
    ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings')
  UNION ALL SELECT 'statement ' || name FROM pg_prepared_statements
  UNION ALL SELECT 'table ' || relname FROM pg_class WHERE relpersistence = 't'
    AND relkind = 'r'
  UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory') AS left_behind (what))sql");
  if (!rows.ok()) return rows.status();
  return (*rows)[0][0];
}

std::string PostgresBouncer::Dsn(const std::string& role, const std::string& database) const {
  return absl::StrCat("host=127.0.0.1 port=", port_, " user=", role, " dbname=", database);
}

}  // namespace headgate
