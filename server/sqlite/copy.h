// A second file with all that a database holds, in case the first one is damaged.
//
// The copy is whole or not there: it is written under another name, brought to the disk, and
// renamed. It needs no write-ahead log beside it, so that it can be read where nothing can be
// written. Time and space grow with the database. Thread-compatible.
//
//   absl::Status status = WriteCopy(database, "/var/lib/headgate/overrides.db.copy");
#ifndef HEADGATE_SERVER_SQLITE_COPY_H_
#define HEADGATE_SERVER_SQLITE_COPY_H_

#include <string>

#include "absl/status/status.h"
#include "server/sqlite/database.h"

namespace headgate::sqlite {

// Outside a transaction. On an error what was at `path` is still there. ResourceExhausted,
// PermissionDenied, Unavailable.
absl::Status WriteCopy(Database& database, const std::string& path);

// Puts the copy where the database was, which is closed: what is at `path` now, if anything, is
// renamed to `aside`, its write-ahead log too. Unavailable, ResourceExhausted; then the copy is
// still there.
absl::Status RestoreCopy(const std::string& copy, const std::string& path,
                         const std::string& aside);

}  // namespace headgate::sqlite

#endif  // HEADGATE_SERVER_SQLITE_COPY_H_
