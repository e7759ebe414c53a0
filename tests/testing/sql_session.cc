#include "tests/testing/sql_session.h"

#include <libpq-fe.h>

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace headgate {
namespace {

struct ResultFreer {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultFreer>;

absl::Status ErrorOf(const PGconn* connection) {
  return absl::InternalError(absl::StripTrailingAsciiWhitespace(PQerrorMessage(connection)));
}

SqlRows RowsOf(const PGresult* result) {
  SqlRows rows(static_cast<size_t>(PQntuples(result)));
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < PQnfields(result); ++column) {
      rows[static_cast<size_t>(row)].emplace_back(PQgetvalue(result, row, column));
    }
  }
  return rows;
}

}  // namespace

void SqlSession::Closer::operator()(pg_conn* connection) const { PQfinish(connection); }

absl::StatusOr<SqlSession> SqlSession::Open(const std::string& dsn) {
  Connection connection(PQconnectdb(dsn.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) return ErrorOf(connection.get());
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  return SqlSession(std::move(connection));
}

absl::StatusOr<SqlRows> SqlSession::Run(const std::string& sql) {
  if (absl::Status status = Start(sql); !status.ok()) return status;
  return Finish();
}

absl::Status SqlSession::Start(const std::string& sql) {
  if (PQsendQuery(connection_.get(), sql.c_str()) == 0) return ErrorOf(connection_.get());
  return absl::OkStatus();
}

absl::StatusOr<SqlRows> SqlSession::Finish() {
  absl::StatusOr<SqlRows> rows = SqlRows();
  while (Result result{PQgetResult(connection_.get())}) {
    switch (PQresultStatus(result.get())) {
      case PGRES_TUPLES_OK:
        if (rows.ok()) *rows = RowsOf(result.get());
        break;
      case PGRES_COMMAND_OK:
      case PGRES_EMPTY_QUERY:
        if (rows.ok()) rows->clear();
        break;
      default:
        rows = ErrorOf(connection_.get());
        if (PQstatus(connection_.get()) != CONNECTION_OK) return rows;
    }
  }
  return rows;
}

int SqlSession::backend_pid() const { return PQbackendPID(connection_.get()); }

}  // namespace headgate
