// LogSession: one session of the throttle log with its PostgreSQL database, by libpqxx.
//
// libpqxx throws, and blocks for as long as the server does. Here both end: what it throws becomes
// a status, and a call that takes too long has its socket shut down by a Watchdog. It never
// reconnects by itself: a session that failed is_broken(), and its owner opens another.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<LogSession>> session =
//       LogSession::Open("host=logs user=headgate dbname=headgate", absl::Seconds(5));
//   absl::Status status = (*session)->Transact([](pqxx::work& work) { work.exec("SELECT 1"); });
#ifndef HEADGATE_SERVER_POSTGRES_LOG_SESSION_H_
#define HEADGATE_SERVER_POSTGRES_LOG_SESSION_H_

#include <memory>
#include <pqxx/connection>
#include <pqxx/transaction>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/postgres/watchdog.h"

namespace headgate::postgres {

class LogSession {
 public:
  // `limit` is the time for each call, and for connecting to each address, there in whole seconds
  // and 2 at least. Looking names up is left to the system, which has its own limits.
  static absl::StatusOr<std::unique_ptr<LogSession>> Open(const std::string& dsn,
                                                          absl::Duration limit);
  ~LogSession();
  LogSession(const LogSession&) = delete;
  LogSession& operator=(const LogSession&) = delete;

  // Runs `work` and commits. What it throws rolls back, and is the error: Unavailable (lost, hung,
  // locked), ResourceExhausted (disk full), DataLoss (corrupt), PermissionDenied,
  // FailedPrecondition. After Unavailable the commit may have got through.
  absl::Status Transact(absl::FunctionRef<void(pqxx::work&)> work);

  // The same, for a transaction that goes on over several calls and is the caller's. `work` may
  // throw as above.
  absl::Status Do(absl::FunctionRef<void(pqxx::connection&)> work);

  // Nothing more is to be asked of it.
  bool is_broken() const { return is_broken_; }

 private:
  explicit LogSession(absl::Duration limit) : limit_(limit) {}

  const absl::Duration limit_;
  std::unique_ptr<pqxx::connection> connection_;
  int socket_ = -1;  // of our own, so that it is this one as long as the watchdog may shut it
  bool is_broken_ = false;
  Watchdog watchdog_;
};

}  // namespace headgate::postgres

#endif  // HEADGATE_SERVER_POSTGRES_LOG_SESSION_H_
