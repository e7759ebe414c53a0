// What this room adds to libpq: handles that free themselves, and the one wait for a result.
//
// Functions on a connection are as thread-compatible as that is.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "server/observe/postgres/deadline.h"
#include "server/observe/postgres/socket_waiter.h"

struct pg_conn;
struct pg_result;

namespace headgate::postgres {

struct LibpqFreer {
  // Never blocks on a connection that is non-blocking: what can't be sent is dropped.
  void operator()(pg_conn* connection) const;
  void operator()(pg_result* result) const;
};
using PgConnection = std::unique_ptr<pg_conn, LibpqFreer>;
using PgResult = std::unique_ptr<pg_result, LibpqFreer>;

// Until PQgetResult() does not block, on a non-blocking connection; sends what is not yet sent.
// Errors: Unavailable (lost), DeadlineExceeded, Cancelled.
absl::Status WaitForResult(pg_conn* connection, const SocketWaiter& waiter,
                           const Deadline& deadline);

}  // namespace headgate::postgres
