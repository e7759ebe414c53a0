#include "server/observe/postgres/libpq.h"

#include <libpq-fe.h>
#include <poll.h>

#include "server/observe/postgres/sql_error.h"

namespace headgate::postgres {

void LibpqFreer::operator()(pg_conn* connection) const { PQfinish(connection); }
void LibpqFreer::operator()(pg_result* result) const { PQclear(result); }

absl::Status WaitForResult(pg_conn* connection, const SocketWaiter& waiter,
                           const Deadline& deadline) {
  while (PQisBusy(connection) != 0) {
    const int unsent = PQflush(connection);
    if (unsent < 0) return LostError(connection);
    const auto events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN);
    absl::Status status = waiter.Wait(PQsocket(connection), events, deadline);
    if (!status.ok()) return status;
    if (PQconsumeInput(connection) == 0) return LostError(connection);
  }
  return absl::OkStatus();
}

}  // namespace headgate::postgres
