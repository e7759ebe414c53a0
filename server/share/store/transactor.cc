#include "server/share/store/transactor.h"

#include <pqxx/transaction>
#include <utility>

#include "server/share/store/schema.h"

namespace headgate::store {

using postgres::Deadline;
using postgres::Session;

Transactor::Transactor(const TransactorOptions& options, Clock& clock)
    : options_(options), clock_(clock), connector_(waiter_), retry_(options.retry, options.seed) {}

absl::Status Transactor::Run(Scope scope, absl::Duration timeout,
                             absl::FunctionRef<void(pqxx::transaction_base&)> work) {
  const Deadline deadline(clock_, timeout);
  const auto pause = [&](absl::Duration length) {
    if (length > deadline.Left()) return absl::DeadlineExceededError("no time is left");
    const absl::Status ended = waiter_.Wait(-1, 0, Deadline(clock_, length));
    return absl::IsCancelled(ended) ? ended : absl::OkStatus();
  };
  // libpqxx can't be cancelled: nothing is begun that nobody waits for any more.
  if (absl::Status cancelled = pause(absl::ZeroDuration()); !cancelled.ok()) return cancelled;
  return retry_.Run([&] { return Try(scope, work, deadline); }, pause);
}

absl::Status Transactor::Try(Scope scope, absl::FunctionRef<void(pqxx::transaction_base&)> work,
                             const Deadline& deadline) {
  // Such as after a failover: what is asked now has not been, and can be asked of the next one.
  if (session_ != nullptr && session_->is_broken()) session_ = nullptr;
  if (session_ == nullptr) {
    if (absl::Status connected = Connect(deadline); !connected.ok()) return connected;
  }
  absl::Status status = scope == Scope::kTransaction ? session_->Transact(deadline, work)
                                                     : session_->RunStatement(deadline, work);
  if (status.ok() || absl::IsAborted(status)) return status;
  session_ = nullptr;
  // Such as a database that has become read-only, or a table that is gone. The next session finds
  // another server, or says what the schema lacks.
  if (absl::IsFailedPrecondition(status)) return absl::UnavailableError(status.message());
  return status;
}

absl::Status Transactor::Connect(const Deadline& deadline) {
  absl::StatusOr<std::string> dsn = options_.dsn();
  if (!dsn.ok()) return dsn.status();
  absl::StatusOr<std::unique_ptr<Session>> session =
      Session::Open(connector_,
                    {.dsn = *dsn,
                     .store = "the store",
                     .statement_timeout = options_.statement_timeout,
                     .lock_timeout = options_.lock_timeout},
                    deadline);
  if (!session.ok()) return session.status();
  session_ = *std::move(session);
  if (options_.on_note) options_.on_note(session_->Note());
  absl::Status status = Examine(deadline);
  if (!status.ok()) session_ = nullptr;
  return status;
}

absl::Status Transactor::Examine(const Deadline& deadline) {
  DatabaseIdentity identity;
  SchemaVersion schema;
  absl::Status read = session_->Transact(deadline, [&](pqxx::work& work) {
    identity = ReadDatabaseIdentity(work);
    schema = ReadSchemaVersion(work);
  });
  if (!read.ok()) return read;
  if (absl::Status accepted = options_.accept(identity); !accepted.ok()) return accepted;
  return CheckSchemaVersion(schema);
}

}  // namespace headgate::store
