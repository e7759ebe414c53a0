// Statements are sent in libpq's pipeline mode with a sync behind each, which makes each a
// transaction: an error reaches to the next sync and no further. Autocommit matters beyond that:
// within one transaction pg_stat_activity never changes.
#include "server/postgres/connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/postgres/sql_error.h"

namespace headgate::postgres {
namespace {

struct ResultFreer {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultFreer>;

absl::Status ErrorOf(const PGresult* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return SqlError(sqlstate == nullptr ? "" : sqlstate,
                  message == nullptr ? PQresultErrorMessage(result) : message);
}

void AppendRows(const PGresult* result, Table& table) {
  for (int row = 0; row < PQntuples(result) && table.size() < Connection::kMaxRows; ++row) {
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

Connection::Connection(Clock& clock, HostLookup lookup)
    : clock_(clock), resolver_(std::move(lookup)) {}

Connection::~Connection() = default;

// Never blocks: the socket doesn't, and what can't be sent is dropped.
void Connection::Closer::operator()(pg_conn* connection) const { PQfinish(connection); }

void Connection::Close() {
  connection_.reset();
  prepared_.clear();
}

int Connection::server_version() const { return PQserverVersion(connection_.get()); }

absl::StatusOr<std::vector<absl::StatusOr<Table>>> Connection::Run(
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

absl::Status Connection::Send(const Statement& statement) {
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
  if (!sent || PQpipelineSync(connection) == 0) return Lost();
  return absl::OkStatus();
}

// Takes all results up to the statement's sync.
absl::Status Connection::Receive(const Statement& statement, const Deadline& deadline,
                                 absl::StatusOr<Table>& table) {
  table = Table();
  for (;;) {
    // Row by row, so that what is beyond kMaxRows is not kept. Without effect but before the first
    // row of a query.
    PQsetSingleRowMode(connection_.get());
    if (absl::Status status = WaitForResult(deadline); !status.ok()) {
      // What the server said before it closed the connection says more.
      const bool told = absl::IsUnavailable(status) && !table.ok();
      return told ? table.status() : status;
    }
    const Result result(PQgetResult(connection_.get()));
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
        table = ErrorOf(result.get());
    }
  }
}

absl::Status Connection::WaitForResult(const Deadline& deadline) {
  PGconn* const connection = connection_.get();
  while (PQisBusy(connection) != 0) {
    const int unsent = PQflush(connection);
    if (unsent < 0) return Lost();
    const auto events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN);
    absl::Status status = waiter_.Wait(PQsocket(connection), events, deadline);
    if (!status.ok()) return status;
    if (PQconsumeInput(connection) == 0) return Lost();
  }
  return absl::OkStatus();
}

absl::Status Connection::Lost() const {
  const absl::string_view said =
      absl::StripTrailingAsciiWhitespace(PQerrorMessage(connection_.get()));
  return absl::UnavailableError(said.empty() ? "the connection was lost" : said);
}

}  // namespace headgate::postgres
