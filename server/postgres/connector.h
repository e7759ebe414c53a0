// Connector: the one place that opens sessions with PostgreSQL, each by a deadline that covers
// looking up names, connecting, authentication and the session's settings.
//
// It uses libpq without blocking, as no library has a connect that can be given up. All addresses
// of all hosts are tried in turn, each with its share of the time. Where the connection string
// names a service, libpq alone knows that one's hosts, and looks them up without a limit.
//
// Thread-safe. Calls end, for good, when the waiter is cancelled.
//
//   Connector connector(waiter);
//   absl::StatusOr<PgConnection> connection = connector.Open("host=db user=headgate", {},
//   deadline);
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/dsn/dsn.h"
#include "server/postgres/deadline.h"
#include "server/postgres/libpq.h"
#include "server/postgres/resolver.h"
#include "server/postgres/waiter.h"

namespace headgate::postgres {

class Connector {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  struct Options {
    // As whom to be seen; empty: as the connection string says, or "headgate".
    std::string application_name = {};
    // As 140000; an older server is FailedPrecondition.
    int oldest_version = 0;
    // Parameters of libpq, where the connection string says nothing.
    Pairs defaults = {};
    // The server's settings for this session.
    Pairs settings = {};
  };

  // The waiter outlives it.
  explicit Connector(const Waiter& waiter, HostLookup lookup = LookupBySystem);

  // A session, idle and non-blocking. Errors: Unavailable, DeadlineExceeded, PermissionDenied
  // (password, role), FailedPrecondition (no such database), InvalidArgument (the dsn), Cancelled.
  // Of several attempts, the error that says most.
  absl::StatusOr<PgConnection> Open(const std::string& dsn, const Options& options,
                                    const Deadline& deadline);

 private:
  absl::StatusOr<PgConnection> ConnectAny(const dsn::Dsn& dsn, const Pairs& parameters,
                                          const Deadline& deadline);
  absl::StatusOr<PgConnection> ConnectAny(const dsn::Dsn::Host& host, const Pairs& parameters,
                                          const Deadline& deadline);
  absl::StatusOr<PgConnection> Connect(const dsn::Dsn::Host& address, const Pairs& parameters,
                                       const Deadline& deadline) const;
  absl::Status Handshake(pg_conn* connection, const Deadline& deadline) const;
  absl::Status SetUp(pg_conn* connection, const Pairs& settings, const Deadline& deadline) const;

  const Waiter& waiter_;
  Resolver resolver_;
};

}  // namespace headgate::postgres
