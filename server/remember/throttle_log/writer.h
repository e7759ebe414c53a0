// Brings what the recorder counts into the store, once a second.
//
// Two threads: one collects, so that counts fall into the right step however slow the store is; the
// other appends. Counts wait in between, those of one step and key added up, and where too many
// wait for a store that is down, more are dropped, and counted. After an error nobody knows whether
// a batch got through: it is appended again, with its number, until it succeeds, and what comes
// meanwhile waits beside it. The store is maintained about once a minute, and at once where it is
// corrupt.
//
// Counts belong to the step in which they are collected. Rounds are a little before each whole
// second of the wall clock, so that a step ends with the round that ends it. A wall clock that
// jumps moves counts to other steps; it loses and doubles none.
//
// Thread-safe. Start and Stop are called once each, or never.
//
//   Writer writer(recorder, store, clock, {.step = absl::Seconds(10)});
//   writer.Start();
//   ...
//   writer.Stop();  // after the last Check

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/held_bytes.h"
#include "common/mutex.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/remember/throttle_log/row_buffer.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

struct WriterOptions {
  absl::Duration step = absl::Seconds(10);  // the store's
  size_t max_buffered_rows = 200'000;       // about 300 bytes each
  size_t max_batch_rows = 20'000;
  absl::Duration maintain_every = absl::Minutes(1);
  // Called when the store stops taking batches, and when it takes them again, with what became of
  // the newest. On the thread that appends; it must not call the writer.
  std::function<void(const absl::Status&)> on_change = nullptr;
};

struct WriterState {
  absl::Status status;        // of the newest write
  int64_t rows_written = 0;   // appended, whatever the store makes of them
  int64_t rows_buffered = 0;  // wait
  int64_t rows_dropped = 0;   // because too many waited, or the store was down at the end
  int64_t checks_dropped = 0;
};

class Writer {
 public:
  // All outlive the writer.
  Writer(Recorder& recorder, Store& store, Clock& clock, const WriterOptions& options);
  // Stops.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void Start();
  // Collects and appends what is left, if the store takes it; what it does not take is dropped.
  // Returns when calls to the store have.
  void Stop();

  // Collects, and appends all that waits: what the threads do in a second.
  void Round(Now now);

  // For whoever reads the store next: collects now, and returns when all that waits was given to
  // the store, or after so long. Thread-safe, and may be called as often as anybody reads.
  void CatchUp(absl::Duration patience);

  // Checks in rows that the filter takes and that a read of the store lacks: it is slow, full or
  // down, or they came after CatchUp.
  int64_t ChecksWaiting(const ScanFilter& filter) const ABSL_NO_THREAD_SAFETY_ANALYSIS;

  WriterState State() const;

 private:
  void Collect(Now now);
  void Append(Now now) ABSL_LOCKS_EXCLUDED(store_mutex_);
  // Whether there is more to append.
  bool AppendBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_mutex_);
  void NoteAppended(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_mutex_);
  // If it is time.
  void Maintain(Now now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_mutex_);
  void DropRest();
  // Tells the recorder's count how much waits.
  void CountHeld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void CollectLoop();
  void AppendLoop();
  // False: stop.
  bool WaitUntilWholeSecond();

  Recorder& recorder_;
  Store& store_;
  Clock& clock_;
  const WriterOptions options_;

  Mutex store_mutex_;  // held while the store is called
  // Not known to be stored. Changed only with both mutexes held, so that either is enough to read.
  std::vector<Row> batch_ ABSL_GUARDED_BY(store_mutex_);
  int64_t batch_number_ ABSL_GUARDED_BY(store_mutex_);
  absl::Time maintain_at_ ABSL_GUARDED_BY(store_mutex_) = absl::InfinitePast();

  mutable Mutex mutex_;  // after store_mutex_
  RowBuffer buffer_ ABSL_GUARDED_BY(mutex_);
  size_t batch_rows_ ABSL_GUARDED_BY(mutex_) = 0;  // of batch_
  WriterState state_ ABSL_GUARDED_BY(mutex_);
  HeldBytes::Share held_ ABSL_GUARDED_BY(mutex_);

  // Of the threads. A standard mutex, as condition variables take it; it guards what follows.
  std::mutex threads_mutex_;
  std::condition_variable changed_;
  bool running_ = false;
  bool stopping_ = false;
  int64_t rounds_ = 0;    // collected
  int64_t appended_ = 0;  // of these, given to the store
  std::thread collecting_;
  std::thread appending_;
};

}  // namespace headgate::throttle_log
