// What PostgreSQL says is wrong, as a status.
//
// Pure functions.
#ifndef HEADGATE_SERVER_POSTGRES_SQL_ERROR_H_
#define HEADGATE_SERVER_POSTGRES_SQL_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace headgate::postgres {

// PermissionDenied for a password, role or privilege, DeadlineExceeded for statement_timeout,
// FailedPrecondition for what is missing or not as the statement needs it, else Unavailable.
absl::Status SqlError(std::string_view sqlstate, std::string_view message);

// From what libpq says of a connection that failed, at verbosity PQERRORS_VERBOSE: it has the
// SQLSTATE only as a part of this text.
absl::Status ConnectError(const std::string& message);

}  // namespace headgate::postgres

#endif  // HEADGATE_SERVER_POSTGRES_SQL_ERROR_H_
