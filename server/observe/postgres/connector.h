// Connector: the one place that opens sessions with PostgreSQL, each by a deadline that covers
// looking up names, connecting and authentication.
//
// What is set for the session is part of the startup message, so that nothing has to be set, and
// left, in it later. Whoever does not take that, as poolers do not, is asked once more without: the
// caller finds out whether a session has what it asked for.
//
// It uses libpq without blocking, as no library has a connect that can be given up. All addresses
// of all hosts are tried in turn, each with its share of the time. Where the connection string
// names a service, libpq alone knows that one's hosts, and looks them up without a limit.
//
// Who says which role the server is to have gets the first server of that role: after a failover
// that is another host, or another address of the same name. Where none has it, the first of the
// others is opened, so that the caller can say of it what is wrong.
//
// Thread-safe. Calls end, for good, when the waiter is cancelled.
//
//   Connector connector(waiter);
//   absl::StatusOr<PgConnection> connection = connector.Open("host=db user=headgate", {},
//   deadline);
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/observe/dsn/dsn.h"
#include "server/observe/postgres/deadline.h"
#include "server/observe/postgres/libpq.h"
#include "server/observe/postgres/resolver.h"
#include "server/observe/postgres/server_role.h"
#include "server/observe/postgres/socket_waiter.h"

namespace headgate::postgres {

class Connector {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  struct Options {
    // As whom to be seen; empty: as the connection string says, or "headgate".
    std::string application_name = {};
    // As 140000; an older server is FailedPrecondition.
    int oldest_version = 0;
    // Which server is looked for; absent: any.
    std::optional<ServerRole> role = {};
    // Parameters of libpq, where the connection string says nothing.
    Pairs defaults = {};
    // The server's settings for this session, where it takes them at its start.
    Pairs settings = {};
  };

  // The waiter outlives it.
  explicit Connector(const SocketWaiter& waiter, HostLookup lookup = LookupBySystem);

  // A session, idle and non-blocking. Errors: Unavailable, DeadlineExceeded, PermissionDenied
  // (password, role), FailedPrecondition (no such database), InvalidArgument (the dsn), Cancelled.
  // Of several attempts, the error that says most.
  absl::StatusOr<PgConnection> Open(const std::string& dsn, const Options& options,
                                    const Deadline& deadline);

 private:
  // What is looked for, and what was met on the way.
  struct Search {
    Pairs parameters;
    std::optional<ServerRole> role;
    PgConnection other;  // the first server of another role
  };

  // With the server's settings in the startup message, or, where those are refused, without.
  absl::StatusOr<PgConnection> ConnectWith(const dsn::Dsn& dsn, const Pairs& settings,
                                           Search& search, const Deadline& deadline);
  absl::StatusOr<PgConnection> ConnectAny(const dsn::Dsn& dsn, Search& search,
                                          const Deadline& deadline);
  absl::StatusOr<PgConnection> ConnectAny(const dsn::Dsn::Host& host, Search& search,
                                          const Deadline& deadline);
  absl::StatusOr<PgConnection> Connect(const dsn::Dsn::Host& address, Search& search,
                                       const Deadline& deadline) const;
  absl::Status Handshake(pg_conn* connection, const Deadline& deadline) const;
  // Absent: it does not say.
  absl::StatusOr<std::optional<ServerRole>> RoleOf(pg_conn* connection,
                                                   const Deadline& deadline) const;

  const SocketWaiter& waiter_;
  Resolver resolver_;
};

}  // namespace headgate::postgres
