// libpqxx throws; this is where it stops.
#include <headgate/pqxx.h>

#include <exception>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/pqxx/statement_plan.h"

namespace headgate::client::internal {
namespace {

absl::StatusCode CodeOf(std::string_view sqlstate) {
  const auto is_in = [&](std::string_view prefix) { return sqlstate.starts_with(prefix); };
  if (is_in("08") || is_in("57P") || is_in("53300")) return absl::StatusCode::kUnavailable;
  if (is_in("40") || is_in("55P03")) return absl::StatusCode::kAborted;
  if (is_in("57014")) return absl::StatusCode::kCancelled;
  if (is_in("42501")) return absl::StatusCode::kPermissionDenied;
  if (is_in("42") || is_in("22") || is_in("0A")) return absl::StatusCode::kInvalidArgument;
  return absl::StatusCode::kFailedPrecondition;
}

// What was caught. Call it in a handler only.
absl::Status CaughtStatus() {
  try {
    throw;
  } catch (const pqxx::in_doubt_error& error) {
    return absl::UnknownError(error.what());
  } catch (const pqxx::statement_completion_unknown& error) {
    return absl::UnknownError(error.what());
  } catch (const pqxx::broken_connection& error) {
    return absl::UnavailableError(error.what());
  } catch (const pqxx::transaction_rollback& error) {
    return absl::AbortedError(error.what());
  } catch (const pqxx::sql_error& error) {
    const std::string_view sqlstate = error.sqlstate();
    return absl::Status(CodeOf(sqlstate),
                        absl::StrCat(error.what(), " (SQLSTATE ", error.sqlstate(), ")"));
  } catch (const std::exception& error) {
    // Such as pqxx::usage_error: a transaction is open on the connection.
    return absl::FailedPreconditionError(error.what());
  }
}

absl::StatusOr<StatementPlan> ExplainAlone(pqxx::connection& connection, const std::string& sql,
                                           const Exec& exec) {
  try {
    pqxx::nontransaction transaction(connection);
    return Explain(transaction, sql, exec);
  } catch (...) {
    return CaughtStatus();
  }
}

absl::StatusOr<pqxx::result> RunAlone(pqxx::connection& connection, const std::string& sql,
                                      const Exec& exec) {
  try {
    pqxx::work transaction(connection);
    pqxx::result result = exec(transaction, sql);
    transaction.commit();
    return result;
  } catch (...) {
    return CaughtStatus();
  }
}

}  // namespace

absl::StatusOr<StatementPlan> Explain(pqxx::transaction_base& transaction, const std::string& sql,
                                      const Exec& exec) {
  try {
    const pqxx::result rows =
        exec(transaction, absl::StrCat("EXPLAIN (VERBOSE, FORMAT JSON) ", sql));
    if (rows.empty() || rows[0].empty())
      return absl::InvalidArgumentError("EXPLAIN gave no plan: no rows");
    return ParsePlan(rows[0][0].c_str());
  } catch (...) {
    return CaughtStatus();
  }
}

absl::StatusOr<pqxx::result> ExecThrottled(Client& client, pqxx::connection& connection,
                                           const ThrottleOptions& options, const std::string& sql,
                                           const Exec& exec) {
  const absl::StatusOr<StatementPlan> plan = ExplainAlone(connection, sql, exec);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<Permit> permit =
      client.CheckOrWait({.identity = options.identity,
                          .target = options.target,
                          .estimated_cost = plan->total_cost,
                          .pattern = plan->query_id.value_or(options.pattern),
                          .tags = options.tags},
                         options.max_wait, options.stop);
  if (!permit.ok()) return permit.status();
  absl::StatusOr<pqxx::result> result = RunAlone(connection, sql, exec);
  // Rows that were affected are no cost: the estimate is in the planner's units. A cost that is
  // none is refused, and the permit then reports without it. A statement that failed has taken its
  // time as well.
  WorkDone done;
  if (result.ok() && options.actual_cost != nullptr)
    done.actual_cost = options.actual_cost(*result);
  permit->Report(done).IgnoreError();
  return result;
}

}  // namespace headgate::client::internal
