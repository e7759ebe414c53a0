// Pipeline: statements of a health probe in one round trip, each call ended by its deadline,
// however the server or the network hang.
//
// It uses libpq without blocking: a statement_timeout, or TCP's own, does nothing about a server
// that was stopped. What hangs is closed from this side, and the next Open() makes a new session.
//
// The session is called "headgate". Each statement is a transaction of its own, read-only, at READ
// COMMITTED, and no statement runs for more than half of the time for one call. All of that, and
// where names are looked up, is set for the transaction and ends with it, and nothing is prepared
// under a name: a session that is a pooler's is handed on as it came. A pooler that hands out
// single statements takes no BEGIN; after SendSingly() a statement and its settings are what
// PostgreSQL makes one transaction of by itself, at whatever isolation the role has.
//
// Thread-compatible, but Cancel() may be called from any thread.
//
//   Pipeline pipeline;
//   absl::Status status = pipeline.Open("host=db user=headgate", absl::Seconds(1), deadline);
//   auto results = pipeline.Run({{.label = "one", .sql = "SELECT 1"}}, deadline);
//   (*results)[0]->at(0).at(0) == "1"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/observe/postgres/connector.h"
#include "server/observe/postgres/deadline.h"
#include "server/observe/postgres/libpq.h"
#include "server/observe/postgres/server_role.h"
#include "server/observe/postgres/socket_waiter.h"

namespace headgate::postgres {

struct Statement {
  // Where tables, functions and operators are looked up that have no schema of their own.
  enum class Names : uint8_t {
    kCatalog,  // nobody else's can stand before PostgreSQL's
    kRole,     // as the role has it
  };
  // What becomes of a statement's effects on its session, such as of set_config().
  enum class Ending : uint8_t {
    kCommit,
    kUndo,      // undone by a savepoint; PostgreSQL counts no rollback
    kRollBack,  // undone by a rollback, which on a standby a cancelled statement does not turn into
                // the end of the session
  };
  std::string label;                         // what it is for, in errors
  std::string sql;                           // one statement
  std::vector<std::string> parameters = {};  // $1, ... as text
  Names names = Names::kCatalog;
  Ending ending = Ending::kCommit;
};

// Rows as text; NULL is absent. No more than Pipeline::kMaxRows.
using Table = std::vector<std::vector<std::optional<std::string>>>;

class Pipeline {
 public:
  static constexpr size_t kMaxRows = 1000;
  static constexpr int kOldestVersion = 140000;

  // Of several servers that the connection string leads to, the one of this role; see Connector.
  explicit Pipeline(std::optional<ServerRole> role = {}) : role_(role), connector_(waiter_) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // `call_limit` is the time that each Run will be given. Errors: Connector's, and
  // FailedPrecondition for a server that is too old.
  absl::Status Open(const std::string& dsn, absl::Duration call_limit, const Deadline& deadline);

  // Runs the statements in one round trip, each in a transaction of its own: one that fails has an
  // error, and the others have their rows. Any error of the call itself names the statement and
  // closes the connection: Unavailable (lost), DeadlineExceeded (hung), Cancelled, and
  // FailedPrecondition where a statement is no query: COPY, or one that returns no rows and may
  // have changed the session, as BEGIN does.
  absl::StatusOr<std::vector<absl::StatusOr<Table>>> Run(absl::Span<const Statement> statements,
                                                         const Deadline& deadline);

  bool is_open() const { return connection_ != nullptr; }
  int server_version() const;  // as 150006
  // Whether the process that answers (pg_backend_pid()) is the one that this is connected to.
  bool IsOwnProcess(std::string_view process) const;
  void Close();

  // For good: for poolers that allow no transactions of several statements.
  void SendSingly() { sends_singly_ = true; }
  bool sends_singly() const { return sends_singly_; }

  // Thread-safe.
  void Cancel() { waiter_.Cancel(); }

 private:
  // What the server said when it ended an idle session; OK: it did not.
  absl::Status Farewell();
  absl::Status SendCommand(const std::string& sql, absl::Span<const std::string> parameters);
  absl::Status SendSettings(Statement::Names names);
  absl::Status SendSync();
  absl::Status Send(const Statement& statement);
  // Of what Send sends, the place of the statement itself, and how many syncs there are.
  size_t PlaceOf(const Statement& statement) const;
  int Syncs() const { return sends_singly_ ? 1 : 2; }
  absl::Status Receive(const Statement& statement, const Deadline& deadline,
                       absl::StatusOr<Table>& table);

  const std::optional<ServerRole> role_;
  SocketWaiter waiter_;
  Connector connector_;
  PgConnection connection_;
  std::string limit_ms_;   // of one statement
  absl::Status farewell_;  // of the server, while nothing was asked
  bool sends_singly_ = false;
};

}  // namespace headgate::postgres
