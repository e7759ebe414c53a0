#include "server/observe/postgres/sql_error.h"

#include <libpq-fe.h>

#include <cctype>
#include <cstddef>
#include <exception>
#include <pqxx/except>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/strings.h"
#include "server/observe/postgres/pooler.h"

namespace headgate::postgres {
namespace {

absl::StatusCode CodeOf(std::string_view sqlstate) {
  if (sqlstate.starts_with("28") || sqlstate == "42501") return absl::StatusCode::kPermissionDenied;
  if (sqlstate == "57014") return absl::StatusCode::kDeadlineExceeded;
  for (const std::string_view missing : {"0A", "22", "25", "3D", "3F", "42", "55"}) {
    if (sqlstate.starts_with(missing)) return absl::StatusCode::kFailedPrecondition;
  }
  return absl::StatusCode::kUnavailable;
}

bool IsSqlState(std::string_view text) {
  if (text.size() != 5) return false;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && (c < 'A' || c > 'Z')) return false;
  }
  return true;
}

// "FATAL:  28P01: password authentication failed", whatever language FATAL is in.
std::string_view SqlStateIn(std::string_view message) {
  constexpr std::string_view kBefore = ":  ";
  for (size_t at = message.find(kBefore); at != std::string_view::npos;
       at = message.find(kBefore, at + 1)) {
    const std::string_view state = message.substr(at + kBefore.size(), 5);
    if (IsSqlState(state) && message.substr(at + kBefore.size() + 5).starts_with(": ")) {
      return state;
    }
  }
  return "";
}

// libpqxx keeps the SQLSTATE of those alone for which it has no class.
absl::Status StatusOf(const pqxx::sql_error& error) {
  const std::string& state = error.sqlstate();
  const std::string text(absl::StripAsciiWhitespace(error.what()));
  if (dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr) {
    return absl::PermissionDeniedError(text);
  }
  if (dynamic_cast<const pqxx::insufficient_resources*>(&error) != nullptr) {
    return absl::ResourceExhaustedError(text);
  }
  if (dynamic_cast<const pqxx::syntax_error*>(&error) != nullptr) {  // a table is missing, too
    return absl::FailedPreconditionError(text);
  }
  if (state.starts_with("XX00")) return absl::DataLossError(text);
  if (state.starts_with("55") || state == "57014") return absl::UnavailableError(text);
  return SqlError(state, text);
}

// Rollbacks come first: libpqxx 6 does not count them among SQL's errors, libpqxx 7 does.
absl::Status CaughtAsItIs() {
  try {
    throw;
  } catch (const pqxx::statement_completion_unknown& error) {
    return absl::UnavailableError(Sv(error.what()));
  } catch (const pqxx::transaction_rollback& error) {
    return absl::AbortedError(absl::StripAsciiWhitespace(error.what()));
  } catch (const pqxx::sql_error& error) {
    return StatusOf(error);
  } catch (const pqxx::broken_connection& error) {
    return ConnectError(error.what());
  } catch (const std::exception& error) {
    return absl::UnavailableError(Sv(error.what()));
  }
}

}  // namespace

absl::Status SqlError(std::string_view sqlstate, std::string_view message) {
  if (sqlstate.empty()) return absl::UnavailableError(Sv(message));
  return absl::Status(CodeOf(sqlstate), absl::StrCat(Sv(message), " (", Sv(sqlstate), ")"));
}

absl::Status ResultError(const PGresult* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return SqlError(sqlstate == nullptr ? "" : sqlstate,
                  message == nullptr ? PQresultErrorMessage(result) : message);
}

absl::Status ConnectError(const std::string& message) {
  std::vector<std::string> lines;
  // The last line of each message is where in PostgreSQL's source it was raised.
  for (absl::string_view line : absl::StrSplit(message, '\n', absl::SkipWhitespace())) {
    const bool is_location = line.find(".c:") != absl::string_view::npos;
    if (!is_location) lines.emplace_back(line);
  }
  const std::string_view sqlstate = SqlStateIn(message);
  return absl::Status(
      sqlstate.empty() ? absl::StatusCode::kUnavailable : CodeOf(sqlstate),
      lines.empty() ? "the connection failed for no known reason" : absl::StrJoin(lines, "; "));
}

// idle_session_timeout, and PgBouncer's own.
bool IsEndOfIdleness(const absl::Status& status) {
  return absl::StrContains(status.message(), "57P05") ||
         absl::StrContains(status.message(), "client_idle_timeout");
}

absl::Status LostError(const PGconn* connection) {
  const absl::string_view said = absl::StripTrailingAsciiWhitespace(PQerrorMessage(connection));
  return absl::UnavailableError(said.empty() ? "the connection was lost" : said);
}

absl::Status CaughtError() { return ExplainedPooler(CaughtAsItIs()); }

}  // namespace headgate::postgres
