#include "server/observe/health/monitor.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace headgate::health {
namespace {

using PlanStep = PollSchedule::Step;

// A listener that wants more would leave no time for anything else.
constexpr absl::Duration kLeastWorkWait = absl::Milliseconds(1);

// What a condition variable lets go of while it waits. The thread analysis does not follow it
// there, and need not: it is locked again when the wait is over.
class WaitLock {
 public:
  explicit WaitLock(Mutex* mutex) : mutex_(mutex) {}
  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_->Lock(); }
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_->Unlock(); }

 private:
  Mutex* const mutex_;
};

std::vector<std::unique_ptr<Probe>> InOrder(MonitorProbes probes) {
  std::vector<std::unique_ptr<Probe>> all;
  all.push_back(std::move(probes.primary));
  for (std::unique_ptr<Probe>& standby : probes.standbys) all.push_back(std::move(standby));
  return all;
}

PollSchedule::Options ScheduleOptions(const MonitorOptions& options) {
  return {.seed = options.seed,
          .samples = options.work == nullptr ? PollSchedule::Samples::kSignals
                                             : PollSchedule::Samples::kSignalsAndWork};
}

// Whether the next call has to connect again.
bool LosesConnection(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

}  // namespace

TargetMonitor::TargetMonitor(MonitorSpec spec, MonitorProbes probes, const MonitorOptions& options)
    : options_(options),
      probes_(InOrder(std::move(probes))),
      watch_(std::move(spec), ScheduleOptions(options), options.clock->Read()) {
  MutexLock lock(&mutex_);
  assert(probes_.size() == watch_.connections());
}

void TargetMonitor::Start() {
  {
    MutexLock lock(&mutex_);
    Publish();
  }
  activity_->SetWaker([this] { WakeUp(); });
  for (size_t i = 0; i < probes_.size(); ++i) threads_.emplace_back([this, i] { Serve(i); });
  threads_.emplace_back([this] { PublishInTime(); });
}

void TargetMonitor::Stop() {
  activity_->SetWaker(nullptr);
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (const std::unique_ptr<Probe>& probe : probes_) probe->Cancel();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

absl::Status TargetMonitor::Reconfigure(MonitorSpec spec) {
  MutexLock lock(&mutex_);
  absl::Status status = watch_.Reconfigure(std::move(spec), options_.clock->Read());
  if (!status.ok()) return status;
  Publish();
  changed_.notify_all();
  return absl::OkStatus();
}

TargetSnapshot TargetMonitor::Snapshot() const {
  MutexLock lock(&mutex_);
  return watch_.Snapshot();
}

HandedSample TargetMonitor::Hand() const {
  MutexLock lock(&mutex_);
  return watch_.Hand(options_.clock->Read());
}

void TargetMonitor::Adopt(const HandedSample& handed) {
  MutexLock lock(&mutex_);
  if (stopping_) return;
  watch_.Adopt(handed, options_.clock->Read());
  Publish();
  changed_.notify_all();
}

void TargetMonitor::WakeUp() {
  MutexLock lock(&mutex_);
  watch_.NoteChecks(options_.clock->Read());
  changed_.notify_all();
}

void TargetMonitor::Publish() {
  const int64_t before_ns =
      std::exchange(valid_until_ns_, watch_.Evaluate(options_.clock->Read(), *options_.sink));
  if (valid_until_ns_ < before_ns) changed_.notify_all();
}

void TargetMonitor::WaitUntil(int64_t at_ns) {
  // Notifications end a wait that has to be shorter.
  constexpr int64_t kLongestNs = int64_t{60} * 1'000'000'000;
  const int64_t wait_ns = std::min(at_ns - options_.clock->Read().monotonic_ns, kLongestNs);
  WaitLock lock(&mutex_);
  if (wait_ns > 0) changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
}

void TargetMonitor::Serve(size_t connection) {
  while (true) {
    switch (AwaitStep(connection)) {
      case Step::kStop:
        return;
      case Step::kPoll:
        Poll(connection);
        break;
      case Step::kSampleWork:
        SampleWork();
        break;
    }
  }
}

TargetMonitor::Step TargetMonitor::AwaitStep(size_t connection) {
  MutexLock lock(&mutex_);
  while (!stopping_) {
    const PollSchedule::Next next =
        watch_.schedule(connection).NextStep(options_.clock->Read().monotonic_ns);
    if (next.step == PlanStep::kPoll) return Step::kPoll;
    if (next.step == PlanStep::kWork) return Step::kSampleWork;
    WaitUntil(next.at_ns);
  }
  return Step::kStop;
}

void TargetMonitor::Poll(size_t connection) {
  const Now started = options_.clock->Read();
  PollSchedule::Poll poll;
  {
    MutexLock lock(&mutex_);
    poll = watch_.schedule(connection).BeginPoll(started.monotonic_ns);
  }
  std::vector<SignalQuery> queries;
  for (const PlannedQuery& planned : poll.queries) queries.push_back(planned.query);
  const absl::StatusOr<std::vector<Reading>> result = probes_[connection]->Poll(queries);
  const Now ended = options_.clock->Read();
  const bool awaited = options_.is_awaited != nullptr && options_.is_awaited();
  {
    MutexLock lock(&mutex_);
    if (stopping_) return;
    watch_.NoteAwaited(awaited, ended);
    if (awaited) changed_.notify_all();  // other servers of an idle target are polled sooner
    watch_.EndPoll(connection, poll, result, started.monotonic_ns, ended);
    watch_.NoteServer(connection, probes_[connection]->Note());
    activity_->Rearm();
    Publish();
  }
  if (connection == 0 && options_.work != nullptr && !result.ok()) TellWork(result.status());
}

void TargetMonitor::SampleWork() {
  const absl::StatusOr<WorkCounters> sample = probes_[0]->SampleWork(statements_wish_);
  {
    MutexLock lock(&mutex_);
    if (stopping_) return;
    if (LosesConnection(sample.status())) {
      watch_.schedule(0).WorkFailed(options_.clock->Read().monotonic_ns);
    }
  }
  TellWork(sample);
}

void TargetMonitor::TellWork(const absl::StatusOr<WorkCounters>& sample) {
  const Now now = options_.clock->Read();
  uint64_t plan = 0;
  {
    MutexLock lock(&mutex_);
    plan = watch_.schedule(0).plan();
  }
  // Meanwhile a reload may make another plan, of which this answer says nothing.
  const WorkWish wish = options_.work->OnWork(sample, now);
  statements_wish_ = wish.statements;
  const absl::Duration wait = std::max(wish.after, kLeastWorkWait);
  MutexLock lock(&mutex_);
  watch_.schedule(0).WantWork(plan, wait == absl::InfiniteDuration()
                                        ? PollSchedule::kNever
                                        : now.monotonic_ns + absl::ToInt64Nanoseconds(wait));
}

void TargetMonitor::PublishInTime() {
  MutexLock lock(&mutex_);
  while (!stopping_) {
    if (options_.clock->Read().monotonic_ns >= valid_until_ns_) {
      Publish();
    } else {
      WaitUntil(valid_until_ns_);
    }
  }
}

}  // namespace headgate::health
