// What gives away that a connection does not lead to PostgreSQL itself but to a connection pooler,
// such as PgBouncer, and what is said of it.
//
// A pooler may lend each transaction another of the server's sessions, and lend that one to
// somebody else afterwards. So what this room does holds by such a session too: what it sets ends
// with the transaction that set it, and no statement is prepared under a name. What it cannot mend
// is that a question waits while the pool is used up, and may reach another server.
//
// Pure functions.
//
//   if (!IsOwnProcess(connection, told_by_the_session)) note = kLeadsThroughPooler;
#pragma once

#include <string_view>

#include "absl/status/status.h"

struct pg_conn;

namespace headgate::postgres {

inline constexpr std::string_view kLeadsThroughPooler =
    "the connection leads through a connection pooler, such as PgBouncer: what is asked waits "
    "while "
    "its pool is used up, and may reach another server; put PostgreSQL's own host and port into "
    "the "
    "connection string";

// Whether the process that answers (pg_backend_pid(), as text) is the one that greeted. A pooler
// greets by itself.
bool IsOwnProcess(const pg_conn* connection, std::string_view process);

// The end of a session in which transactions of several statements are not allowed: PgBouncer's
// pool_mode = statement.
bool IsOfStatementPool(const absl::Status& status);

// FailedPrecondition, with what to do. `why`: what showed it.
absl::Status StatementPoolError(std::string_view why);

// The same error with what to do about it, if it is one of those. FailedPrecondition then.
absl::Status ExplainedPooler(absl::Status status);

// That whoever answered does not take settings by the startup message, as poolers do not.
bool RefusesStartupSettings(const absl::Status& status);

}  // namespace headgate::postgres
