// The store's tables, schema "headgate_store" of a PostgreSQL-compatible database.
//
//   version    of the schema, and of the oldest one whose servers may still use it
//   member     name, incarnation, address, last_seen, ...: which servers there are
//   ownership  target, owner, generation, expires_at, ...: who decides for a target, until when
//   state      target, generation, sequence, bytes, ...: what an owner knows of it
//   override   what operators have ordered; override_event: who, why, and how it ended; and
//              override_revision, which counts changes of what is in force
//
// They are made and changed by `headgate store`, never by a server: its role needs to read and
// write rows, and nothing else. docs/cluster.md has the exact grants.
//
// Nothing is used that YugabyteDB lacks. It commits each change of a schema by itself, so each
// step can be repeated from anywhere in its middle, and the version is written last: a schema that
// was left half made has none.
//
// What takes a transaction throws as libpqxx does.
#pragma once

#include <pqxx/transaction_base>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace headgate::store {

inline constexpr int kSchemaVersion = 2;

struct SchemaVersion {
  int version = 0;     // 0: there is none, or it is half made
  int works_with = 0;  // servers that know this version, or a later one
};

SchemaVersion ReadSchemaVersion(pqxx::transaction_base& work);

// FailedPrecondition, with what to do, where a server that knows `known` may not use it.
absl::Status CheckSchemaVersion(const SchemaVersion& schema, int known = kSchemaVersion);

// What leads from one version to the next. All of it is harmless if repeated.
struct SchemaStep {
  std::string sql;
  int works_with = 0;  // see SchemaVersion
};
const std::vector<SchemaStep>& SchemaSteps();

// Takes the steps that are missing; those before `schema.version` have been taken. The schema
// itself may be there, made by an operator for a role that may not make one.
void Migrate(pqxx::transaction_base& work, const SchemaVersion& schema,
             absl::Span<const SchemaStep> steps);

}  // namespace headgate::store
