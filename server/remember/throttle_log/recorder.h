// What the throttle log remembers of Checks: exact counts, for the writer to collect, and the
// newest denials in full.
//
// Each deciding thread records into counts of its own (thread_counts.h), so that recording costs a
// Check nanoseconds. Memory is fixed: for each thread, 600 bytes for each of max_identities and of
// max_denials, up to 4,096 of those: so many can wait for the next collection. And 8 MiB at most
// for what the newest Checks asked for, and 2.4 MB for what holders of leases have told.
//
// Thread-safe; a ThreadCounts' Record is for its thread alone. They live as long as the recorder.
//
//   Recorder recorder({.seed = seed});
//   ThreadCounts& counts = recorder.AddThread();  // one for each thread
//   recorder.Collect(now, [](const RowKey& key, const Counts& counts) {...});

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/held_bytes.h"
#include "common/mutex.h"
#include "server/decide/line/wait_accounts.h"
#include "server/remember/throttle_log/check_totals.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/store.h"
#include "server/remember/throttle_log/thread_counts.h"
#include "server/remember/throttle_log/told_once.h"
#include "server/remember/throttle_log/wait_totals.h"

namespace headgate::throttle_log {

struct RecorderOptions {
  uint64_t seed = 0;              // secret, different in each process
  size_t max_identities = 16384;  // of each thread; see ThreadCountsOptions
  size_t max_labels = 1024;
  size_t max_denials = 4096;  // the newest of all threads
  int quiet_rounds = 10;
  std::string server = {};  // of all rows
  // Told of Checks that no rule matched, of kMaxTold rows at each collection; null: nobody is. It
  // is called while they are collected, and has to return at once.
  std::function<void(std::string_view identity, int64_t checks)> on_unmatched = nullptr;
};

// One Check that was denied, or would have been.
struct Denial {
  int64_t number = 0;  // counts up from 1; gaps are denials that were overwritten too soon
  absl::Time at;
  std::string identity;
  std::string target;
  Outcome outcome = Outcome::kDenied;
  double predicted_cost = 0;
  Cause cause;
  double observed = 0;  // as Counts::peak and limit
  double limit = 0;
  absl::Duration retry_after;  // infinite: waiting cannot help
  int priority = 0;
};

struct RecorderState {
  int64_t folded_checks = 0;  // counted under a level above their identity
  int64_t slots_used = 0;     // of slots
  int64_t slots = 0;
};

class Recorder {
 public:
  using Take = ThreadCounts::Take;

  static constexpr int kMaxTold = 1000;

  explicit Recorder(const RecorderOptions& options)
      : options_(options), last_(&held_), told_(&held_) {}

  ThreadCounts& AddThread();

  // Where waits are counted: called at each collection, until it is null. From the return on nobody
  // is in the one before.
  using WaitSource =
      std::function<void(Now now, absl::FunctionRef<void(const line::CountedWaits&)> take)>;
  void SetWaitSource(WaitSource source);

  // Hands over all counts since the call before, and what was waited until now. A key may come
  // several times. Call it about once a second: a slot is free for another identity after so many
  // calls without a count.
  void Collect(Now now, Take take);

  // The newest denials of the filter's identity, segment and target that are numbered higher than
  // `after`, the newest first, at most `max_count`. Nothing else of the filter is looked at.
  std::vector<Denial> RecentDenials(const ScanFilter& whose, int64_t after, size_t max_count);

  // What the newest Checks asked for; see last_checks.h.
  std::vector<LastCheck> LastChecksOf(uint64_t subject_key) const { return last_.Of(subject_key); }

  // Which messages of holders of leases are counted.
  ToldOnce& told() { return told_; }

  RecorderState State() const;

  // Sums of all that was collected since the start.
  CheckTotals::All Totals() const;
  WaitTotals::All WaitedInAll() const;

  // The tables of all threads, the denials that are kept, and what a writer adds for the rows that
  // wait in it.
  HeldBytes& held() { return held_; }

 private:
  void CollectWaits(Now now, Take take) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Numbers and keeps what came in from the threads.
  void TakeDenials() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RecorderOptions options_;
  HeldBytes held_;
  LastChecks last_;
  ToldOnce told_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<ThreadCounts>> threads_ ABSL_GUARDED_BY(mutex_);
  std::deque<Denial> denials_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  CheckTotals totals_ ABSL_GUARDED_BY(mutex_);
  WaitTotals wait_totals_ ABSL_GUARDED_BY(mutex_);
  WaitSource wait_source_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::throttle_log
