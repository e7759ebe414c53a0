// Session: transactions of a store in its PostgreSQL database, by libpqxx, each by a deadline.
//
// Connector opens it, as it does for health probes. libpqxx then blocks for as long as the server
// does, and throws. Here both end: a call that takes too long has its socket shut down by a
// Watchdog, which knows it from the first moment, and what is thrown becomes a status. A session
// never reconnects by itself: one that is_broken() is to be replaced.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<Session>> session =
//       Session::Open(connector, {.dsn = "host=store user=headgate"}, deadline);
//   absl::Status status =
//       (*session)->Transact(deadline, [](pqxx::work& work) { work.exec("SELECT 1"); });
#pragma once

#include <memory>
#include <pqxx/transaction>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "server/postgres/adopted_connection.h"
#include "server/postgres/connector.h"
#include "server/postgres/deadline.h"
#include "server/postgres/watchdog.h"

namespace headgate::postgres {

struct SessionOptions {
  std::string dsn;
  std::string store = "the store";  // what the database is, in errors
  // What the server itself gives a statement.
  absl::Duration statement_timeout = absl::Seconds(5);
  // And what it gives a lock, within that; zero: half of it.
  absl::Duration lock_timeout = absl::ZeroDuration();
};

class Session {
 public:
  // Errors: Connector's, but Unavailable for what hung.
  static absl::StatusOr<std::unique_ptr<Session>> Open(Connector& connector,
                                                       const SessionOptions& options,
                                                       const Deadline& deadline);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs `work` and commits. What it throws rolls back, and is the error: Unavailable (lost, hung,
  // locked), Aborted (because of other transactions), ResourceExhausted (disk full), DataLoss
  // (corrupt), PermissionDenied, FailedPrecondition. After Unavailable the commit may have got
  // through, or may do so yet.
  absl::Status Transact(const Deadline& deadline, absl::FunctionRef<void(pqxx::work&)> work);

  // The same, for a transaction that goes on over several calls and is the caller's. `work` may
  // throw as above.
  absl::Status Do(const Deadline& deadline, absl::FunctionRef<void(AdoptedConnection&)> work);

  // Lost, or given up: nothing more is to be asked of it. Asks nobody: that the server has ended an
  // idle session is known where its farewell has come.
  bool is_broken() const;

 private:
  explicit Session(std::string store) : store_(std::move(store)) {}

  const std::string store_;
  std::unique_ptr<AdoptedConnection> connection_;
  FileDescriptor socket_;  // of our own, so that it is this one as long as the watchdog may shut it
  bool is_broken_ = false;
  Watchdog watchdog_;
};

}  // namespace headgate::postgres
