// PostgresLogStore: the throttle log in a PostgreSQL database, for those who want SQL over it.
//
// Guarantees, beside those of throttle_log::Store:
// - Every call of Append and Maintain ends within a few times `timeout`, though the server is
//   down, hangs, or holds a lock; the session is then given up, and the next call opens another
//   with the connection string as it is by then.
// - A batch is one transaction with its number in it, so one whose outcome nobody knows is added
//   once when it is repeated: the repetition waits for whatever is left of the first.
// - Several headgated may write into one database; their counts add up.
//
// It works through a connection pooler that lends sessions for a transaction at a time, though it
// is better without; with one that hands out single statements it cannot.
//
// Tables, and what the role needs: log_schema.h. Days are partitions, which retention and the size
// cap drop whole; the newest day stays. A day becomes coarse when all of it is old enough.
//
// Thread-safe as Store is.
//
//   PostgresLogStore store({.dsn = [] { return ReadDsn(); }}, retention, clock);
//   absl::Status status = store.Append(rows, /*batch=*/1);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <pqxx/transaction>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/observe/postgres/connector.h"
#include "server/observe/postgres/log_maintenance.h"
#include "server/observe/postgres/socket_waiter.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::postgres {

class Session;

struct PostgresLogStoreOptions {
  // The connection string, as libpq takes it. It must not block.
  std::function<absl::StatusOr<std::string>()> dsn = {};
  // For one transaction, and for connecting.
  absl::Duration timeout = absl::Seconds(5);
  // For one step of a query: the first one, or the next rows.
  absl::Duration scan_timeout = absl::Seconds(30);
  // Told at each connect of the session that writes what is worth knowing of the connection, such
  // as that it leads through a pooler; empty: nothing. May be left out.
  std::function<void(const std::string&)> on_note = {};
};

class PostgresLogStore final : public throttle_log::Store {
 public:
  // Connects at the first call. The clock outlives it.
  PostgresLogStore(PostgresLogStoreOptions options, const throttle_log::Retention& retention,
                   Clock& clock);
  ~PostgresLogStore() override;

  absl::Status Append(absl::Span<const throttle_log::Row> rows, int64_t batch) override;
  absl::Status Scan(const throttle_log::ScanFilter& filter,
                    absl::FunctionRef<bool(const throttle_log::Row&)> visit) const override;
  // Rows and bytes in State() are of the last Maintain.
  absl::Status Maintain(absl::Time now) override;
  throttle_log::StoreState State() const override;

 private:
  using SessionPtr = std::unique_ptr<Session>;

  absl::StatusOr<SessionPtr> Connect(absl::Duration limit) const;
  // One transaction of the writing session, which does not outlive a failure.
  absl::Status Write(absl::FunctionRef<void(pqxx::work&)> work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  absl::Status EnsureWriter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  absl::Status AppendOnce(absl::Span<const throttle_log::Row> rows, int64_t batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  absl::Status MaintainOnce(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  absl::Status Measure() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  void Publish(const absl::Status& status) const;
  void Note(const std::string& note) const;

  const PostgresLogStoreOptions options_;
  const throttle_log::Retention retention_;
  Clock& clock_;
  const SocketWaiter waiter_;
  mutable Connector connector_;

  mutable Mutex writing_;
  SessionPtr session_ ABSL_GUARDED_BY(writing_);
  std::optional<int64_t> writer_ ABSL_GUARDED_BY(writing_);  // this run's id among the writers
  KnownOldestStep oldest_ ABSL_GUARDED_BY(writing_);

  mutable Mutex mutex_;
  mutable std::vector<SessionPtr> readers_ ABSL_GUARDED_BY(mutex_);  // idle
  mutable throttle_log::StoreState state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::postgres
