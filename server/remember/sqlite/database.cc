#include "server/remember/sqlite/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/remember/sqlite/status.h"

namespace headgate::sqlite {
namespace {

// SQLite would let everybody read what it makes; its other files get the same mode.
void MakePrivate(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);  // else SQLite says why
}

// SQLite waits for whoever writes to a pipe, and may make something of a device.
absl::Status AreFiles(const std::string& path) {
  for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::string name = path + suffix;
    struct stat about = {};
    if (stat(name.c_str(), &about) != 0 || S_ISREG(about.st_mode)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is a ", S_ISDIR(about.st_mode) ? "folder" : "pipe or a device",
                     ", where there should be a file: move it away"));
  }
  return absl::OkStatus();
}

std::string UriEscaped(const std::string& path) {
  return absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}});
}

}  // namespace

// Statements may still be there: the last one of them closes it.
void Database::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

absl::Status Database::ErrorOf(int code) const {
  return StatusOf(code, *path_, database_ == nullptr ? "" : sqlite3_errmsg(database_.get()));
}

absl::StatusOr<Database> Database::Open(const std::string& path, const OpenOptions& options) {
  FileLock lock;
  if (path != ":memory:") {
    if (absl::Status files = AreFiles(path); !files.ok()) return files;
  }
  if (options.access == Access::kWrite && path != ":memory:") {
    absl::StatusOr<FileLock> taken = FileLock::Take(path);
    if (!taken.ok()) return taken.status();
    lock = *std::move(taken);
  }
  if (options.access == Access::kWrite && path != ":memory:") MakePrivate(path);
  Database database(path, std::move(lock));
  absl::Status status = database.Connect(options);
  if (status.ok()) status = database.SetUp(options);
  if (!status.ok()) return status;
  return database;
}

absl::Status Database::Connect(const OpenOptions& options) {
  const int access = options.access == Access::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                      : SQLITE_OPEN_READONLY;
  const bool is_copy = options.access == Access::kReadCopy;
  const std::string uri = absl::StrCat("file:", UriEscaped(*path_), "?immutable=1");
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(
      is_copy ? uri.c_str() : path_->c_str(), &opened,
      access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (is_copy ? SQLITE_OPEN_URI : 0),
      nullptr);
  database_.reset(opened);
  return ErrorOf(code);
}

absl::Status Database::SetUp(const OpenOptions& options) {
  const int64_t busy_ms = absl::ToInt64Milliseconds(options.busy_timeout);
  absl::Status status = ErrorOf(sqlite3_busy_timeout(database_.get(), static_cast<int>(busy_ms)));
  if (!status.ok() || options.access != Access::kWrite) return status;
  // Before anything else: it is of effect on an empty file only.
  if (options.incremental_vacuum) status = Run("PRAGMA auto_vacuum = INCREMENTAL");
  if (!status.ok()) return status;
  // The WAL is cut back after each checkpoint that emptied it, or it would stay as long as it was
  // once.
  return Run(absl::StrCat(
      "PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 4194304;",
      "PRAGMA synchronous = ", options.durability == Durability::kFull ? "FULL" : "NORMAL"));
}

absl::Status Database::Run(const std::string& sql) {
  return ErrorOf(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

absl::StatusOr<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return ErrorOf(code);
  return Statement(statement, path_.get());
}

absl::Status Database::PrepareAll(
    std::initializer_list<std::pair<Statement*, std::string_view>> all) {
  for (const auto& [statement, sql] : all) {
    absl::StatusOr<Statement> prepared = Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Database::QueryInt(std::string_view sql) {
  absl::StatusOr<Statement> query = Prepare(sql);
  if (!query.ok()) return query.status();
  absl::StatusOr<bool> row = query->Step();
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError(absl::StrCat(*path_, ": there is no such row"));
  return query->Int(0);
}

absl::Status Database::TakeAllOf(Database& other) {
  sqlite3_backup* const backup =
      sqlite3_backup_init(database_.get(), "main", other.database_.get(), "main");
  if (backup == nullptr) return ErrorOf(sqlite3_errcode(database_.get()));
  constexpr int kAllPages = -1;
  sqlite3_backup_step(backup, kAllPages);
  return ErrorOf(sqlite3_backup_finish(backup));  // its code is the step's, where that failed
}

int64_t Database::changes() const { return sqlite3_changes64(database_.get()); }

bool Database::in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

absl::StatusOr<Transaction> Transaction::Begin(Database& database, Access access) {
  absl::Status status = database.Run(access == Access::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
  if (!status.ok()) return status;
  return Transaction(database);
}

// Some errors, such as a full disk, have rolled it back already.
Transaction::~Transaction() {
  if (database_ != nullptr && database_->in_transaction()) database_->Run("ROLLBACK").IgnoreError();
}

absl::Status Transaction::Commit() {
  Database& database = *std::exchange(database_, nullptr);
  absl::Status status = database.Run("COMMIT");
  if (!status.ok() && database.in_transaction()) database.Run("ROLLBACK").IgnoreError();
  return status;
}

int64_t MemoryBytes() { return sqlite3_memory_used(); }

}  // namespace headgate::sqlite
