#include "server/observe/postgres/pooler.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::postgres {
namespace {

// PgBouncer's words, which no locale changes.
constexpr char kStatementPool[] = "not allowed in statement pooling mode";

// PgBouncer and others; Amazon's proxy; a server that lacks one of the settings, or takes it
// another way.
constexpr std::array kRefusals = {"startup parameter", "command-line options",
                                  ":  0A000:",         ":  22023:",
                                  ":  42704:",         ":  55P02:"};

}  // namespace

bool IsOwnProcess(const PGconn* connection, std::string_view process) {
  int number = 0;
  return absl::SimpleAtoi(Sv(process), &number) && number == PQbackendPID(connection);
}

bool IsOfStatementPool(const absl::Status& status) {
  return absl::StrContains(status.message(), kStatementPool);
}

absl::Status StatementPoolError(std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the connection leads through a connection pooler that hands out single "
                   "statements: put PostgreSQL's own host and port into the connection string, or "
                   "those of a pool that hands out sessions (",
                   Sv(why), ")"));
}

absl::Status ExplainedPooler(absl::Status status) {
  if (!IsOfStatementPool(status)) return status;
  return StatementPoolError(std::string(status.message()));
}

bool RefusesStartupSettings(const absl::Status& status) {
  return std::any_of(kRefusals.begin(), kRefusals.end(),
                     [&](const char* words) { return absl::StrContains(status.message(), words); });
}

}  // namespace headgate::postgres
