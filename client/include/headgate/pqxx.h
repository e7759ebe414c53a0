// Statements of libpqxx that wait their turn: PostgreSQL says what a statement will cost, Headgate
// when it may run, the clock what it took. Needs the target Headgate::pqxx.
//
// ExecThrottled asks EXPLAIN (VERBOSE, FORMAT JSON), which runs nothing, for the planner's total
// cost and the query's identifier; asks Headgate with the one as estimate and the other as pattern,
// so that it learns what a unit of the planner's costs in seconds; runs the statement in a
// transaction of its own; and reports the seconds that it took, from the permit to the commit. So
// it belongs to budgets in busy seconds, `rate: auto` among them.
//
// No transaction is open while it waits: one would hold back vacuum, and keep locks. Query
// identifiers take `compute_query_id = on` on the server, or pg_stat_statements; without them the
// pattern is `ThrottleOptions::pattern`.
//
// One statement at a time: the server refuses several in one string. Nothing here throws; libpqxx'
// exceptions become statuses, and the message ends with the SQLSTATE where there is one.
//
// Thread-compatible, as pqxx::connection is.
//
//   absl::StatusOr<pqxx::result> deleted = ExecThrottled(
//       client, connection, {.max_wait = absl::Minutes(10)},
//       "DELETE FROM events WHERE id BETWEEN $1 AND $2", first, last);

#ifndef HEADGATE_PQXX_H_
#define HEADGATE_PQXX_H_

#include <headgate/client.h>

#include <functional>
#include <map>
#include <optional>
#include <pqxx/pqxx>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate::client {

// What the planner says about a statement.
struct StatementPlan {
  double total_cost = 0;  // in the planner's own units
  // Absent where the server computes none.
  std::optional<std::string> query_id = {};
};

struct ThrottleOptions {
  std::string identity = {};  // empty: the client's
  std::string target = {};    // empty: the client's
  std::string pattern = {};   // where the server gives no query identifier
  std::map<std::string, std::string> tags = {};
  absl::Duration max_wait = absl::InfiniteDuration();
  std::stop_token stop = {};
};

namespace internal {

// Runs a text with the caller's parameters, if it has any.
using Exec = std::function<pqxx::result(pqxx::transaction_base&, const std::string&)>;

absl::StatusOr<StatementPlan> Explain(pqxx::transaction_base& transaction, const std::string& sql,
                                      const Exec& exec);
absl::StatusOr<pqxx::result> ExecThrottled(Client& client, pqxx::connection& connection,
                                           const ThrottleOptions& options, const std::string& sql,
                                           const Exec& exec);

// By the extended protocol even without parameters: it takes one statement only.
template <typename... Args>
Exec ExecWith(const Args&... args) {
  return [&args...](pqxx::transaction_base& transaction, const std::string& text) {
    return transaction.exec_params(text, args...);
  };
}

}  // namespace internal

// What EXPLAIN says, for those who call Check themselves. InvalidArgument for what EXPLAIN does not
// know, such as VACUUM; else as ExecThrottled. Like every error, that ends the transaction.
template <typename... Args>
absl::StatusOr<StatementPlan> Explain(pqxx::transaction_base& transaction, const std::string& sql,
                                      const Args&... args) {
  return internal::Explain(transaction, sql, internal::ExecWith(args...));
}

// Runs one statement, with `args` for $1, $2 and so on, when Headgate allows it. Errors are those
// of Client::CheckOrWait, and PostgreSQL's: Unavailable for a lost connection, Aborted for what may
// succeed if it is repeated (serialization failure, deadlock), Unknown where it is not known
// whether the commit succeeded, InvalidArgument for wrong SQL, FailedPrecondition for the rest.
template <typename... Args>
absl::StatusOr<pqxx::result> ExecThrottled(Client& client, pqxx::connection& connection,
                                           const ThrottleOptions& options, const std::string& sql,
                                           const Args&... args) {
  return internal::ExecThrottled(client, connection, options, sql, internal::ExecWith(args...));
}

}  // namespace headgate::client

#endif  // HEADGATE_PQXX_H_
