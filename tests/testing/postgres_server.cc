#include "tests/testing/postgres_server.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/free_port.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr absl::Duration kServerLimit = absl::Minutes(2);

// The eighth line of postmaster.pid says how far the start is.
bool IsReady(const std::string& data, pid_t pid) {
  std::ifstream file(data + "/postmaster.pid");
  std::string line;
  for (int i = 1; i <= 8; ++i) {
    if (!std::getline(file, line)) return false;
    if (i == 1 && line != absl::StrCat(pid)) return false;  // of a former run
  }
  return line.starts_with("ready");
}

std::string Quoted(const std::string& value) {
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"'", "''"}}), "'");
}

}  // namespace

PostgresServer::PostgresServer(std::string name, std::string bin, std::string folder,
                               Account account)
    : name_(std::move(name)),
      bin_(std::move(bin)),
      folder_(std::move(folder)),
      data_(folder_ + "/" + name_),
      log_(folder_ + "/" + name_ + ".log"),
      account_(account) {}

PostgresServer::~PostgresServer() { Kill(); }

std::string PostgresServer::Dsn(const std::string& role, const std::string& database,
                                const std::string& password) const {
  std::string dsn =
      absl::StrCat("host=127.0.0.1 port=", port_, " user=", role, " dbname=", database);
  if (!password.empty()) absl::StrAppend(&dsn, " password=", password);
  return dsn;
}

std::string PostgresServer::SocketDsn(const std::string& role, const std::string& database) const {
  return absl::StrCat("host=", folder_, " port=", port_, " user=", role, " dbname=", database);
}

absl::StatusOr<SqlSession> PostgresServer::Open(const std::string& database) const {
  return SqlSession::Open(SocketDsn("postgres", database));
}

absl::StatusOr<SqlRows> PostgresServer::RunSql(const std::string& sql,
                                               const std::string& database) const {
  absl::StatusOr<SqlSession> session = Open(database);
  if (!session.ok()) return session.status();
  return session->Run(sql);
}

absl::Status PostgresServer::FillWal(int segments) const {
  const std::string fill = absl::StrCat(
      "SELECT pg_logical_emit_message(false, 'headgate', ''), pg_switch_wal() "
      "FROM generate_series(1, ",
      segments, ")");
  return RunSql(fill).status();
}

absl::Status PostgresServer::TakePort() {
  port_ = FreePort();
  if (port_ == 0) return absl::ResourceExhaustedError("no port is free on 127.0.0.1");
  return Configure({{"port", absl::StrCat(port_)}});
}

absl::Status PostgresServer::Start() {
  if (pid_ != 0) return absl::FailedPreconditionError(absl::StrCat(name_, " is running"));
  return StartOnce();
}

absl::Status PostgresServer::StartOnce() {
  absl::StatusOr<pid_t> pid = StartProgram({bin_ + "/postgres", "-D", data_}, account_, log_);
  if (!pid.ok()) return pid.status();
  bool ended = false;
  WaitUntil([&] { return (ended = HasEnded(*pid)) || IsReady(data_, *pid); }, kServerLimit);
  if (ended) {
    return absl::UnavailableError(absl::StrCat(name_, " did not start:\n", TailOf(log_)));
  }
  pid_ = *pid;
  if (IsReady(data_, pid_)) return absl::OkStatus();
  Kill();
  return absl::DeadlineExceededError(absl::StrCat(name_, " is not ready:\n", TailOf(log_)));
}

absl::Status PostgresServer::Stop(StopMode mode) {
  if (pid_ == 0) return absl::OkStatus();
  kill(pid_, mode == StopMode::kFast ? SIGINT : SIGQUIT);
  if (!WaitUntil([&] { return HasEnded(pid_); }, kServerLimit)) {
    Kill();
    return absl::DeadlineExceededError(absl::StrCat(name_, " did not stop:\n", TailOf(log_)));
  }
  pid_ = 0;
  return absl::OkStatus();
}

void PostgresServer::Kill() {
  if (pid_ == 0) return;
  SignalAll(SIGSTOP);
  const std::vector<pid_t> children = SignalAll(SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
  // Its shared memory is in use until the last of them is gone, and nobody may start before.
  WaitUntil([&] { return std::none_of(children.begin(), children.end(), IsRunning); },
            kServerLimit);
}

// The postmaster first: once it has stopped it starts no more children.
void PostgresServer::Suspend() {
  SignalAll(SIGSTOP);
  SignalAll(SIGSTOP);  // a child that was being forked
}

void PostgresServer::Resume() { SignalAll(SIGCONT); }

std::vector<pid_t> PostgresServer::SignalAll(int signal) {
  if (pid_ == 0) return {};
  if (signal != SIGKILL) kill(pid_, signal);
  std::vector<pid_t> children = ChildrenOf(pid_);
  for (const pid_t child : children) kill(child, signal);
  if (signal == SIGKILL) kill(pid_, signal);
  return children;
}

absl::Status PostgresServer::Promote() {
  absl::StatusOr<SqlRows> rows = RunSql("SELECT pg_promote(true, 30)");
  if (!rows.ok()) return rows.status();
  if ((*rows)[0][0] != "t") return absl::DeadlineExceededError(name_ + " was not promoted");
  return absl::OkStatus();
}

absl::Status PostgresServer::PauseReplay() {
  absl::StatusOr<SqlRows> rows = RunSql("SELECT pg_wal_replay_pause()");
  return rows.ok() ? WaitForReplay("paused") : rows.status();
}

absl::Status PostgresServer::ResumeReplay() {
  absl::StatusOr<SqlRows> rows = RunSql("SELECT pg_wal_replay_resume()");
  return rows.ok() ? WaitForReplay("not paused") : rows.status();
}

absl::Status PostgresServer::WaitForReplay(const std::string& state) {
  const auto reached = [&] {
    absl::StatusOr<SqlRows> rows = RunSql("SELECT pg_get_wal_replay_pause_state()");
    return rows.ok() && (*rows)[0][0] == state;
  };
  if (WaitUntil(reached, kServerLimit)) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("replay of ", name_, " is not ", state));
}

absl::Status PostgresServer::BecomeStandbyOf(const PostgresServer& primary) {
  if (pid_ != 0) return absl::FailedPreconditionError(absl::StrCat(name_, " is running"));
  const std::string signal_file = data_ + "/standby.signal";
  std::ofstream signal_stream(signal_file);
  signal_stream.close();
  if (!signal_stream || chown(signal_file.c_str(), account_.uid, account_.gid) != 0) {
    return absl::InternalError("cannot write " + signal_file);
  }
  return Configure(
      {{"primary_conninfo", absl::StrCat(primary.SocketDsn(), " application_name=", name_)}});
}

absl::Status PostgresServer::Configure(
    const std::vector<std::pair<std::string, std::string>>& settings) {
  std::ofstream file(data_ + "/postgresql.conf", std::ios::app);
  for (const auto& [name, value] : settings) file << name << " = " << Quoted(value) << "\n";
  file.close();
  if (!file) return absl::InternalError(absl::StrCat("cannot write the settings of ", name_));
  return absl::OkStatus();
}

}  // namespace headgate
