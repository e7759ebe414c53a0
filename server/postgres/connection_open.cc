// Connecting: all addresses of all hosts in turn, each with its share of the time.
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/postgres/connection.h"
#include "server/postgres/sql_error.h"

namespace headgate::postgres {
namespace {

std::string NameOf(const Dsn::Host& host) {
  const std::string& name = host.host.empty() ? host.address : host.host;
  return absl::StrCat(name.empty() ? "the local socket" : name, host.port.empty() ? "" : ":",
                      host.port);
}

// Of several attempts, the error that says most: a server that refuses this role rather than one
// that is down.
class Attempts {
 public:
  void Add(const absl::Status& status) {
    const bool better = !absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status);
    if (said_.ok() || better) said_ = status;
  }
  const absl::Status& error() const { return said_; }

 private:
  absl::Status said_;
};

}  // namespace

absl::Status Connection::Open(const std::string& text, absl::Duration call_limit,
                              const Deadline& deadline) {
  Close();
  absl::StatusOr<Dsn> dsn = ParseDsn(text);
  if (!dsn.ok()) return dsn.status();
  absl::Status status = ConnectAny(*dsn, deadline);
  if (status.ok()) status = SetUp(call_limit, deadline);
  if (!status.ok()) Close();
  return status;
}

absl::Status Connection::ConnectAny(const Dsn& dsn, const Deadline& deadline) {
  Attempts attempts;
  for (size_t i = 0; i < dsn.hosts.size(); ++i) {
    absl::Status status = ConnectAny(dsn, dsn.hosts[i], deadline.FirstOf(dsn.hosts.size() - i));
    if (status.ok() || absl::IsCancelled(status)) return status;
    attempts.Add(status);
  }
  return attempts.error();
}

absl::Status Connection::ConnectAny(const Dsn& dsn, const Dsn::Host& host,
                                    const Deadline& deadline) {
  if (!host.needs_lookup()) return Connect(dsn, host, deadline);
  absl::StatusOr<std::vector<std::string>> found = resolver_.Resolve(host.host, waiter_, deadline);
  if (!found.ok()) return found.status();
  Attempts attempts;
  for (size_t i = 0; i < found->size(); ++i) {
    const Dsn::Host address = {.host = host.host, .address = (*found)[i], .port = host.port};
    absl::Status status = Connect(dsn, address, deadline.FirstOf(found->size() - i));
    if (status.ok() || absl::IsCancelled(status)) return status;
    attempts.Add(status);
  }
  return attempts.error();
}

absl::Status Connection::Connect(const Dsn& dsn, const Dsn::Host& address,
                                 const Deadline& deadline) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  const auto add = [&](const char* keyword, const std::string& value) {
    if (value.empty()) return;
    keywords.push_back(keyword);
    values.push_back(value.c_str());
  };
  const std::string name = "headgate";
  const std::string encoding = "UTF8";
  for (const auto& [keyword, value] : dsn.others) add(keyword.c_str(), value);
  add("host", address.host);
  add("hostaddr", address.address);
  add("port", address.port);
  add("application_name", name);
  add("client_encoding", encoding);
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  Close();
  connection_.reset(PQconnectStartParams(keywords.data(), values.data(), 0));
  absl::Status status = Handshake(deadline);
  if (status.ok() || absl::IsCancelled(status)) return status;
  const bool hung = absl::IsDeadlineExceeded(status);
  Close();
  if (!hung) return status;
  return absl::DeadlineExceededError(
      absl::StrCat("connecting to ", NameOf(address), ": no answer in time"));
}

absl::Status Connection::Handshake(const Deadline& deadline) {
  PGconn* const connection = connection_.get();
  if (connection == nullptr) return absl::ResourceExhaustedError("no memory for a connection");
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  PostgresPollingStatusType state =
      PQstatus(connection) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING) {
    const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    absl::Status status = waiter_.Wait(PQsocket(connection), events, deadline);
    if (!status.ok()) return status;
    state = PQconnectPoll(connection);
  }
  if (state == PGRES_POLLING_OK) return absl::OkStatus();
  absl::Status error = ConnectError(PQerrorMessage(connection));
  // The server asked for a password and there was none: libpq gave up, without any SQLSTATE.
  if (PQconnectionNeedsPassword(connection) != 0) {
    return absl::PermissionDeniedError(error.message());
  }
  return error;
}

absl::Status Connection::SetUp(absl::Duration call_limit, const Deadline& deadline) {
  if (server_version() < kOldestVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("PostgreSQL ", server_version() / 10000, " is too old; it takes 14 or newer"));
  }
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  if (PQsetnonblocking(connection_.get(), 1) != 0 || PQenterPipelineMode(connection_.get()) == 0) {
    return Lost();
  }
  const int64_t limit_ms = std::max<int64_t>(1, absl::ToInt64Milliseconds(call_limit / 2));
  // Compiling costs more than queries this small; the idle limit is for forgotten sessions.
  const Statement settings = {
      .label = "session settings",
      .sql =
          "SELECT set_config('default_transaction_read_only', 'on', false),"
          " set_config('statement_timeout', $1, false),"
          " set_config('idle_session_timeout', '0', false), set_config('jit', 'off', false)",
      .parameters = {absl::StrCat(limit_ms)}};
  absl::StatusOr<std::vector<absl::StatusOr<Table>>> tables = Run({&settings, 1}, deadline);
  if (!tables.ok()) return tables.status();
  return tables->front().status();
}

}  // namespace headgate::postgres
