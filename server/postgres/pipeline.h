// Pipeline: statements of a health probe in one round trip, each call ended by its deadline,
// however the server or the network hang.
//
// It uses libpq without blocking: a statement_timeout, or TCP's own, does nothing about a server
// that was stopped. What hangs is closed from this side, and the next Open() makes a new session.
//
// The session is called "headgate", reads only, outside any transaction, and lets no statement run
// for more than half of the time for one call. It has to reach the server itself, not through a
// pooler that shares sessions.
//
// Thread-compatible, but Cancel() may be called from any thread.
//
//   Pipeline pipeline;
//   absl::Status status = pipeline.Open("host=db user=headgate", absl::Seconds(1), deadline);
//   auto results = pipeline.Run({{.label = "one", .sql = "SELECT 1"}}, deadline);
//   (*results)[0]->at(0).at(0) == "1"
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/postgres/connector.h"
#include "server/postgres/deadline.h"
#include "server/postgres/libpq.h"
#include "server/postgres/waiter.h"

namespace headgate::postgres {

struct Statement {
  std::string label;  // what it is for, in errors
  std::string sql;    // one statement
  // Not empty: prepared under this name at its first use in a session.
  std::string name = {};
  std::vector<std::string> parameters = {};  // $1, ... as text
};

// Rows as text; NULL is absent. No more than Pipeline::kMaxRows.
using Table = std::vector<std::vector<std::optional<std::string>>>;

class Pipeline {
 public:
  static constexpr size_t kMaxRows = 1000;
  static constexpr int kOldestVersion = 140000;

  Pipeline() : connector_(waiter_) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // `call_limit` is the time that each Run will be given. Errors: Connector's, and
  // FailedPrecondition for a server that is too old.
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
  absl::Status Send(const Statement& statement);
  absl::Status Receive(const Statement& statement, const Deadline& deadline,
                       absl::StatusOr<Table>& table);

  Waiter waiter_;
  Connector connector_;
  PgConnection connection_;
  absl::flat_hash_set<std::string> prepared_;  // names of statements
};

}  // namespace headgate::postgres
