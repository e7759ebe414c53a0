// What `headgate store init|upgrade|check` does: makes the store's tables, brings them to this
// Headgate's version, or says whether a server could use them. Servers never call it.
//
// Functions block, each up to its timeout. What they return is for people: what was done, or found,
// and what is worth knowing. Errors: those of postgres::Session, and FailedPrecondition for a
// database that cannot be the store, with what to do. Any number of commands may run at a time.
//
//   absl::StatusOr<std::string> said = Check({.dsn = dsn}, clock);
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/share/store/database_identity.h"

namespace headgate::store {

struct AdminOptions {
  std::string dsn;
  absl::Duration timeout = absl::Seconds(10);
  // Targets that are protected, by name: none of them may be the store.
  std::vector<std::pair<std::string, DatabaseIdentity>> protected_databases = {};
  // Told what is worth knowing of the connection, such as that it leads through a pooler. May be
  // left out.
  std::function<void(const std::string&)> on_note = {};
};

// Makes the tables, or what is missing of them, and grants to whoever may write some of them what
// it may not do of all. Harmless if all is there; an older version is for Upgrade.
// FailedPrecondition: what operators have ordered is lost.
absl::StatusOr<std::string> Init(const AdminOptions& options, Clock& clock);
// Takes the tables to this Headgate's version. Harmless if they are.
absl::StatusOr<std::string> Upgrade(const AdminOptions& options, Clock& clock);
// Whether the role may do what a server does, in tables that it knows and of which nothing is
// missing; names what is. Changes nothing.
absl::StatusOr<std::string> Check(const AdminOptions& options, Clock& clock);

// Of a target, to be told from the store.
absl::StatusOr<DatabaseIdentity> Identify(const std::string& dsn, absl::Duration timeout,
                                          Clock& clock);

// FailedPrecondition: the database is one that is protected.
absl::Status RefuseProtected(
    const DatabaseIdentity& database,
    const std::vector<std::pair<std::string, DatabaseIdentity>>& protected_databases);

}  // namespace headgate::store
