#include "server/postgres/connector.h"

#include <libpq-fe.h>
#include <poll.h>

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/postgres/sql_error.h"

namespace headgate::postgres {

using dsn::Dsn;

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

bool IsOver(const absl::StatusOr<PgConnection>& connection) {
  return connection.ok() || absl::IsCancelled(connection.status());
}

}  // namespace

Connector::Connector(const Waiter& waiter, HostLookup lookup)
    : waiter_(waiter), resolver_(std::move(lookup)) {}

absl::StatusOr<PgConnection> Connector::Open(const std::string& text, const Options& options,
                                             const Deadline& deadline) {
  absl::StatusOr<Dsn> dsn = dsn::ParseDsn(text);
  if (!dsn.ok()) return dsn.status();
  // Of a keyword that is there twice libpq takes the later one.
  Pairs parameters = options.defaults;
  parameters.insert(parameters.end(), dsn->others.begin(), dsn->others.end());
  std::string name =
      options.application_name.empty() ? dsn->application_name : options.application_name;
  parameters.emplace_back("application_name", name.empty() ? "headgate" : std::move(name));
  parameters.emplace_back("client_encoding", "UTF8");
  absl::StatusOr<PgConnection> connection = ConnectAny(*dsn, parameters, deadline);
  if (!connection.ok()) return connection;
  const int version = PQserverVersion(connection->get());
  if (version < options.oldest_version) {
    return absl::FailedPreconditionError(absl::StrCat("PostgreSQL ", version / 10000,
                                                      " is too old; it takes ",
                                                      options.oldest_version / 10000, " or newer"));
  }
  absl::Status status = SetUp(connection->get(), options.settings, deadline);
  if (!status.ok()) return status;
  return connection;
}

absl::StatusOr<PgConnection> Connector::ConnectAny(const Dsn& dsn, const Pairs& parameters,
                                                   const Deadline& deadline) {
  Attempts attempts;
  for (size_t i = 0; i < dsn.hosts.size(); ++i) {
    auto connection = ConnectAny(dsn.hosts[i], parameters, deadline.FirstOf(dsn.hosts.size() - i));
    if (IsOver(connection)) return connection;
    attempts.Add(connection.status());
  }
  return attempts.error();
}

absl::StatusOr<PgConnection> Connector::ConnectAny(const Dsn::Host& host, const Pairs& parameters,
                                                   const Deadline& deadline) {
  if (!host.needs_lookup()) return Connect(host, parameters, deadline);
  absl::StatusOr<std::vector<std::string>> found = resolver_.Resolve(host.host, waiter_, deadline);
  if (!found.ok()) return found.status();
  Attempts attempts;
  for (size_t i = 0; i < found->size(); ++i) {
    const Dsn::Host address = {.host = host.host, .address = (*found)[i], .port = host.port};
    auto connection = Connect(address, parameters, deadline.FirstOf(found->size() - i));
    if (IsOver(connection)) return connection;
    attempts.Add(connection.status());
  }
  return attempts.error();
}

absl::StatusOr<PgConnection> Connector::Connect(const Dsn::Host& address, const Pairs& parameters,
                                                const Deadline& deadline) const {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  const auto add = [&](const char* keyword, const std::string& value) {
    if (value.empty()) return;
    keywords.push_back(keyword);
    values.push_back(value.c_str());
  };
  for (const auto& [keyword, value] : parameters) add(keyword.c_str(), value);
  add("host", address.host);
  add("hostaddr", address.address);
  add("port", address.port);
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  PgConnection connection(PQconnectStartParams(keywords.data(), values.data(), 0));
  absl::Status status = Handshake(connection.get(), deadline);
  if (status.ok()) return connection;
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::DeadlineExceededError(
      absl::StrCat("connecting to ", NameOf(address), ": no answer in time"));
}

absl::Status Connector::Handshake(PGconn* connection, const Deadline& deadline) const {
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

// All settings by one statement.
absl::Status Connector::SetUp(PGconn* connection, const Pairs& settings,
                              const Deadline& deadline) const {
  PQsetNoticeProcessor(
      connection, [](void*, const char*) {}, nullptr);
  if (PQsetnonblocking(connection, 1) != 0) return LostError(connection);
  if (settings.empty()) return absl::OkStatus();
  std::vector<std::string> calls;
  std::vector<const char*> values;
  for (const auto& [name, value] : settings) {
    values.push_back(value.c_str());
    calls.push_back(absl::StrCat("set_config('", name, "', $", values.size(), ", false)"));
  }
  if (PQsendQueryParams(connection, absl::StrCat("SELECT ", absl::StrJoin(calls, ", ")).c_str(),
                        static_cast<int>(values.size()), nullptr, values.data(), nullptr, nullptr,
                        0) == 0) {
    return LostError(connection);
  }
  absl::Status refused;
  for (;;) {
    if (absl::Status status = WaitForResult(connection, waiter_, deadline); !status.ok()) {
      // What the server said before it closed the connection says more.
      if (absl::IsUnavailable(status) && !refused.ok()) status = refused;
      return absl::Status(status.code(), absl::StrCat("session settings: ", status.message()));
    }
    const PgResult result(PQgetResult(connection));
    if (result == nullptr) return refused;
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) refused = ResultError(result.get());
  }
}

}  // namespace headgate::postgres
