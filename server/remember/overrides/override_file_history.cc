#include "server/remember/overrides/override_file_history.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "common/strings.h"

namespace headgate::overrides {
namespace {

// $0 the database
constexpr char kTables[] = R"(
  CREATE TABLE $0.overrides (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    identity TEXT NOT NULL,
    segment TEXT NOT NULL,
    target TEXT NOT NULL,
    ratio REAL NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at_ns INTEGER NOT NULL,
    expires_at_ns INTEGER,  -- NULL: never
    ended INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX $0.overrides_open ON overrides (id) WHERE ended = 0;
  CREATE TABLE $0.events (
    id INTEGER PRIMARY KEY,
    happened_at_ns INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    override_id INTEGER NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL
  ) STRICT;
  CREATE INDEX $0.events_of_override ON events (override_id, id);
)";
// Events that concern no override, whose id is 0, say what was done. A table of its own, so that a
// Headgate that knows nothing of it can go on with the file: it leaves out these events.
constexpr char kLaterTables[] = R"(
  CREATE TABLE IF NOT EXISTS $0.changes (
    event_id INTEGER PRIMARY KEY,
    change TEXT NOT NULL
  ) STRICT;
)";

// $0 the newest event that goes. Those that concern overrides that are in force go as well.
constexpr char kForget[] = R"(
  DELETE FROM overrides WHERE ended = 1
    AND id IN (SELECT override_id FROM events WHERE id <= $0)
    AND NOT EXISTS (SELECT 1 FROM events e WHERE e.override_id = overrides.id AND e.id > $0)
    AND id < (SELECT max(id) FROM overrides);
  DELETE FROM changes WHERE event_id <= $0;
  DELETE FROM events WHERE id <= $0;
)";
constexpr char kForgetUntold[] = R"(
  DELETE FROM overrides WHERE ended = 1
    AND NOT EXISTS (SELECT 1 FROM events e WHERE e.override_id = overrides.id)
    AND id < (SELECT max(id) FROM overrides);
)";

// $0 how many events
constexpr char kFill[] = R"(
  INSERT INTO copy.events SELECT * FROM main.events ORDER BY id DESC LIMIT $0;
  INSERT INTO copy.changes SELECT * FROM main.changes
    WHERE event_id IN (SELECT id FROM copy.events);
  INSERT INTO copy.overrides SELECT * FROM main.overrides WHERE ended = 0
    OR id IN (SELECT override_id FROM copy.events)
    OR id = (SELECT max(id) FROM main.overrides);
)";

// So many events more go at a time where the file is too large.
constexpr int64_t kEventsAtATime = 500;
// Below so many pages nothing is worth giving back.
constexpr int64_t kSmallPages = 512;

absl::StatusOr<int64_t> UsedBytes(sqlite::Database& database) {
  return database.QueryInt(
      "SELECT (page_count - freelist_count) * page_size"
      " FROM pragma_page_count, pragma_freelist_count, pragma_page_size");
}

// Whether there was something to forget.
absl::StatusOr<bool> Trim(sqlite::Database& database) {
  const absl::StatusOr<int64_t> first =
      database.QueryInt("SELECT coalesce(min(id), 1) FROM events");
  const absl::StatusOr<int64_t> last = database.QueryInt("SELECT coalesce(max(id), 0) FROM events");
  const absl::StatusOr<int64_t> bytes = UsedBytes(database);
  for (const auto* each : {&first, &last, &bytes}) {
    if (!each->ok()) return each->status();
  }
  int64_t newest_to_go = *last - kMaxEvents;
  if (*bytes > kMaxFileBytes) newest_to_go = std::max(newest_to_go, *first + kEventsAtATime - 1);
  newest_to_go = std::min(newest_to_go, *last - kFewestEvents);
  if (newest_to_go < *first) return false;
  if (absl::Status forgot = database.Run(absl::Substitute(kForget, newest_to_go)); !forgot.ok())
    return forgot;
  return true;
}

}  // namespace

absl::Status MakeTables(sqlite::Database& database, std::string_view schema) {
  return database.Run(absl::Substitute(kTables, Sv(schema)));
}

absl::Status MakeLaterTables(sqlite::Database& database, std::string_view schema) {
  return database.Run(absl::Substitute(kLaterTables, Sv(schema)));
}

absl::Status TrimHistory(sqlite::Database& database) { return Trim(database).status(); }

absl::Status TrimAll(sqlite::Database& database) {
  absl::StatusOr<bool> trimmed = true;
  while (trimmed.ok() && *trimmed) trimmed = Trim(database);
  return trimmed.ok() ? database.Run(kForgetUntold) : trimmed.status();
}

absl::Status ShrinkFile(sqlite::Database& database) {
  const absl::StatusOr<int64_t> is_mostly_empty = database.QueryInt(
      absl::StrCat("SELECT page_count > ", kSmallPages, " AND freelist_count * 2 > page_count",
                   " FROM pragma_page_count, pragma_freelist_count"));
  if (!is_mostly_empty.ok()) return is_mostly_empty.status();
  return *is_mostly_empty == 0 ? absl::OkStatus() : database.Run("VACUUM");
}

absl::Status FillCopy(sqlite::Database& database) {
  const absl::StatusOr<int64_t> version = database.QueryInt("PRAGMA main.user_version");
  if (!version.ok()) return version.status();
  absl::Status status = MakeTables(database, "copy");
  if (status.ok()) status = MakeLaterTables(database, "copy");
  if (status.ok()) status = database.Run(absl::Substitute(kFill, kEventsInCopy));
  if (status.ok()) status = database.Run(absl::StrCat("PRAGMA copy.user_version = ", *version));
  return status;
}

}  // namespace headgate::overrides
