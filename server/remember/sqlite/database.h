// Database: one connection to a SQLite file in WAL mode.
//
// A file belongs to one process: the connection that writes holds a FileLock, and is the only one
// of its kind. Other threads of the process read through connections of their own, opened kRead,
// which see what was committed when their transaction began, and never wait for the writer.
//
// No exceptions; what SQLite says is in the status (status.h). Thread-compatible, Statements
// included.
//
//   absl::StatusOr<Database> database =
//       Database::Open("/var/lib/headgate/log.db", {.durability = Durability::kFull});
//   absl::Status status = database->Run("CREATE TABLE IF NOT EXISTS people (name TEXT, age INT)");
//   absl::StatusOr<Transaction> transaction = Transaction::Begin(*database);
//   ...
//   status = transaction->Commit();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/remember/sqlite/file_lock.h"
#include "server/remember/sqlite/statement.h"

struct sqlite3;

namespace headgate::sqlite {

enum class Access : uint8_t {
  kWrite,  // and read; makes the file, and takes its lock
  kRead,
  kReadCopy,  // of a file that nobody writes, such as WriteCopy makes; needs no lock, no room
};

// What a commit survives. Both survive the end of the process, however it ends.
enum class Durability : uint8_t {
  kNormal,  // the machine's crash may take the last commits, never a part of one
  kFull,    // it is on the disk before Commit returns
};

struct OpenOptions {
  Access access = Access::kWrite;
  Durability durability = Durability::kNormal;
  absl::Duration busy_timeout = absl::Seconds(1);
  // Pages that are free can be given back by PRAGMA incremental_vacuum. Of a new file only.
  bool incremental_vacuum = false;
};

// What SQLite holds of this process's memory, for all of its databases, as it counts it itself.
int64_t MemoryBytes();

class Database {
 public:
  // ":memory:" is a database of its own for each connection. Unavailable, DataLoss,
  // ResourceExhausted; FailedPrecondition where a pipe, a device or a folder has the file's name.
  static absl::StatusOr<Database> Open(const std::string& path, const OpenOptions& options);

  Database(Database&&) = default;
  Database& operator=(Database&&) = default;

  // One or several statements without parameters; rows are passed over.
  absl::Status Run(const std::string& sql);
  absl::StatusOr<Statement> Prepare(std::string_view sql);
  // Each into its place, until one fails.
  absl::Status PrepareAll(std::initializer_list<std::pair<Statement*, std::string_view>> all);
  // The first column of the first row; NotFound if there is no row.
  absl::StatusOr<int64_t> QueryInt(std::string_view sql);

  // Becomes what the other one is now. Outside transactions of both.
  absl::Status TakeAllOf(Database& other);

  // Rows that the last INSERT, UPDATE or DELETE changed.
  int64_t changes() const;
  bool in_transaction() const;
  const std::string& path() const { return *path_; }

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  Database(std::string path, FileLock lock)
      : path_(std::make_unique<std::string>(std::move(path))), lock_(std::move(lock)) {}

  absl::Status Connect(const OpenOptions& options);
  absl::Status SetUp(const OpenOptions& options);
  absl::Status ErrorOf(int code) const;

  std::unique_ptr<const std::string> path_;  // statements point to it
  FileLock lock_;                            // goes after the connection
  std::unique_ptr<sqlite3, Closer> database_;
};

// Rolls back at its end, unless it was committed. The database outlives it.
class Transaction {
 public:
  // One that writes takes the lock at once, not in its middle.
  static absl::StatusOr<Transaction> Begin(Database& database, Access access = Access::kWrite);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;

  // On an error it is rolled back.
  absl::Status Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}

  Database* database_;
};

}  // namespace headgate::sqlite
