// Transactor: one session with the store, and transactions in it, each by a deadline.
//
// It connects at the first call, and anew after any error but a rollback because of others, with
// the connection string as it is by then: a server that has become a standby is left for the one
// that is named beside it. A database is examined once for each session, before anything else is
// asked: whether its schema is one that this Headgate knows, and whether it may be a store at all.
// What the store rolls back because of others is tried again as a whole (retry.h).
//
// Thread-compatible, but Cancel() may be called from any thread.
//
//   Transactor transactor({.dsn = [] { return ReadDsn(); }, .seed = seed}, clock);
//   absl::Status status =
//       transactor.Run(Scope::kTransaction, absl::Seconds(1),
//                      [](pqxx::transaction_base& work) { work.exec("..."); });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <pqxx/transaction_base>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/observe/postgres/connector.h"
#include "server/observe/postgres/deadline.h"
#include "server/observe/postgres/session.h"
#include "server/observe/postgres/socket_waiter.h"
#include "server/share/store/database_identity.h"
#include "server/share/store/retry.h"

namespace headgate::store {

struct TransactorOptions {
  // As libpq takes it. It must not block.
  std::function<absl::StatusOr<std::string>()> dsn = {};
  // What the store itself gives a statement.
  absl::Duration statement_timeout = absl::Seconds(2);
  absl::Duration lock_timeout = absl::ZeroDuration();  // of a row; zero: half of that
  Retry::Options retry = {};
  uint64_t seed = 0;  // of the pauses
  // An error: this database cannot be the store.
  std::function<absl::Status(const DatabaseIdentity&)> accept =
      [](const DatabaseIdentity& /*database*/) { return absl::OkStatus(); };
  // Told at each connect what is worth knowing of the connection, such as that it leads through a
  // pooler; empty: nothing. May be left out; called by whoever calls Run.
  std::function<void(const std::string&)> on_note = {};
};

enum class Scope {
  kStatement,    // one statement, which is a transaction by itself: one round trip
  kTransaction,  // several statements, committed together
};

class Transactor {
 public:
  // The clock outlives it.
  Transactor(const TransactorOptions& options, Clock& clock);

  // `timeout` is for connecting, all attempts, and the pauses between them. Unavailable: the store
  // is away, read-only, or refuses what it is asked; a commit may have got through, or may do so
  // yet. FailedPrecondition: the schema or the database is not one to use. Else postgres::Session's
  // errors; Aborted has been tried again in vain.
  absl::Status Run(Scope scope, absl::Duration timeout,
                   absl::FunctionRef<void(pqxx::transaction_base&)> work);

  // All later calls are Cancelled, and so is one that connects or pauses. One that the store has
  // been asked already ends by its deadline.
  void Cancel() { waiter_.Cancel(); }

  // Attempts that the store rolled back because of others.
  int64_t rolled_back() const { return retry_.rolled_back(); }

 private:
  absl::Status Connect(const postgres::Deadline& deadline);
  absl::Status Examine(const postgres::Deadline& deadline);
  absl::Status Try(Scope scope, absl::FunctionRef<void(pqxx::transaction_base&)> work,
                   const postgres::Deadline& deadline);

  const TransactorOptions options_;
  Clock& clock_;
  postgres::SocketWaiter waiter_;
  postgres::Connector connector_;
  std::unique_ptr<postgres::Session> session_;
  Retry retry_;
};

}  // namespace headgate::store
