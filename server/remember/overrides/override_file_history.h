// What a file of overrides keeps of the past, and what its copy does: bounded, so that a change
// takes as long after years as on the first day.
//
// A file keeps the newest kMaxEvents events, and of overrides that have ended those that an event
// is about. Where all of it takes more than kMaxFileBytes, which takes the longest texts, it keeps
// fewer events, and never fewer than kFewestEvents. A copy has all overrides that are in force, and
// the newest kEventsInCopy events: it is written anew after each change.
//
// Functions of a database, thread-compatible as that is.
//
//   absl::Status status = MakeTables(database, "main");
//   status = TrimHistory(database);  // in the transaction of each change
//   status = FillCopy(database);     // the database "copy" is attached
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "server/remember/overrides/store.h"
#include "server/remember/sqlite/database.h"

namespace headgate::overrides {

inline constexpr int64_t kFewestEvents = 1'000;
inline constexpr int64_t kMaxFileBytes = int64_t{16} << 20;
inline constexpr int64_t kEventsInCopy = 200;

// In an empty database, `schema` being its name within the connection.
absl::Status MakeTables(sqlite::Database& database, std::string_view schema);
// What files of the first Headgates lack.
absl::Status MakeLaterTables(sqlite::Database& database, std::string_view schema);

// Forgets what is beyond the bounds. The highest number of an override and the newest event stay,
// from which the next ones follow.
absl::Status TrimHistory(sqlite::Database& database);
// Likewise, of a file that was just opened: also what an earlier version has left there.
absl::Status TrimAll(sqlite::Database& database);
// Gives back the room of what was forgotten, where that is most of the file. Outside a transaction.
absl::Status ShrinkFile(sqlite::Database& database);

absl::Status FillCopy(sqlite::Database& database);

}  // namespace headgate::overrides
