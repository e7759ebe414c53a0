// Statements are sent in libpq's pipeline mode with a sync behind each, which makes each a
// transaction: an error reaches to the next sync and no further. Autocommit matters beyond that:
// within one transaction pg_stat_activity never changes.
#include "server/postgres/pipeline.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/postgres/sql_error.h"

namespace headgate::postgres {
namespace {

void AppendRows(const PGresult* result, Table& table) {
  for (int row = 0; row < PQntuples(result) && table.size() < Pipeline::kMaxRows; ++row) {
    auto& values = table.emplace_back();
    for (int column = 0; column < PQnfields(result); ++column) {
      values.emplace_back();
      if (PQgetisnull(result, row, column) != 0) continue;
      values.back().emplace(PQgetvalue(result, row, column),
                            static_cast<size_t>(PQgetlength(result, row, column)));
    }
  }
}

absl::Status During(const std::string& what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

}  // namespace

absl::Status Pipeline::Open(const std::string& dsn, absl::Duration call_limit,
                            const Deadline& deadline) {
  Close();
  const int64_t limit_ms = std::max<int64_t>(1, absl::ToInt64Milliseconds(call_limit / 2));
  // Compiling costs more than queries this small; the idle limit is for forgotten sessions.
  absl::StatusOr<PgConnection> connection =
      connector_.Open(dsn,
                      {.application_name = "headgate",
                       .oldest_version = kOldestVersion,
                       .settings = {{"default_transaction_read_only", "on"},
                                    {"statement_timeout", absl::StrCat(limit_ms)},
                                    {"idle_session_timeout", "0"},
                                    {"jit", "off"}}},
                      deadline);
  if (!connection.ok()) return connection.status();
  if (PQenterPipelineMode(connection->get()) == 0) return LostError(connection->get());
  connection_ = *std::move(connection);
  return absl::OkStatus();
}

void Pipeline::Close() {
  connection_.reset();
  prepared_.clear();
}

int Pipeline::server_version() const { return PQserverVersion(connection_.get()); }

absl::StatusOr<std::vector<absl::StatusOr<Table>>> Pipeline::Run(
    absl::Span<const Statement> statements, const Deadline& deadline) {
  if (!is_open()) return absl::UnavailableError("not connected");
  absl::Status status;
  for (size_t i = 0; i < statements.size() && status.ok(); ++i) status = Send(statements[i]);
  std::vector<absl::StatusOr<Table>> tables;
  for (size_t i = 0; i < statements.size() && status.ok(); ++i) {
    status = Receive(statements[i], deadline, tables.emplace_back());
    if (!status.ok()) status = During(statements[i].label, status);
  }
  if (status.ok()) return tables;
  Close();
  return status;
}

absl::Status Pipeline::Send(const Statement& statement) {
  PGconn* const connection = connection_.get();
  std::vector<const char*> values;
  for (const std::string& parameter : statement.parameters) values.push_back(parameter.c_str());
  const int count = static_cast<int>(values.size());
  bool sent = true;
  if (statement.name.empty()) {
    sent = PQsendQueryParams(connection, statement.sql.c_str(), count, nullptr, values.data(),
                             nullptr, nullptr, 0) != 0;
  } else {
    if (!prepared_.contains(statement.name)) {
      sent =
          PQsendPrepare(connection, statement.name.c_str(), statement.sql.c_str(), 0, nullptr) != 0;
    }
    sent = sent && PQsendQueryPrepared(connection, statement.name.c_str(), count, values.data(),
                                       nullptr, nullptr, 0) != 0;
  }
  if (!sent || PQpipelineSync(connection) == 0) return LostError(connection);
  return absl::OkStatus();
}

// Takes all results up to the statement's sync.
absl::Status Pipeline::Receive(const Statement& statement, const Deadline& deadline,
                               absl::StatusOr<Table>& table) {
  table = Table();
  for (;;) {
    // Row by row, so that what is beyond kMaxRows is not kept. Without effect but before the first
    // row of a query.
    PQsetSingleRowMode(connection_.get());
    if (absl::Status status = WaitForResult(connection_.get(), waiter_, deadline); !status.ok()) {
      // What the server said before it closed the connection says more.
      const bool told = absl::IsUnavailable(status) && !table.ok();
      return told ? table.status() : status;
    }
    const PgResult result(PQgetResult(connection_.get()));
    if (result == nullptr) continue;  // the end of one command
    switch (PQresultStatus(result.get())) {
      case PGRES_PIPELINE_SYNC:
        return absl::OkStatus();
      case PGRES_COMMAND_OK:
        // What is named is a query, and this its preparation. Anything else that returns no rows
        // may have changed the session: begun a transaction, set a limit, dropped what is prepared.
        if (statement.name.empty()) {
          return absl::FailedPreconditionError(
              absl::StrCat(PQcmdStatus(result.get()), " is not a query"));
        }
        prepared_.insert(statement.name);
        break;
      case PGRES_SINGLE_TUPLE:
        if (table.ok()) AppendRows(result.get(), *table);
        break;
      case PGRES_TUPLES_OK:
      case PGRES_EMPTY_QUERY:
      case PGRES_PIPELINE_ABORTED:
        break;
      case PGRES_COPY_IN:
      case PGRES_COPY_OUT:
      case PGRES_COPY_BOTH:
        return absl::FailedPreconditionError("COPY is not a query");
      default:
        table = ResultError(result.get());
    }
  }
}

}  // namespace headgate::postgres
