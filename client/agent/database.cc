#include "client/agent/database.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/agent/database_sql.h"
#include "client/scheduling/kernel_file.h"
#include "common/sql_text.h"

namespace headgate::agent {
namespace {

// A statement that hangs is ended by the server too, some time after the agent has given it up.
constexpr char kSettings[] =
    "-c statement_timeout=10s -c lock_timeout=1s -c idle_session_timeout=0 -c jit=off "
    "-c default_transaction_read_only=on -c search_path=pg_catalog";

std::string FirstLine(const char* text) {
  const std::string_view all(text);
  return std::string(all.substr(0, all.find('\n')));
}

absl::Status StatusOfState(std::string_view sqlstate, const std::string& message) {
  // Class 28 is about who logs in, 42501 about a privilege.
  if (sqlstate.starts_with("28") || sqlstate == "42501") {
    return absl::PermissionDeniedError(message);
  }
  return absl::UnavailableError(message);
}

std::vector<const char*> PointersTo(const std::vector<std::string>& parameters) {
  std::vector<const char*> pointers;
  pointers.reserve(parameters.size());
  for (const std::string& parameter : parameters) pointers.push_back(parameter.c_str());
  return pointers;
}

template <typename Number>
Number NumberAt(const pg_result* result, int row, int column) {
  Number number = 0;
  return absl::SimpleAtoi(PQgetvalue(result, row, column), &number) ? number : 0;
}

bool IsTrueAt(const pg_result* result, int row, int column) {
  return PQgetvalue(result, row, column)[0] == 't';
}

// The process that listens on the other side of a Unix socket.
std::optional<int> ListenerOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.ss_family != AF_UNIX) {
    return std::nullopt;
  }
  ucred peer = {};
  size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.pid;
}

// This side's port of a connection over loopback; 0: it is none.
int LoopbackPortOf(int socket) {
  sockaddr_storage peer = {}, own = {};
  socklen_t size = sizeof(peer);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return 0;
  size = sizeof(own);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  if (peer.ss_family == AF_INET) {
    const uint32_t address = ntohl(reinterpret_cast<const sockaddr_in&>(peer).sin_addr.s_addr);
    if (address >> 24 != 127) return 0;
    return ntohs(reinterpret_cast<const sockaddr_in&>(own).sin_port);
  }
  if (peer.ss_family == AF_INET6) {
    if (!IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr)) return 0;
    return ntohs(reinterpret_cast<const sockaddr_in6&>(own).sin6_port);
  }
  return 0;
}

}  // namespace

void Database::Closer::operator()(pg_conn* connection) const { PQfinish(connection); }
void Database::Closer::operator()(pg_result* result) const { PQclear(result); }

Database::~Database() = default;

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const Options& options) {
  std::unique_ptr<Database> database(new Database(options));
  for (const auto step : {&Database::Connect, &Database::CheckRole, &Database::Prove}) {
    if (absl::Status status = (*database.*step)(); !status.ok()) return status;
  }
  return database;
}

bool Database::is_standby() const {
  // Since 14 the server reports it by itself, and whenever it changes.
  const char* const reported = PQparameterStatus(connection_.get(), "in_hot_standby");
  return reported != nullptr && std::string_view(reported) == "on";
}

int64_t Database::EndNs() const {
  return options_.clock->Read().monotonic_ns + absl::ToInt64Nanoseconds(options_.limit);
}

absl::Status Database::Wait(short events, int64_t end_ns) const {
  for (;;) {
    const int64_t left_ns = end_ns - options_.clock->Read().monotonic_ns;
    const int64_t left_ms = std::clamp<int64_t>((left_ns + 999'999) / 1'000'000, 0, 60'000);
    std::array<pollfd, 2> events_of = {
        {{.fd = PQsocket(connection_.get()), .events = events, .revents = 0},
         {.fd = options_.stop_fd, .events = POLLIN, .revents = 0}}};
    const int ready = poll(events_of.data(), events_of.size(), static_cast<int>(left_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return absl::ErrnoToStatus(errno, "poll");
    if (events_of[1].revents != 0) return absl::CancelledError("asked to end");
    if (ready == 0) return absl::DeadlineExceededError("PostgreSQL does not answer in time");
    return absl::OkStatus();
  }
}

absl::Status Database::Lost() const {
  return absl::UnavailableError(FirstLine(PQerrorMessage(connection_.get())));
}

absl::Status Database::Connect() {
  // Of what is there twice libpq takes the later one.
  const std::array<const char*, 5> keywords = {"dbname", "application_name", "client_encoding",
                                               "options", nullptr};
  const std::array<const char*, 5> values = {options_.dsn.c_str(), "headgate agent", "UTF8",
                                             kSettings, nullptr};
  connection_.reset(PQconnectStartParams(keywords.data(), values.data(), 1));
  if (connection_ == nullptr) return absl::ResourceExhaustedError("no memory to connect");
  if (PQstatus(connection_.get()) == CONNECTION_BAD) return Lost();
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  const int64_t end_ns = EndNs();
  for (short events = POLLOUT;;) {
    if (absl::Status status = Wait(events, end_ns); !status.ok()) return status;
    switch (PQconnectPoll(connection_.get())) {
      case PGRES_POLLING_READING:
        events = POLLIN;
        break;
      case PGRES_POLLING_WRITING:
        events = POLLOUT;
        break;
      case PGRES_POLLING_OK:
        if (PQsetnonblocking(connection_.get(), 1) != 0) return Lost();
        return absl::OkStatus();
      default:
        return Lost();
    }
  }
}

absl::Status Database::CheckRole() {
  if (const int version = PQserverVersion(connection_.get()); version < kOldestVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("PostgreSQL ", version / 10000, " is too old; it takes 14 or newer"));
  }
  absl::StatusOr<Result> role = Run(kRoleSql, {});
  if (!role.ok()) return role.status();
  const std::string version = PQgetvalue(role->get(), 0, 0);
  server_.version = version.substr(0, version.find(' '));
  server_.role = PQgetvalue(role->get(), 0, 1);
  server_.backend = NumberAt<int>(role->get(), 0, 3);
  if (!IsTrueAt(role->get(), 0, 2)) {
    return absl::PermissionDeniedError(
        absl::StrCat("role ", server_.role,
                     " does not see other sessions; GRANT pg_read_all_stats TO ", server_.role));
  }
  return absl::OkStatus();
}

absl::Status Database::Prove() {
  const int socket = PQsocket(connection_.get());
  const std::optional<int> listener = ListenerOf(socket);
  const int port = LoopbackPortOf(socket);
  if (!listener.has_value() && port == 0) {
    return absl::FailedPreconditionError(
        "it is not on this machine; the agent takes a Unix socket or a loopback address");
  }
  if (server_.backend != PQbackendPID(connection_.get())) {
    return absl::FailedPreconditionError(
        "the connection leads through a pooler; the agent takes PostgreSQL itself");
  }
  const std::optional<Processes::Found> backend = options_.processes->Find(server_.backend);
  if (!backend.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("its process ", server_.backend,
                     " is not seen here; the agent has to run in PostgreSQL's "
                     "namespace of processes"));
  }
  // The title of a backend begins so, and has the client's port in brackets.
  const std::string title =
      scheduling::ReadSmallFile(absl::StrCat("/proc/", server_.backend, "/cmdline")).value_or("");
  const bool is_proved = listener.has_value()
                             ? *listener == backend->parent
                             : absl::StartsWith(title, "postgres: ") &&
                                   absl::StrContains(title, absl::StrCat("(", port, ")"));
  if (!is_proved) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", server_.backend,
                     " is not what serves the agent here; PostgreSQL is behind a "
                     "pooler, or in another namespace of processes"));
  }
  server_.postmaster = backend->parent;
  return absl::OkStatus();
}

absl::StatusOr<Database::Result> Database::Receive() {
  const int64_t end_ns = EndNs();
  Result kept;
  for (;;) {
    while (PQisBusy(connection_.get()) != 0) {
      const int unsent = PQflush(connection_.get());
      if (unsent < 0) return Lost();
      const auto events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN);
      if (absl::Status status = Wait(events, end_ns); !status.ok()) return status;
      if (PQconsumeInput(connection_.get()) == 0) return Lost();
    }
    Result result(PQgetResult(connection_.get()));
    if (result == nullptr) break;
    kept = std::move(result);
  }
  if (kept == nullptr) return Lost();
  const ExecStatusType kind = PQresultStatus(kept.get());
  if (kind == PGRES_TUPLES_OK || kind == PGRES_COMMAND_OK) return kept;
  const char* const state = PQresultErrorField(kept.get(), PG_DIAG_SQLSTATE);
  return StatusOfState(state == nullptr ? "" : state, FirstLine(PQresultErrorMessage(kept.get())));
}

absl::StatusOr<Database::Result> Database::Run(const char* sql,
                                               const std::vector<std::string>& parameters) {
  const std::vector<const char*> values = PointersTo(parameters);
  if (PQsendQueryParams(connection_.get(), sql, static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, 0) == 0) {
    return Lost();
  }
  return Receive();
}

absl::Status Database::Prepare(const char* name, const char* sql) {
  if (PQsendPrepare(connection_.get(), name, sql, 0, nullptr) == 0) return Lost();
  return Receive().status();
}

absl::StatusOr<Database::Result> Database::RunPrepared(const char* name,
                                                       const std::vector<std::string>& parameters) {
  const std::vector<const char*> values = PointersTo(parameters);
  if (PQsendQueryPrepared(connection_.get(), name, static_cast<int>(values.size()), values.data(),
                          nullptr, nullptr, 0) == 0) {
    return Lost();
  }
  return Receive();
}

absl::StatusOr<Database::Sight> Database::Look(const BatchWork& batch) {
  constexpr char kName[] = "look";
  if (!has_prepared_) {
    if (absl::Status status = Prepare(kName, kLookSql); !status.ok()) return status;
    has_prepared_ = true;
  }
  absl::StatusOr<Result> rows = RunPrepared(
      kName, {PostgresArray(batch.roles), PostgresArray(LikePatterns(batch.application_names))});
  if (!rows.ok()) return rows.status();
  const pg_result* const table = rows->get();
  Sight sight;
  sight.sessions.reserve(static_cast<size_t>(PQntuples(table)));
  for (int i = 0; i < PQntuples(table); ++i) {
    sight.sessions.push_back({.pid = NumberAt<int>(table, i, 0),
                              .began_us = NumberAt<int64_t>(table, i, 1),
                              .leader = NumberAt<int>(table, i, 2),
                              .holds = IsTrueAt(table, i, 3),
                              .work = static_cast<Work>(NumberAt<int>(table, i, 4))});
    sight.waiting = NumberAt<size_t>(table, i, 5);
  }
  return sight;
}

absl::StatusOr<std::vector<LockWait>> Database::LockWaits() {
  absl::StatusOr<Result> rows = Run(kWaitsSql, {});
  if (!rows.ok()) return rows.status();
  std::vector<LockWait> waits;
  for (int i = 0; i < PQntuples(rows->get()); ++i) {
    LockWait& wait = waits.emplace_back(LockWait{.pid = NumberAt<int>(rows->get(), i, 0)});
    for (const absl::string_view word :
         absl::StrSplit(PQgetvalue(rows->get(), i, 1), ' ', absl::SkipEmpty())) {
      int pid = 0;
      // 0 stands for a prepared transaction, which has no process.
      if (absl::SimpleAtoi(word, &pid) && pid != 0) wait.blockers.push_back(pid);
    }
  }
  return waits;
}

absl::StatusOr<std::vector<NamedSession>> Database::Names(const std::vector<int>& pids) {
  absl::StatusOr<Result> rows = Run(kNamesSql, {absl::StrCat("{", absl::StrJoin(pids, ","), "}")});
  if (!rows.ok()) return rows.status();
  std::vector<NamedSession> named;
  for (int i = 0; i < PQntuples(rows->get()); ++i) {
    named.push_back({.pid = NumberAt<int>(rows->get(), i, 0),
                     .role = PQgetvalue(rows->get(), i, 1),
                     .application_name = PQgetvalue(rows->get(), i, 2)});
  }
  return named;
}

absl::Status Database::StartSpinning(absl::Duration time) {
  const std::string milliseconds = absl::StrCat(absl::ToInt64Milliseconds(time));
  const char* const values[] = {milliseconds.c_str()};
  if (PQsendQueryParams(connection_.get(), kSpinSql, 1, nullptr, values, nullptr, nullptr, 0) ==
      0) {
    return Lost();
  }
  const int64_t end_ns = EndNs();
  for (int unsent = PQflush(connection_.get()); unsent != 0; unsent = PQflush(connection_.get())) {
    if (unsent < 0) return Lost();
    if (absl::Status status = Wait(POLLOUT, end_ns); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Database::FinishSpinning() { return Receive().status(); }

}  // namespace headgate::agent
