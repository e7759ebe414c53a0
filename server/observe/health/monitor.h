// TargetMonitor: keeps a target's health up to date, from polls of its servers.
//
// One thread for each server (the primary, and each standby that has a connection) polls by its
// PollSchedule; the primary's also samples the work. One more thread publishes what becomes true by
// time alone, so that a sample goes stale in time although a poll hangs.
//
// Guarantees:
// - Every profile has a verdict from Start on (warming), and a new one with each poll's end, at the
//   moment when a sample goes stale, and at the expiry of a standby that is set aside. A breach is
//   published one poll interval and the poll itself after it, at most.
// - The first Check of an idle target wakes the polls, and is not denied for the age of a sample
//   that was due later. A target that somebody waits for is not idle.
// - Reconfigure closes no connection and forgets no sample that still means the same.
// - Stop returns as soon as the running polls do, which Probe::Cancel makes soon.
//
// Thread-safe, but for Start and Stop, which belong to the owner.
//
//   TargetMonitor monitor(spec, {.primary = ..., .standbys = ...}, {.clock = &clock, ...});
//   monitor.Start();
//   book.Set({{spec.target, monitor.activity()}});
//   ...
//   absl::Status same = monitor.Reconfigure(new_spec);  // not ok: make another monitor

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/observe/health/check_activity.h"
#include "server/observe/health/health_sink.h"
#include "server/observe/health/monitor_spec.h"
#include "server/observe/health/probe.h"
#include "server/observe/health/snapshot.h"
#include "server/observe/health/target_watch.h"
#include "server/observe/health/work_listener.h"

namespace headgate::health {

struct MonitorProbes {
  std::unique_ptr<Probe> primary;
  std::vector<std::unique_ptr<Probe>> standbys;  // of those that have a connection, in order
};

// What is pointed to outlives the monitor.
struct MonitorOptions {
  Clock* clock = nullptr;
  HealthSink* sink = nullptr;
  WorkListener* work = nullptr;  // null: the work is not sampled
  uint64_t seed = 0;             // of the jitter
  // Whether somebody who asked before waits for this target still, which keeps it from becoming
  // idle. Asked after each poll, on its thread. Null: nobody ever does.
  std::function<bool()> is_awaited = nullptr;
};

class TargetMonitor {
 public:
  // `probes` has one for the primary and each standby with a connection, no more and no less.
  TargetMonitor(MonitorSpec spec, MonitorProbes probes, const MonitorOptions& options);
  ~TargetMonitor() { Stop(); }
  TargetMonitor(const TargetMonitor&) = delete;
  TargetMonitor& operator=(const TargetMonitor&) = delete;

  void Start();
  // No verdict is published, and no listener called, once this returns. Harmless if repeated.
  void Stop();

  // Other profiles, thresholds, intervals, standbys without a connection, or set aside.
  // FailedPrecondition: the connections are others; nothing has changed then.
  absl::Status Reconfigure(MonitorSpec spec) ABSL_LOCKS_EXCLUDED(mutex_);

  TargetSnapshot Snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

  // For the target's next owner, and of its owner before: see TargetWatch.
  HandedSample Hand() const ABSL_LOCKS_EXCLUDED(mutex_);
  void Adopt(const HandedSample& handed) ABSL_LOCKS_EXCLUDED(mutex_);

  // For a CheckActivityBook.
  std::shared_ptr<CheckActivity> activity() const { return activity_; }

 private:
  enum class Step : uint8_t { kStop, kPoll, kSampleWork };

  void Serve(size_t connection);
  Step AwaitStep(size_t connection) ABSL_LOCKS_EXCLUDED(mutex_);
  void Poll(size_t connection) ABSL_LOCKS_EXCLUDED(mutex_);
  void SampleWork() ABSL_LOCKS_EXCLUDED(mutex_);
  void TellWork(const absl::StatusOr<WorkCounters>& sample) ABSL_LOCKS_EXCLUDED(mutex_);
  void PublishInTime() ABSL_LOCKS_EXCLUDED(mutex_);

  void WakeUp() ABSL_LOCKS_EXCLUDED(mutex_);
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until notified, or `at_ns` by the clock; it may return early.
  void WaitUntil(int64_t at_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const MonitorOptions options_;
  const std::vector<std::unique_ptr<Probe>> probes_;  // one for each connection
  const std::shared_ptr<CheckActivity> activity_ = std::make_shared<CheckActivity>();
  std::vector<std::thread> threads_;
  StatementsWish statements_wish_ = StatementsWish::kNow;  // of the primary's thread alone

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  TargetWatch watch_ ABSL_GUARDED_BY(mutex_);
  int64_t valid_until_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace headgate::health
