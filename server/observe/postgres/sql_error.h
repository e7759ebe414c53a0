// What PostgreSQL says is wrong, as a status: the one place for libpq's words and libpqxx's
// exceptions.
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

struct pg_conn;
struct pg_result;

namespace headgate::postgres {

// PermissionDenied for a password, role or privilege, DeadlineExceeded for statement_timeout,
// FailedPrecondition for what is missing or not as the statement needs it, else Unavailable.
absl::Status SqlError(std::string_view sqlstate, std::string_view message);

// The same, of a result that is an error.
absl::Status ResultError(const pg_result* result);

// From what libpq says of a connection that failed, at verbosity PQERRORS_VERBOSE: it has the
// SQLSTATE only as a part of this text.
absl::Status ConnectError(const std::string& message);

// That the server, or a pooler, ended a session because nothing was asked of it for long.
bool IsEndOfIdleness(const absl::Status& status);

// Unavailable, with libpq's last words on the connection.
absl::Status LostError(const pg_conn* connection);

// What a transaction of libpqxx threw. To be called in a handler. Beside SqlError's statuses:
// Aborted where the server rolled back because of others (40001, 40P01), ResourceExhausted (disk,
// memory), DataLoss (corrupt). A lock or a statement that took too long is Unavailable: it can be
// tried again, as can all else that has no better name.
absl::Status CaughtError();

}  // namespace headgate::postgres
