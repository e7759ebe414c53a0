// Connection: one session with a PostgreSQL server whose every call ends by its deadline, however
// the server or the network hang.
//
// It uses libpq without blocking: libpqxx has no connect and no query that can be given up, and a
// statement_timeout, or TCP's own, does nothing about a server that was stopped. What hangs is
// closed from this side, and the next Open() makes a new session.
//
// The session is called "headgate", reads only, outside any transaction, and lets no statement run
// for more than half of the time for one call. It has to reach the server itself, not through a
// pooler that shares sessions.
//
// Thread-compatible, but Cancel() may be called from any thread.
//
//   Connection connection(clock);
//   absl::Status status = connection.Open("host=db user=headgate", absl::Seconds(1), deadline);
//   auto results = connection.Run({{.label = "one", .sql = "SELECT 1"}}, deadline);
//   (*results)[0]->at(0).at(0) == "1"
#ifndef HEADGATE_SERVER_POSTGRES_CONNECTION_H_
#define HEADGATE_SERVER_POSTGRES_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/postgres/deadline.h"
#include "server/postgres/dsn.h"
#include "server/postgres/resolver.h"
#include "server/postgres/waiter.h"

struct pg_conn;

namespace headgate::postgres {

struct Statement {
  std::string label;  // what it is for, in errors
  std::string sql;    // one statement
  // Not empty: prepared under this name at its first use in a session.
  std::string name = {};
  std::vector<std::string> parameters = {};  // $1, ... as text
};

// Rows as text; NULL is absent. No more than Connection::kMaxRows.
using Table = std::vector<std::vector<std::optional<std::string>>>;

class Connection {
 public:
  static constexpr size_t kMaxRows = 1000;
  static constexpr int kOldestVersion = 140000;

  explicit Connection(Clock& clock, HostLookup lookup = LookupBySystem);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Tries the hosts, and all their addresses, in turn. `call_limit` is the time that each Run will
  // be given. Errors: Unavailable, DeadlineExceeded, PermissionDenied (password, role),
  // FailedPrecondition (no such database, server too old), InvalidArgument (the dsn), Cancelled.
  absl::Status Open(const std::string& dsn, absl::Duration call_limit, const Deadline& deadline);

  // Runs the statements in one round trip, each in a transaction of its own: one that fails has an
  // error, and the others have their rows. Any error of the call itself names the statement and
  // closes the connection: Unavailable (lost), DeadlineExceeded (hung), Cancelled, and
  // FailedPrecondition where a statement without a name is no query: COPY, or one that returns no
  // rows and may have changed the session, as BEGIN does.
  absl::StatusOr<std::vector<absl::StatusOr<Table>>> Run(absl::Span<const Statement> statements,
                                                         const Deadline& deadline);

  bool is_open() const { return connection_ != nullptr; }
  int server_version() const;  // as 150006
  void Close();

  // Thread-safe.
  void Cancel() { waiter_.Cancel(); }

 private:
  struct Closer {
    void operator()(pg_conn* connection) const;
  };
  absl::Status ConnectAny(const Dsn& dsn, const Deadline& deadline);
  absl::Status ConnectAny(const Dsn& dsn, const Dsn::Host& host, const Deadline& deadline);
  absl::Status Connect(const Dsn& dsn, const Dsn::Host& address, const Deadline& deadline);
  absl::Status Handshake(const Deadline& deadline);
  absl::Status SetUp(absl::Duration call_limit, const Deadline& deadline);

  absl::Status Send(const Statement& statement);
  absl::Status Receive(const Statement& statement, const Deadline& deadline,
                       absl::StatusOr<Table>& table);
  absl::Status WaitForResult(const Deadline& deadline);
  absl::Status Lost() const;

  Clock& clock_;
  Waiter waiter_;
  Resolver resolver_;
  std::unique_ptr<pg_conn, Closer> connection_;
  absl::flat_hash_set<std::string> prepared_;  // names of statements
};

}  // namespace headgate::postgres

#endif  // HEADGATE_SERVER_POSTGRES_CONNECTION_H_
