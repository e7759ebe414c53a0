// Statements of libpqxx that wait their turn: PostgreSQL says what a statement will cost, Headgate
// when it may run, the clock for how long it was busy. Needs the target Headgate::pqxx.
//
// ExecThrottled asks EXPLAIN (VERBOSE, FORMAT JSON), which runs nothing, for the planner's total
// cost and the query's identifier; asks Headgate with the one as estimate and the other as pattern,
// so that it learns how long a unit of the planner's keeps the database busy; runs the statement in
// a transaction of its own; and reports its busy time, from the permit to the commit. It reports no
// cost: rows that were affected are not in the planner's units. So budgets of busy time, `rate:
// auto` among them, are charged what it took, and budgets of cost what the planner said.
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
  // The actual cost, for those whose budgets of cost are in another unit than the planner's, such
  // as the rows that were affected: Headgate then learns how many there are to a unit of the
  // planner's. It must not throw. Null: no cost is reported.
  std::function<double(const pqxx::result&)> actual_cost = nullptr;
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
