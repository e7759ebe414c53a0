// BatchWorkers: a batch job of several workers that walk through a table chunk by chunk, each chunk
// one statement and one transaction, and ask before each chunk if they are told whom.
//
// The workers share one cursor, which starts over at the table's end, so that chunks at work do not
// overlap. Serialization failures and deadlocks are tried again; any other error ends the job.
//
// Thread-compatible; Ask is called from the workers' threads.
//
//   ChunkLog log;
//   Pace pace(5'000);
//   BatchOptions options{.dsn = dsn, .table_rows = 2'000'000, .ask = pace.Asker()};
//   absl::StatusOr<std::unique_ptr<BatchWorkers>> batch = BatchWorkers::Start(options, &log);
//   ...
//   absl::Status status = (*batch)->Stop();
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "tests/load/chunk_log.h"
#include "tests/testing/sql_session.h"

namespace headgate::load {

// Leave to do one chunk.
struct Turn {
  // Called when the chunk has ended, with the time that it took; may be empty.
  std::function<void(absl::Duration)> done = nullptr;
  // How large this worker's next chunk should be; 0: as this one.
  int64_t next_rows = 0;
};

// Returns when the worker may do a chunk of so many rows. An error ends the job, but for Cancelled
// once `stop` was requested.
using Ask = std::function<absl::StatusOr<Turn>(int worker, int64_t rows, const std::stop_token&)>;

// Never waits: the job that everybody fears.
Ask Greedy();

// Holds a job to a rate that may be changed while it runs, such as the number that people put into
// their scripts. Thread-safe.
class Pace {
 public:
  // All workers together do so many rows a second, evenly spaced; at 0 they pause. What was not
  // done meanwhile is not made up for.
  explicit Pace(double rows_per_second) { Set(rows_per_second); }
  void Set(double rows_per_second);

  // The pace outlives what it returns.
  Ask Asker();

 private:
  absl::StatusOr<Turn> Wait(int64_t rows, const std::stop_token& stop);

  // Held by the worker whose chunk is next: if all watched the clock, all would wake up for each.
  std::mutex first_;
  std::mutex mutex_;  // guards what follows; of this kind for the condition variable
  std::condition_variable_any changed_;
  double rows_per_second_ = 0;
  int changes_ = 0;
  absl::Time next_;  // when the next chunk may begin
};

// The SQL of one chunk, rows `first` to `last` of a table whose keys count from 1.
using Statement = std::function<std::string(int64_t first, int64_t last)>;

// Fills pgbench_accounts.filler.
std::string AccountsBackfill(int64_t first, int64_t last);

struct BatchOptions {
  std::string dsn = {};
  int workers = 8;
  int64_t table_rows = 0;       // required
  int64_t chunk_rows = 10'000;  // to begin with
  Statement statement = AccountsBackfill;
  Ask ask = Greedy();
};

class BatchWorkers {
 public:
  // Connects all workers, then lets them go. Chunks are added to `log`, which outlives this.
  static absl::StatusOr<std::unique_ptr<BatchWorkers>> Start(const BatchOptions& options,
                                                             ChunkLog* log);
  ~BatchWorkers() { Stop().IgnoreError(); }
  BatchWorkers(const BatchWorkers&) = delete;
  BatchWorkers& operator=(const BatchWorkers&) = delete;

  // What ended the job early, if anything did.
  absl::Status Health() const;

  // Returns when the chunks at work have ended; then as Health().
  absl::Status Stop();

 private:
  BatchWorkers(const BatchOptions& options, ChunkLog* log) : options_(options), log_(log) {}

  void Work(int worker, SqlSession& session, const std::stop_token& stop);
  absl::Status DoChunk(SqlSession& session, int64_t rows, const Turn& turn,
                       const std::stop_token& stop);
  void Fail(const absl::Status& status);

  const BatchOptions options_;
  ChunkLog* const log_;
  std::atomic<int64_t> cursor_{0};
  mutable Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<SqlSession> sessions_;
  std::stop_source stop_;
  std::vector<std::jthread> threads_;  // goes first
};

}  // namespace headgate::load
