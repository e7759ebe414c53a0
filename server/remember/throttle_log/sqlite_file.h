// SqliteFile: the throttle log's file as its writer sees it.
//
// Every call is one transaction or several small ones. After an error the names that it remembers
// may be wrong: Forget() them. Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<SqliteFile>> file = SqliteFile::Open(path);
//   absl::Status status = (*file)->Add(rows);
//   status = (*file)->Maintain(retention, now);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/remember/sqlite/database.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/sqlite_names.h"
#include "server/remember/throttle_log/sqlite_table.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

class SqliteFile {
 public:
  // As SqliteStore::Open.
  static absl::StatusOr<std::unique_ptr<SqliteFile>> Open(const std::string& path);

  sqlite::Database& database() { return database_; }

  // All or none.
  absl::Status Add(absl::Span<const Row> rows);

  // A second's work at most of what has to be done.
  absl::Status Maintain(const Retention& retention, absl::Time now);

  void Forget() { names_.Forget(); }

  // Rows, bytes and the oldest step; no status.
  absl::StatusOr<StoreState> Measure();

 private:
  explicit SqliteFile(sqlite::Database database) : database_(std::move(database)) {}

  absl::Status Prepare();
  absl::Status CountRows(int64_t added);
  absl::StatusOr<int64_t> UsedBytes();
  // Where the oldest block of the file begins, in seconds; none: it is empty.
  absl::StatusOr<std::optional<int64_t>> OldestSeconds();
  // Where its oldest step does. It is looked for where other blocks are the oldest than were; of
  // those that are being dropped, a part may be gone already.
  absl::StatusOr<std::optional<int64_t>> OldestStep();

  // These return how many rows they dealt with: about `most`, if there were so many.
  absl::StatusOr<int64_t> DropBefore(SqliteTable& table, int64_t end_s, int64_t most);
  absl::StatusOr<int64_t> Coarsen(const Retention& retention, int64_t end_s, int64_t most);
  absl::StatusOr<int64_t> DropBeyond(int64_t max_bytes, int64_t most);

  absl::StatusOr<int64_t> DropSlice(SqliteTable& table, int64_t block, int64_t most);
  absl::StatusOr<int64_t> CoarsenSlice(const Retention& retention, int64_t block, int64_t most);
  absl::Status DropNames();
  absl::Status GiveSpaceBack();

  sqlite::Database database_;
  std::unique_ptr<SqliteTable> fine_, coarse_;
  SqliteNames names_;
  sqlite::Statement count_;
  int64_t names_dropped_before_ = 0;  // day
  // The oldest blocks, fine and coarse, when the oldest step was looked for.
  std::pair<std::optional<int64_t>, std::optional<int64_t>> oldest_blocks_;
  std::optional<int64_t> oldest_step_s_;
};

}  // namespace headgate::throttle_log
