// Statements are sent in libpq's pipeline mode: BEGIN, the settings, the statement, a sync; then
// the end of the transaction, and another sync. An error reaches to the next sync and no further,
// so that the end is reached in any case. One transaction for all would not do: within one
// pg_stat_activity never changes. SET TRANSACTION and SET LOCAL without BEGIN would do as well, but
// PostgreSQL writes a warning into its log for each of them.
#include "server/observe/postgres/pipeline.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/postgres/pooler.h"
#include "server/observe/postgres/sql_error.h"

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

constexpr char kBegin[] = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY";
constexpr char kSavepoint[] = "SAVEPOINT headgate";
constexpr char kUndo[] = "ROLLBACK TO SAVEPOINT headgate";
// Temporary tables come last: those of another client of a pooler would else stand before all.
constexpr char kCatalogOnly[] = "pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";

// Of what a server says unasked only the end of the session is of interest.
void NoteEnd(void* farewell, const PGresult* said) {
  const char* const severity = PQresultErrorField(said, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == nullptr || std::string_view(severity) != "FATAL") return;
  *static_cast<absl::Status*>(farewell) = ResultError(said);
}

absl::Status During(const std::string& what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

}  // namespace

absl::Status Pipeline::Open(const std::string& dsn, absl::Duration call_limit,
                            const Deadline& deadline) {
  Close();
  limit_ms_ = absl::StrCat(std::max<int64_t>(1, absl::ToInt64Milliseconds(call_limit / 2)));
  absl::StatusOr<PgConnection> connection = connector_.Open(
      dsn, {.application_name = "headgate", .oldest_version = kOldestVersion, .role = role_},
      deadline);
  if (!connection.ok()) return connection.status();
  if (PQenterPipelineMode(connection->get()) == 0) return LostError(connection->get());
  connection_ = *std::move(connection);
  farewell_ = absl::OkStatus();
  PQsetNoticeReceiver(connection_.get(), &NoteEnd, &farewell_);
  return absl::OkStatus();
}

// Once something is sent, the answer to which is that nobody listens, it would be lost.
absl::Status Pipeline::Farewell() {
  if (PQconsumeInput(connection_.get()) != 0) (void)PQisBusy(connection_.get());  // reads it
  return farewell_;
}

void Pipeline::Close() { connection_.reset(); }

int Pipeline::server_version() const { return PQserverVersion(connection_.get()); }

bool Pipeline::IsOwnProcess(std::string_view process) const {
  return postgres::IsOwnProcess(connection_.get(), process);
}

absl::StatusOr<std::vector<absl::StatusOr<Table>>> Pipeline::Run(
    absl::Span<const Statement> statements, const Deadline& deadline) {
  if (!is_open()) return absl::UnavailableError("not connected");
  absl::Status status = Farewell();
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

absl::Status Pipeline::SendCommand(const std::string& sql,
                                   absl::Span<const std::string> parameters) {
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  const bool sent =
      PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, 0) != 0;
  return sent ? absl::OkStatus() : LostError(connection_.get());
}

// Compiling costs more than queries this small.
absl::Status Pipeline::SendSettings(Statement::Names names) {
  std::string sql =
      "SELECT pg_catalog.set_config('statement_timeout', $1, true),"
      " pg_catalog.set_config('jit', 'off', true)";
  if (sends_singly_) {
    absl::StrAppend(&sql, ", pg_catalog.set_config('transaction_read_only', 'on', true)");
  }
  if (names == Statement::Names::kCatalog) absl::StrAppend(&sql, ", ", kCatalogOnly);
  return SendCommand(sql, {&limit_ms_, 1});
}

absl::Status Pipeline::SendSync() {
  return PQpipelineSync(connection_.get()) == 0 ? LostError(connection_.get()) : absl::OkStatus();
}

absl::Status Pipeline::Send(const Statement& statement) {
  using Ending = Statement::Ending;
  absl::Status sent;
  const auto send = [&](const std::string& sql, absl::Span<const std::string> parameters = {}) {
    if (sent.ok()) sent = SendCommand(sql, parameters);
  };
  if (!sends_singly_) send(kBegin);
  if (sent.ok()) sent = SendSettings(statement.names);
  const bool is_undone = !sends_singly_ && statement.ending == Ending::kUndo;
  if (is_undone) send(kSavepoint);
  send(statement.sql, statement.parameters);
  if (sent.ok()) sent = SendSync();
  if (sends_singly_ || !sent.ok()) return sent;
  if (is_undone) send(kUndo);
  send(statement.ending == Ending::kRollBack ? "ROLLBACK" : "COMMIT");
  return sent.ok() ? SendSync() : sent;
}

size_t Pipeline::PlaceOf(const Statement& statement) const {
  if (sends_singly_) return 1;
  return statement.ending == Statement::Ending::kUndo ? 3 : 2;
}

// Takes all results up to the last of the statement's syncs.
absl::Status Pipeline::Receive(const Statement& statement, const Deadline& deadline,
                               absl::StatusOr<Table>& table) {
  table = Table();
  const size_t place = PlaceOf(statement);
  size_t at = 0;          // the command whose results come
  bool has_come = false;  // one of them
  for (int syncs = 0; syncs < Syncs();) {
    // Row by row, so that what is beyond kMaxRows is not kept. Without effect but before the first
    // row of a query.
    PQsetSingleRowMode(connection_.get());
    if (absl::Status status = WaitForResult(connection_.get(), waiter_, deadline); !status.ok()) {
      // What the server said before it closed the connection says more.
      const bool told = absl::IsUnavailable(status) && !table.ok();
      return ExplainedPooler(told ? table.status() : status);
    }
    const PgResult result(PQgetResult(connection_.get()));
    if (result == nullptr) {  // the end of one command, but for one that may follow a sync
      at += has_come ? 1 : 0;
      has_come = false;
      continue;
    }
    has_come = PQresultStatus(result.get()) != PGRES_PIPELINE_SYNC;
    switch (PQresultStatus(result.get())) {
      case PGRES_PIPELINE_SYNC:
        ++syncs;
        break;
      case PGRES_COMMAND_OK:
        // What returns no rows may have changed the session: ended the transaction, set a limit.
        if (syncs > 0 || at != place) break;
        return absl::FailedPreconditionError(
            absl::StrCat(PQcmdStatus(result.get()), " is not a query"));
      case PGRES_SINGLE_TUPLE:
        if (table.ok() && at == place) AppendRows(result.get(), *table);
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
        if (table.ok()) table = ResultError(result.get());
    }
  }
  return absl::OkStatus();
}

}  // namespace headgate::postgres
