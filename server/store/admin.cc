#include "server/store/admin.h"

#include <memory>
#include <pqxx/transaction>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/postgres/connector.h"
#include "server/postgres/deadline.h"
#include "server/postgres/session.h"
#include "server/postgres/waiter.h"
#include "server/store/schema.h"

namespace headgate::store {
namespace {

using postgres::Deadline;
using postgres::Session;

struct Found {
  DatabaseIdentity identity;
  SchemaVersion schema;
};

// A session for one command.
class Admin {
 public:
  Admin(const AdminOptions& options, Clock& clock)
      : options_(options), connector_(waiter_), deadline_(clock, options.timeout) {}

  absl::StatusOr<Found> Open() {
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Open(
        connector_,
        {.dsn = options_.dsn, .store = "the store", .statement_timeout = options_.timeout},
        deadline_);
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    Found found;
    absl::Status read = Transact([&](pqxx::work& work) {
      found.identity = ReadDatabaseIdentity(work);
      found.schema = ReadSchemaVersion(work);
    });
    if (!read.ok()) return read;
    absl::Status accepted = RefuseProtected(found.identity, options_.protected_databases);
    if (!accepted.ok()) return accepted;
    return found;
  }
  absl::Status Transact(absl::FunctionRef<void(pqxx::work&)> work) {
    return session_->Transact(deadline_, work);
  }

 private:
  const AdminOptions& options_;
  postgres::Waiter waiter_;
  postgres::Connector connector_;
  const Deadline deadline_;
  std::unique_ptr<Session> session_;
};

std::string VersionText(const Found& found) {
  return absl::StrCat("the store's tables in database ", found.identity.database,
                      " are of version ", found.schema.version);
}

absl::Status RefuseNewer(const Found& found) {
  if (found.schema.version <= kSchemaVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(VersionText(found),
                                                    ", newer than what this headgated knows (",
                                                    kSchemaVersion, "): use the newer one"));
}

absl::Status MigrateFrom(const Found& found, Admin& admin) {
  return admin.Transact([&](pqxx::work& work) { Migrate(work, found.schema, SchemaSteps()); });
}

// What a server would meet.
struct Conditions {
  std::string role;
  std::string isolation;
  bool read_only = false;
  std::vector<std::string> missing;  // privileges
};

Conditions ReadConditions(pqxx::work& work) {
  Conditions conditions;
  const pqxx::row row = work.exec1(
      "SELECT current_user, current_setting('transaction_isolation'),"
      " current_setting('transaction_read_only') = 'on'");
  conditions.role = row[0].as<std::string>();
  conditions.isolation = row[1].as<std::string>();
  conditions.read_only = row[2].as<bool>();
  conditions.missing = MissingPrivileges(work);
  return conditions;
}

}  // namespace

absl::Status RefuseProtected(
    const DatabaseIdentity& database,
    const std::vector<std::pair<std::string, DatabaseIdentity>>& protected_databases) {
  for (const auto& [target, identity] : protected_databases) {
    if (!IsSame(database, identity)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("database ", database.database, " cannot be the store: it is target ", target,
                     ", which is protected, and would be asked most when it can bear it least"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Init(const AdminOptions& options, Clock& clock) {
  Admin admin(options, clock);
  absl::StatusOr<Found> found = admin.Open();
  if (!found.ok()) return found.status();
  if (absl::Status refused = RefuseNewer(*found); !refused.ok()) return refused;
  if (found->schema.version == kSchemaVersion) {
    return absl::StrCat(VersionText(*found), " already; nothing was changed");
  }
  if (found->schema.version != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(VersionText(*found), ": run headgate store upgrade"));
  }
  if (absl::Status made = MigrateFrom(*found, admin); !made.ok()) return made;
  found->schema.version = kSchemaVersion;
  return absl::StrCat("made: ", VersionText(*found));
}

absl::StatusOr<std::string> Upgrade(const AdminOptions& options, Clock& clock) {
  Admin admin(options, clock);
  absl::StatusOr<Found> found = admin.Open();
  if (!found.ok()) return found.status();
  if (absl::Status refused = RefuseNewer(*found); !refused.ok()) return refused;
  const int from = found->schema.version;
  if (from == 0) return CheckSchemaVersion(found->schema);
  if (from == kSchemaVersion) {
    return absl::StrCat(VersionText(*found), " already; nothing was changed");
  }
  if (absl::Status done = MigrateFrom(*found, admin); !done.ok()) return done;
  found->schema.version = kSchemaVersion;
  return absl::StrCat("upgraded from version ", from, ": ", VersionText(*found));
}

absl::StatusOr<std::string> Check(const AdminOptions& options, Clock& clock) {
  Admin admin(options, clock);
  absl::StatusOr<Found> found = admin.Open();
  if (!found.ok()) return found.status();
  if (absl::Status known = CheckSchemaVersion(found->schema); !known.ok()) return known;
  Conditions conditions;
  absl::Status read = admin.Transact([&](pqxx::work& work) { conditions = ReadConditions(work); });
  if (!read.ok()) return read;
  if (conditions.read_only) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", found->identity.database,
                     " is read-only: name the primary, or every server and"
                     " target_session_attrs=read-write"));
  }
  if (!conditions.missing.empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat("role ", conditions.role, " lacks ", absl::StrJoin(conditions.missing, ", ")));
  }
  return absl::StrCat(VersionText(*found), ", and role ", conditions.role,
                      " may do what a server does; transactions are ", conditions.isolation);
}

absl::StatusOr<DatabaseIdentity> Identify(const std::string& dsn, absl::Duration timeout,
                                          Clock& clock) {
  postgres::Waiter waiter;
  postgres::Connector connector(waiter);
  const Deadline deadline(clock, timeout);
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Open(
      connector, {.dsn = dsn, .store = "the target", .statement_timeout = timeout}, deadline);
  if (!session.ok()) return session.status();
  DatabaseIdentity identity;
  absl::Status read = (*session)->Transact(
      deadline, [&](pqxx::work& work) { identity = ReadDatabaseIdentity(work); });
  if (!read.ok()) return read;
  return identity;
}

}  // namespace headgate::store
