// SqlSession: one connection to a PostgreSQL server under test, for statements by hand.
//
// Start() sends statements without waiting for them, so that a test can have a session wait for a
// lock. Closing the session ends its transaction. Thread-compatible; it blocks for as long as the
// server does.
//
//   absl::StatusOr<SqlSession> session = SqlSession::Open(server.SocketDsn());
//   absl::StatusOr<SqlRows> rows = session->Run("SELECT 1");  // (*rows)[0][0] == "1"
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct pg_conn;

namespace headgate {

using SqlRows = std::vector<std::vector<std::string>>;  // as text; NULL is empty

class SqlSession {
 public:
  static absl::StatusOr<SqlSession> Open(const std::string& dsn);

  SqlSession(SqlSession&&) = default;
  SqlSession& operator=(SqlSession&&) = default;

  // Runs one statement or several, and returns the rows of the last.
  absl::StatusOr<SqlRows> Run(const std::string& sql);

  // Run, in two halves.
  absl::Status Start(const std::string& sql);
  absl::StatusOr<SqlRows> Finish();

  int backend_pid() const;

 private:
  struct Closer {
    void operator()(pg_conn* connection) const;
  };
  using Connection = std::unique_ptr<pg_conn, Closer>;

  explicit SqlSession(Connection connection) : connection_(std::move(connection)) {}

  Connection connection_;
};

}  // namespace headgate
