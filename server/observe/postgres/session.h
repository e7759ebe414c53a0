// Session: transactions of a store in its PostgreSQL database, by libpqxx, each by a deadline.
//
// Connector opens it, as it does for health probes, and on the primary where it finds that. libpqxx
// then blocks for as long as the server does, and throws. Here both end: a call that takes too long
// has its socket shut down by a Watchdog, which knows it from the first moment, and what is thrown
// becomes a status. A session never reconnects by itself: one that is_broken() is to be replaced.
//
// Its settings, and names that are looked up in pg_catalog before all else, are given at its start.
// Where they did not arrive, or the session is one that a connection pooler lends for a transaction
// at a time, each transaction sets them for itself, and they end with it. What a session keeps
// beyond its transaction belongs to whoever gets it next: is_own() says whether that is us.
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
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "server/observe/postgres/adopted_connection.h"
#include "server/observe/postgres/connector.h"
#include "server/observe/postgres/deadline.h"
#include "server/observe/postgres/watchdog.h"

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

  // The same for one statement, which the server commits by itself, in one round trip; but in a
  // session that is not our own.
  absl::Status RunStatement(const Deadline& deadline,
                            absl::FunctionRef<void(pqxx::transaction_base&)> work);

  // The same, for a transaction that goes on over several calls and is the caller's, who has its
  // settings made. `work` may throw as above.
  absl::Status Do(const Deadline& deadline, absl::FunctionRef<void(AdoptedConnection&)> work);

  // Sets what the session has not, for this transaction. Throws as libpqxx does.
  void MakeSettings(pqxx::transaction_base& transaction) const;

  // No connection pooler hands it to others, as far as can be seen.
  bool is_own() const { return is_own_; }
  // Of the database, such as UTF8.
  const std::string& encoding() const { return encoding_; }
  // What is worth knowing of the connection, in words; empty: nothing.
  std::string Note() const;

  // Lost, or given up: nothing more is to be asked of it. Asks nobody: that the server has ended an
  // idle session is known where its farewell has come.
  bool is_broken() const;

 private:
  Session(std::string store, Connector::Pairs settings)
      : store_(std::move(store)), settings_(std::move(settings)) {}

  // Whose session this is, and whether it has its settings.
  absl::Status Look(const Deadline& deadline);
  absl::Status RefuseStatementPool(const Deadline& deadline);

  const std::string store_;
  const Connector::Pairs settings_;
  int greeted_by_ = 0;  // the process that said that it serves this connection
  std::string encoding_;
  bool is_own_ = false;
  bool has_settings_ = false;
  std::unique_ptr<AdoptedConnection> connection_;
  FileDescriptor socket_;  // of our own, so that it is this one as long as the watchdog may shut it
  bool is_broken_ = false;
  Watchdog watchdog_;
};

}  // namespace headgate::postgres
