#include "server/share/store/admin.h"

#include <algorithm>
#include <memory>
#include <pqxx/except>
#include <pqxx/transaction>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/observe/postgres/connector.h"
#include "server/observe/postgres/deadline.h"
#include "server/observe/postgres/encoding.h"
#include "server/observe/postgres/session.h"
#include "server/observe/postgres/socket_waiter.h"
#include "server/share/store/schema.h"
#include "server/share/store/schema_repair.h"

namespace headgate::store {
namespace {

using postgres::Deadline;
using postgres::Session;

// Of commands that change the tables at the same time one goes first, and the others look anew.
constexpr int kAttempts = 10;

struct Found {
  DatabaseIdentity identity;
  SchemaVersion schema;
  std::string role;
  std::vector<std::string> parts;       // that are missing
  std::vector<std::string> privileges;  // likewise, of this role
};

// Another command makes the same things, and was first.
bool IsOvertaken(const pqxx::sql_error& error) {
  for (const char* const state : {"23505", "42P06", "42P07", "42701", "42710", "XX000"}) {
    if (error.sqlstate() == state) return true;
  }
  return dynamic_cast<const pqxx::unique_violation*>(&error) != nullptr;
}

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
    if (const std::string note = session_->Note(); !note.empty() && options_.on_note) {
      options_.on_note(note);
    }
    Found found;
    absl::Status read = Transact([&](pqxx::work& work) { Read(work, found); });
    if (!read.ok()) return read;
    absl::Status accepted = RefuseProtected(found.identity, options_.protected_databases);
    if (!accepted.ok()) return accepted;
    return found;
  }
  absl::Status Transact(absl::FunctionRef<void(pqxx::work&)> work) {
    return session_->Transact(deadline_, work);
  }

  // As Transact, where others may do the same at the same time. Aborted: they were first.
  absl::Status Change(absl::FunctionRef<void(pqxx::work&)> work) {
    bool is_overtaken = false;
    absl::Status done = Transact([&](pqxx::work& transaction) {
      try {
        work(transaction);
      } catch (const pqxx::sql_error& error) {
        is_overtaken = IsOvertaken(error);
        throw;
      }
    });
    return is_overtaken ? absl::AbortedError(done.message()) : done;
  }

 private:
  // What may be read of tables that may lack something, by a role that may lack something.
  static void Read(pqxx::work& work, Found& found) {
    found.identity = ReadDatabaseIdentity(work);
    found.role = work.exec1("SELECT current_user")[0].as<std::string>();
    found.parts = MissingParts(work);
    found.privileges = MissingPrivileges(work);
    const auto has = [](const std::vector<std::string>& all, absl::string_view text) {
      return std::ranges::any_of(all,
                                 [&](const auto& one) { return absl::StrContains(one, text); });
    };
    const bool is_readable = !has(found.privileges, "SELECT on headgate_store.version") &&
                             !has(found.privileges, "USAGE on schema");
    if (has(found.parts, "headgate_store.version") || !is_readable) return;
    found.schema = ReadSchemaVersion(work);
  }

  const AdminOptions& options_;
  postgres::SocketWaiter waiter_;
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

// Names and reasons are of any language.
absl::Status RefuseEncoding(const DatabaseIdentity& database) {
  if (postgres::HoldsAnyText(database.encoding)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("database ", database.database,
                   " cannot be the store: ", postgres::WhyNotAnyText(database.encoding)));
}

// What a server would meet.
struct Conditions {
  std::string isolation;
  bool read_only = false;
};

Conditions ReadConditions(pqxx::work& work) {
  Conditions conditions;
  const pqxx::row row = work.exec1(
      "SELECT current_setting('transaction_isolation'),"
      " current_setting('transaction_read_only') = 'on'");
  conditions.isolation = row[0].as<std::string>();
  conditions.read_only = row[1].as<bool>();
  return conditions;
}

// What init and upgrade do, and do again where others were first.
template <typename Try>
absl::StatusOr<std::string> Retried(const AdminOptions& options, Clock& clock, Try try_once) {
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<std::string> said = try_once(options, clock);
    if (!absl::IsAborted(said.status())) return said;
    if (attempt == kAttempts) return absl::UnavailableError(said.status().message());
  }
}

absl::Status RefuseLost(const std::vector<std::string>& lost) {
  if (lost.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the store lacks ", absl::StrJoin(lost, ", "),
      ", and with it what operators have ordered: restore it from a backup; or, to end all that "
      "they"
      " have ordered, DROP TABLE headgate_store.override, and run headgate store init again"));
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

namespace {

absl::StatusOr<std::string> TryToInit(const AdminOptions& options, Clock& clock) {
  Admin admin(options, clock);
  absl::StatusOr<Found> found = admin.Open();
  if (!found.ok()) return found.status();
  if (absl::Status refused = RefuseNewer(*found); !refused.ok()) return refused;
  const bool is_new = found->schema.version == 0;
  if (!is_new && found->schema.version != kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(VersionText(*found), ": run headgate store upgrade"));
  }
  if (is_new) {
    absl::Status refused = RefuseEncoding(found->identity);
    if (!refused.ok()) return refused;
  }
  std::vector<std::string> lost;
  std::vector<std::string> done;
  absl::Status made = admin.Change([&](pqxx::work& work) {
    lost = MissingOrders(work);
    if (!lost.empty()) return;
    done = Repair(work);
    if (is_new) Migrate(work, found->schema, SchemaSteps());
  });
  if (!made.ok()) return made;
  if (absl::Status refused = RefuseLost(lost); !refused.ok()) return refused;
  found->schema.version = kSchemaVersion;
  if (is_new) return absl::StrCat("made: ", VersionText(*found));
  if (done.empty()) return absl::StrCat(VersionText(*found), " already; nothing was changed");
  return absl::StrCat("repaired: ", VersionText(*found), "; they lacked ",
                      absl::StrJoin(done, ", "));
}

absl::StatusOr<std::string> TryToUpgrade(const AdminOptions& options, Clock& clock) {
  Admin admin(options, clock);
  absl::StatusOr<Found> found = admin.Open();
  if (!found.ok()) return found.status();
  if (absl::Status refused = RefuseNewer(*found); !refused.ok()) return refused;
  const int from = found->schema.version;
  if (from == 0) return CheckSchemaVersion(found->schema);
  if (from == kSchemaVersion) {
    return absl::StrCat(VersionText(*found), " already; nothing was changed");
  }
  absl::Status done =
      admin.Change([&](pqxx::work& work) { Migrate(work, found->schema, SchemaSteps()); });
  if (!done.ok()) return done;
  found->schema.version = kSchemaVersion;
  return absl::StrCat("upgraded from version ", from, ": ", VersionText(*found));
}

}  // namespace

absl::StatusOr<std::string> Init(const AdminOptions& options, Clock& clock) {
  return Retried(options, clock, TryToInit);
}

absl::StatusOr<std::string> Upgrade(const AdminOptions& options, Clock& clock) {
  return Retried(options, clock, TryToUpgrade);
}

absl::StatusOr<std::string> Check(const AdminOptions& options, Clock& clock) {
  Admin admin(options, clock);
  absl::StatusOr<Found> found = admin.Open();
  if (!found.ok()) return found.status();
  const auto lacks_privileges = [&] {
    return absl::PermissionDeniedError(
        absl::StrCat("role ", found->role, " lacks ", absl::StrJoin(found->privileges, ", "),
                     ": grant it, or run headgate store init as the owner of the tables"));
  };
  if (found->schema.version == 0 && !found->privileges.empty()) return lacks_privileges();
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
  if (!found->parts.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(VersionText(*found), ", but lack ", absl::StrJoin(found->parts, ", "),
                     ": run headgate store init, which makes what is missing"));
  }
  if (!found->privileges.empty()) return lacks_privileges();
  return absl::StrCat(VersionText(*found), ", and role ", found->role,
                      " may do what a server does; transactions are ", conditions.isolation);
}

absl::StatusOr<DatabaseIdentity> Identify(const std::string& dsn, absl::Duration timeout,
                                          Clock& clock) {
  postgres::SocketWaiter waiter;
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
