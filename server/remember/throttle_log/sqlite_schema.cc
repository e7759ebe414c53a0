#include "server/remember/throttle_log/sqlite_schema.h"

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::throttle_log {
namespace {

constexpr int64_t kApplication = 0x48674c67;  // "HgLg", in the file's header
constexpr int64_t kVersion = 3;

constexpr std::string_view kWhos = R"sql(
CREATE TABLE whos (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL, target TEXT NOT NULL, folded INTEGER NOT NULL, server TEXT NOT NULL,
  seen INTEGER NOT NULL,
  UNIQUE (path, target, folded, server)
);
)sql";

// A limit's name is `lim`, as LIMIT is a word of SQL.
constexpr std::string_view kOtherNames = R"sql(
CREATE TABLE whats (
  id INTEGER PRIMARY KEY,
  length INTEGER NOT NULL,
  outcome INTEGER NOT NULL, reason INTEGER NOT NULL, lim INTEGER NOT NULL,
  budget TEXT NOT NULL, rule TEXT NOT NULL, signal TEXT NOT NULL,
  seen INTEGER NOT NULL,
  UNIQUE (length, outcome, reason, lim, budget, rule, signal)
);
CREATE TABLE total (rows INTEGER NOT NULL);
INSERT INTO total VALUES (0);
)sql";

// To version 2, which knows servers.
constexpr std::string_view kSetAside = "ALTER TABLE whos RENAME TO whos_of_version_1;";
constexpr std::string_view kTakeOver = R"sql(
INSERT INTO whos SELECT id, path, target, folded, '', seen FROM whos_of_version_1;
DROP TABLE whos_of_version_1;
)sql";

// To version 3, which knows waits.
constexpr std::string_view kAddWaits = R"sql(
ALTER TABLE fine ADD COLUMN waits TEXT;
ALTER TABLE coarse ADD COLUMN waits TEXT;
)sql";

std::string RowsSql(const TableSpec& table) {
  return absl::StrCat("CREATE TABLE ", Sv(table.name),
                      " (block INTEGER, who INTEGER, step INTEGER, what INTEGER,"
                      " checks INTEGER, cost REAL, peak REAL, lim REAL, waits TEXT,"
                      " PRIMARY KEY (block, who, step, what)) WITHOUT ROWID;");
}

// All of it or nothing.
absl::Status RunWhole(sqlite::Database& database, const std::string& sql) {
  absl::StatusOr<sqlite::Transaction> transaction = sqlite::Transaction::Begin(database);
  if (!transaction.ok()) return transaction.status();
  if (absl::Status status = database.Run(sql); !status.ok()) return status;
  return transaction->Commit();
}

absl::Status Make(sqlite::Database& database) {
  return RunWhole(database, absl::StrCat(Sv(kWhos), Sv(kOtherNames), RowsSql(kFine),
                                         RowsSql(kCoarse), "PRAGMA application_id = ", kApplication,
                                         "; PRAGMA user_version = ", kVersion));
}

absl::Status Upgrade(sqlite::Database& database, int64_t from) {
  std::string sql;
  if (from < 2) absl::StrAppend(&sql, Sv(kSetAside), Sv(kWhos), Sv(kTakeOver));
  absl::StrAppend(&sql, Sv(kAddWaits), "PRAGMA user_version = ", kVersion);
  return RunWhole(database, sql);
}

// Makes the schema in an empty file; refuses one that this program did not make.
absl::Status EnsureSchema(sqlite::Database& database) {
  absl::StatusOr<int64_t> tables = database.QueryInt("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  if (*tables == 0) return Make(database);
  absl::StatusOr<int64_t> application = database.QueryInt("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kApplication) {
    return absl::DataLossError(absl::StrCat(
        database.path(), ": a database of another program; move it aside or name another file"));
  }
  absl::StatusOr<int64_t> version = database.QueryInt("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version == kVersion) return absl::OkStatus();
  if (*version >= 1 && *version < kVersion) return Upgrade(database, *version);
  return absl::FailedPreconditionError(
      absl::StrCat(database.path(), ": written by a newer Headgate (version ", *version,
                   " of the throttle log; this one knows ", kVersion,
                   "); run that one, or move the file aside"));
}

}  // namespace

absl::StatusOr<sqlite::Database> OpenLogDatabase(const std::string& path) {
  absl::StatusOr<sqlite::Database> database =
      sqlite::Database::Open(path, {.incremental_vacuum = true});
  if (!database.ok()) return database.status();
  absl::Status status = EnsureSchema(*database);
  // Enough for the pages of a block with thousands of identities.
  if (status.ok()) status = database->Run("PRAGMA cache_size = -16384");
  if (!status.ok()) return status;
  return database;
}

}  // namespace headgate::throttle_log
