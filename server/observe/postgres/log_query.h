// LogQuery: one scan of the throttle log in PostgreSQL, by a cursor in a transaction of its own.
//
// Sums are PostgreSQL's. Its caller ends it, whatever became of it. Thread-compatible.
//
//   LogQuery query(filter, clock, absl::Seconds(30));
//   absl::Status status = query.Start(session);
//   if (status.ok()) status = query.Read(session, visit);
//   query.End(session);
#pragma once

#include <memory>
#include <pqxx/transaction>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/observe/postgres/deadline.h"
#include "server/observe/postgres/session.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::postgres {

class LogQuery {
 public:
  // The filter and the clock outlive it. `step_limit` is for each of its calls to the server.
  LogQuery(const throttle_log::ScanFilter& filter, Clock& clock, absl::Duration step_limit)
      : filter_(filter), clock_(clock), step_limit_(step_limit) {}

  // May be tried again on another session.
  absl::Status Start(Session& session);
  absl::Status Read(Session& session, absl::FunctionRef<bool(const throttle_log::Row&)> visit);
  void End(Session& session);

 private:
  Deadline StepDeadline() const { return Deadline(clock_, step_limit_); }

  const throttle_log::ScanFilter& filter_;
  Clock& clock_;
  const absl::Duration step_limit_;
  bool is_empty_ = false;  // there is no log yet
  std::unique_ptr<pqxx::work> work_;
};

}  // namespace headgate::postgres
