#include "server/observe/postgres/connector.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/observe/dsn/password_file.h"
#include "server/observe/postgres/pooler.h"
#include "server/observe/postgres/sql_error.h"

namespace headgate::postgres {

using dsn::Dsn;

namespace {

std::string NameOf(const Dsn::Host& host) {
  const std::string& name = host.host.empty() ? host.address : host.host;
  return absl::StrCat(name.empty() ? "the local socket" : name, host.port.empty() ? "" : ":",
                      host.port);
}

// For libpq, which walks through the hosts of a service by itself.
const char* SessionAttributes(ServerRole role) {
  return IsStandby(role) ? "prefer-standby" : "primary";
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

// Where libpq finds no file of passwords, and says nothing of it.
constexpr char kNoFile[] = "/dev/null/none";

// As the server's command line has them.
std::string OptionsOf(const Connector::Pairs& settings) {
  std::string options;
  for (const auto& [name, value] : settings) {
    absl::StrAppend(&options, " -c ", name, "=",
                    absl::StrReplaceAll(value, {{"\\", "\\\\"}, {" ", "\\ "}}));
  }
  return options;
}

bool IsOver(const absl::StatusOr<PgConnection>& connection) {
  return connection.ok() || absl::IsCancelled(connection.status());
}

}  // namespace

Connector::Connector(const SocketWaiter& waiter, HostLookup lookup)
    : waiter_(waiter), resolver_(std::move(lookup)) {}

absl::StatusOr<PgConnection> Connector::Open(const std::string& text, const Options& options,
                                             const Deadline& deadline) {
  absl::StatusOr<Dsn> dsn = dsn::ParseDsn(text);
  if (!dsn.ok()) return dsn.status();
  // Of a keyword that is there twice libpq takes the later one.
  Search search{.parameters = options.defaults, .role = options.role, .other = nullptr};
  Pairs& parameters = search.parameters;
  if (options.role.has_value() && dsn->names_service) {
    parameters.emplace_back("target_session_attrs", SessionAttributes(*options.role));
  }
  parameters.insert(parameters.end(), dsn->others.begin(), dsn->others.end());
  std::string name =
      options.application_name.empty() ? dsn->application_name : options.application_name;
  parameters.emplace_back("application_name", name.empty() ? "headgate" : std::move(name));
  parameters.emplace_back("client_encoding", "UTF8");
  const std::string unread = dsn::UnreadPasswordFile(*dsn);
  if (!unread.empty()) parameters.emplace_back("passfile", kNoFile);
  absl::StatusOr<PgConnection> connection = ConnectWith(*dsn, options.settings, search, deadline);
  if (absl::IsPermissionDenied(connection.status()) && !unread.empty()) {
    return absl::PermissionDeniedError(absl::StrCat(connection.status().message(), "; ", unread));
  }
  if (!connection.ok()) return connection;
  const int version = PQserverVersion(connection->get());
  if (version < options.oldest_version) {
    return absl::FailedPreconditionError(absl::StrCat("PostgreSQL ", version / 10000,
                                                      " is too old; it takes ",
                                                      options.oldest_version / 10000, " or newer"));
  }
  PQsetNoticeProcessor(
      connection->get(), [](void*, const char*) {}, nullptr);
  if (PQsetnonblocking(connection->get(), 1) != 0) return LostError(connection->get());
  return connection;
}

absl::StatusOr<PgConnection> Connector::ConnectWith(const Dsn& dsn, const Pairs& settings,
                                                    Search& search, const Deadline& deadline) {
  // What the service would have set there is not known.
  if (settings.empty() || dsn.names_service) return ConnectAny(dsn, search, deadline);
  const Pairs without = search.parameters;
  search.parameters.emplace_back("options", absl::StrCat(dsn.options, OptionsOf(settings)));
  absl::StatusOr<PgConnection> connection = ConnectAny(dsn, search, deadline);
  if (!RefusesStartupSettings(connection.status())) return connection;
  search.parameters = without;
  return ConnectAny(dsn, search, deadline);
}

absl::StatusOr<PgConnection> Connector::ConnectAny(const Dsn& dsn, Search& search,
                                                   const Deadline& deadline) {
  Attempts attempts;
  for (size_t i = 0; i < dsn.hosts.size(); ++i) {
    auto connection = ConnectAny(dsn.hosts[i], search, deadline.FirstOf(dsn.hosts.size() - i));
    if (IsOver(connection)) return connection;
    attempts.Add(connection.status());
  }
  // With no time left to ask it anything, what took the time says more.
  if (search.other != nullptr && deadline.Left() > absl::ZeroDuration()) {
    return std::move(search.other);
  }
  return attempts.error();
}

absl::StatusOr<PgConnection> Connector::ConnectAny(const Dsn::Host& host, Search& search,
                                                   const Deadline& deadline) {
  if (!host.needs_lookup()) return Connect(host, search, deadline);
  absl::StatusOr<std::vector<std::string>> found = resolver_.Resolve(host.host, waiter_, deadline);
  if (!found.ok()) return found.status();
  Attempts attempts;
  for (size_t i = 0; i < found->size(); ++i) {
    const Dsn::Host address = {.host = host.host, .address = (*found)[i], .port = host.port};
    auto connection = Connect(address, search, deadline.FirstOf(found->size() - i));
    if (IsOver(connection)) return connection;
    attempts.Add(connection.status());
  }
  return attempts.error();
}

absl::StatusOr<PgConnection> Connector::Connect(const Dsn::Host& address, Search& search,
                                                const Deadline& deadline) const {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  const auto add = [&](const char* keyword, const std::string& value) {
    if (value.empty()) return;
    keywords.push_back(keyword);
    values.push_back(value.c_str());
  };
  for (const auto& [keyword, value] : search.parameters) add(keyword.c_str(), value);
  add("host", address.host);
  add("hostaddr", address.address);
  add("port", address.port);
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  PgConnection connection(PQconnectStartParams(keywords.data(), values.data(), 0));
  absl::Status status = Handshake(connection.get(), deadline);
  if (status.ok() && search.role.has_value()) {
    const auto role = RoleOf(connection.get(), deadline);
    status = role.status();
    if (role.ok() && role->has_value() && *role != search.role) {
      if (search.other == nullptr) search.other = std::move(connection);
      return WrongRole(*search.role);
    }
  }
  if (status.ok()) return connection;
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::DeadlineExceededError(
      absl::StrCat("connecting to ", NameOf(address), ": no answer in time"));
}

// PostgreSQL 14 and later say so unasked; most poolers do not pass it on.
absl::StatusOr<std::optional<ServerRole>> Connector::RoleOf(PGconn* connection,
                                                            const Deadline& deadline) const {
  const auto role_if = [](bool standby) {
    return std::optional(standby ? ServerRole::kStandby : ServerRole::kPrimary);
  };
  const char* const told = PQparameterStatus(connection, "in_hot_standby");
  if (told != nullptr) return role_if(std::strcmp(told, "on") == 0);
  if (PQsetnonblocking(connection, 1) != 0 ||
      PQsendQuery(connection, "SELECT pg_catalog.pg_is_in_recovery()") == 0) {
    return LostError(connection);
  }
  std::optional<ServerRole> role;
  for (;;) {
    absl::Status status = WaitForResult(connection, waiter_, deadline);
    if (!status.ok()) return status;
    const PgResult result(PQgetResult(connection));
    if (result == nullptr) return role;
    if (PQresultStatus(result.get()) == PGRES_TUPLES_OK && PQntuples(result.get()) == 1) {
      role = role_if(std::strcmp(PQgetvalue(result.get(), 0, 0), "t") == 0);
    }
  }
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

}  // namespace headgate::postgres
