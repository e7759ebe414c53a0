// What is done about a damaged database: a second file with all that it held takes its place, and
// whatever does, the damaged one is kept for whoever wants to know.
//
// The copy is whole or not there: it is written under another name, brought to the disk, and
// renamed. It needs no write-ahead log beside it, so that it can be read where nothing can be
// written. Time and space grow with what is written into it. Thread-compatible.
//
//   absl::Status status = WriteCopy(database, "/var/lib/headgate/overrides.db.copy", fill);
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/remember/sqlite/database.h"

namespace headgate::sqlite {

// Makes tables in an empty database, which the connection has as "copy", and fills them.
using FillCopy = absl::FunctionRef<absl::Status(Database&)>;

// Outside a transaction. On an error what was at `path` is still there. ResourceExhausted,
// PermissionDenied, Unavailable.
absl::Status WriteCopy(Database& database, const std::string& path, FillCopy fill);

// All of it, in a database in memory of its own. Of one in memory that is as fast as memory is
// copied. ResourceExhausted, Unavailable.
absl::StatusOr<Database> CopyToMemory(Database& database);

// Renames a database, which is closed, to PATH.corrupt-SECONDS, its write-ahead log too. Returns
// that name; empty: there was no such file.
absl::StatusOr<std::string> SetAside(const std::string& path, absl::Time now);

// Puts the copy where the database was, and sets that aside; returns as SetAside. Unavailable,
// ResourceExhausted; then the copy is still there.
absl::StatusOr<std::string> RestoreCopy(const std::string& copy, const std::string& path,
                                        absl::Time now);

}  // namespace headgate::sqlite
