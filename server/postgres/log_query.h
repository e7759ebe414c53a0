// LogQuery: one scan of the throttle log in PostgreSQL, by a cursor in a transaction of its own.
//
// Sums are PostgreSQL's. Its caller ends it, whatever became of it. Thread-compatible.
//
//   LogQuery query(filter);
//   absl::Status status = query.Start(session);
//   if (status.ok()) status = query.Read(session, visit);
//   query.End(session);
#ifndef HEADGATE_SERVER_POSTGRES_LOG_QUERY_H_
#define HEADGATE_SERVER_POSTGRES_LOG_QUERY_H_

#include <memory>
#include <pqxx/transaction>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/postgres/log_session.h"
#include "server/throttle_log/row.h"
#include "server/throttle_log/store.h"

namespace headgate::postgres {

class LogQuery {
 public:
  // The filter outlives it.
  explicit LogQuery(const throttle_log::ScanFilter& filter) : filter_(filter) {}

  // May be tried again on another session.
  absl::Status Start(LogSession& session);
  absl::Status Read(LogSession& session, absl::FunctionRef<bool(const throttle_log::Row&)> visit);
  void End(LogSession& session);

 private:
  const throttle_log::ScanFilter& filter_;
  bool is_empty_ = false;  // there is no log yet
  std::unique_ptr<pqxx::work> work_;
};

}  // namespace headgate::postgres

#endif  // HEADGATE_SERVER_POSTGRES_LOG_QUERY_H_
