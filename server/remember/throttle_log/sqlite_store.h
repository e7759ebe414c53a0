// SqliteStore: the throttle log in one SQLite file of this process alone.
//
// A batch is one transaction: it survives the end of the process as soon as Append has returned,
// and a crash of the machine may take the last ones, never a part of one. Scans read beside the
// writer through connections of their own. How rows lie in the file: sqlite_schema.h.
//
// Retention and the size cap drop whole blocks: a coarse row may stay up to six hours longer than
// retention says. The file is kept below max_bytes, apart from its write-ahead log of some
// megabytes.
//
// A file that turns out to be corrupt while it is read or written fails Append with DataLoss until
// the next Maintain, which sets it aside and starts anew. One that cannot be opened (a full disk)
// fails Append, which tries again each time.
//
// Thread-safe as Store is. With ":memory:" a scan is of a copy, which takes as much memory again as
// the log, and Append waits only while that is made; one scan at a time.
//
//   SqliteStore::Opened opened =
//       SqliteStore::OpenAnyway("/var/lib/headgate/throttle_log.db", retention, now);
//   absl::Status status = opened.store->Append(rows, /*batch=*/1);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "server/remember/sqlite/database.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/sqlite_file.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

class SqliteStore final : public Store {
 public:
  // Makes the file if there is none, in a folder that there is. ":memory:" is kept by no file.
  // DataLoss (corrupt, or not Headgate's), FailedPrecondition (a newer Headgate's), and those of
  // sqlite::Database::Open.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path,
                                                           const Retention& retention);

  struct Opened {
    std::unique_ptr<SqliteStore> store;
    std::string set_aside;  // where that file is now which was damaged; empty: it was not
    absl::Status why;       // it was, or the store is not open yet
  };
  // Open, but a file that is DataLoss is renamed to PATH.corrupt-SECONDS and another one begun, and
  // whatever else is wrong is left to Append.
  static Opened OpenAnyway(const std::string& path, const Retention& retention, absl::Time now);

  absl::Status Append(absl::Span<const Row> rows, int64_t batch) override;
  absl::Status Scan(const ScanFilter& filter,
                    absl::FunctionRef<bool(const Row&)> visit) const override;
  absl::Status Maintain(absl::Time now) override;
  StoreState State() const override;

 private:
  using Readers = std::vector<std::unique_ptr<sqlite::Database>>;

  SqliteStore(std::string path, const Retention& retention);

  absl::Status Write(absl::FunctionRef<absl::Status(SqliteFile&)> change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  absl::Status OpenFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  // Where the file is now.
  absl::StatusOr<std::string> SetAside(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  void Publish(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  absl::StatusOr<std::unique_ptr<sqlite::Database>> TakeReader() const;
  // Of ":memory:".
  absl::Status ScanCopy(absl::FunctionRef<absl::Status(sqlite::Database&)> scan) const
      ABSL_LOCKS_EXCLUDED(copying_, writing_);

  const std::string path_;
  const Retention retention_;

  mutable Mutex copying_;  // before writing_: there is one copy at a time
  mutable Mutex writing_;
  std::unique_ptr<SqliteFile> file_ ABSL_GUARDED_BY(writing_);  // null: state_ says why
  // In memory alone: what an Append that failed has written was rolled back, and with the process
  // ends whoever would repeat a batch.
  std::optional<int64_t> last_batch_ ABSL_GUARDED_BY(writing_);

  mutable Mutex mutex_;
  mutable Readers idle_ ABSL_GUARDED_BY(mutex_);
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;  // of the file
  mutable StoreState state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::throttle_log
