#include "client/lease_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/bounded_wait.h"
#include "client/core.h"

namespace headgate::client::internal {
namespace {

using Refusal = LeaseHolder::Refusal;

// However soon a refused piece may come back.
constexpr absl::Duration kShortestPause = absl::Milliseconds(1);

absl::Status TooLate(const LeaseOptions& options, absl::Duration max_wait) {
  return absl::DeadlineExceededError(absl::StrCat(
      options.identity, " got no room in a lease within ", absl::FormatDuration(max_wait)));
}

}  // namespace

LeaseRunner::LeaseRunner(std::shared_ptr<Core> core, const LeaseOptions& options)
    : core_(std::move(core)),
      options_(options),
      holder_(options, core_->jitter()),
      watcher_(core_,
               {.identity = options.identity,
                .target = options.target,
                .pattern = options.pattern,
                .tags = options.tags},
               [this](uint64_t state) { OnState(state); }),
      thread_([this] { Run(); }) {}

int64_t LeaseRunner::Now() const { return core_->options().time->NowNanos(); }

// The thread is woken once for each time that it has something to do.
void LeaseRunner::Signal(int64_t now_ns) {
  if (signalled_ || holder_.NextLook(now_ns) >= look_at_ns_) return;
  signalled_ = true;
  work_.notify_one();
}

Admission LeaseRunner::DecideAlone(double cost, Refusal refusal) {
  const std::optional<Answer> answer = core_->DecideAlone(cost);
  if (!answer.has_value()) {
    Admission admission{.reason = Reason::kUnknown, .retry_after = kShortestPause};
    admission.error = unreachable_;
    if (refusal == Refusal::kCounts) holder_.CountAlone(cost, false);
    return admission;
  }
  if (answer->allowed() || refusal == Refusal::kCounts) {
    holder_.CountAlone(cost, answer->allowed());
  }
  return {.admitted = answer->allowed(),
          .reason = answer->reason,
          .retry_after = answer->retry_after,
          .local = true};
}

Admission LeaseRunner::AdmitLocked(double cost, int64_t now_ns, Refusal refusal) {
  Admission admission =
      holder_.IsAlone(now_ns) ? DecideAlone(cost, refusal) : holder_.Admit(cost, now_ns, refusal);
  if (!admission.admitted && holder_.is_asking()) {
    // The thread may stand in line for long.
    holder_.RetireOver(now_ns);
    Return();
  }
  Signal(now_ns);
  return admission;
}

Admission LeaseRunner::Admit(double cost) {
  if (!(cost >= 0 && cost <= kMaxCost)) [[unlikely]] {
    Admission admission;
    admission.error = ValidCost(cost, "cost");
    return admission;
  }
  const int64_t now_ns = Now();
  const std::lock_guard lock(mutex_);
  return AdmitLocked(cost, now_ns, Refusal::kCounts);
}

absl::Status LeaseRunner::WaitLocked(Lock& lock, double cost, int64_t deadline_ns,
                                     const std::stop_token& stop) {
  for (;;) {
    const int64_t now_ns = Now();
    const bool is_last = now_ns >= deadline_ns;
    const Admission admission =
        AdmitLocked(cost, now_ns, is_last ? Refusal::kCounts : Refusal::kWaits);
    if (admission.admitted) return absl::OkStatus();
    const bool waits_for_server =
        absl::IsUnavailable(admission.error) || absl::IsDeadlineExceeded(admission.error);
    if (!admission.error.ok() && !(waits_for_server && core_->WaitsForServer())) {
      return admission.error;
    }
    if (!admission.retry_after.has_value()) {
      if (!is_last) (void)AdmitLocked(cost, now_ns, Refusal::kCounts);
      return absl::FailedPreconditionError("refused, and waiting will not change that");
    }
    if (is_last) return absl::DeadlineExceededError("");
    if (stop.stop_requested()) return absl::CancelledError("cancelled before it was admitted");
    const absl::Duration pause = std::max(*admission.retry_after, kShortestPause);
    const absl::Duration left = absl::Nanoseconds(deadline_ns - now_ns);
    room_.wait_for(lock, stop, BoundedWait(std::min(pause, left)), [] { return false; });
  }
}

absl::Status LeaseRunner::Wait(double cost, absl::Duration max_wait, const std::stop_token& stop) {
  if (absl::Status valid = ValidCost(cost, "cost"); !valid.ok()) return valid;
  const absl::Duration most = std::clamp(max_wait, absl::ZeroDuration(), absl::Hours(24) * 365);
  Lock lock(mutex_);
  const int64_t deadline_ns = Now() + absl::ToInt64Nanoseconds(most);
  const auto deadline = deadlines_.insert(deadline_ns);
  holder_.AddWaiter(cost);
  absl::Status status = WaitLocked(lock, cost, deadline_ns, stop);
  holder_.RemoveWaiter(cost);
  deadlines_.erase(deadline);
  if (absl::IsDeadlineExceeded(status) && status.message().empty()) {
    return TooLate(options_, max_wait);
  }
  return status;
}

absl::Status LeaseRunner::Settle(double estimate, const WorkDone& done) {
  if (absl::Status valid = ValidCost(estimate, "estimate"); !valid.ok()) return valid;
  if (absl::Status valid = Valid(done); !valid.ok()) return valid;
  const std::lock_guard lock(mutex_);
  holder_.Settle(estimate, done);
  if (holder_.HasWaiters()) room_.notify_all();
  return absl::OkStatus();
}

void LeaseRunner::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    holder_.Close();
  }
  stop_.request_stop();
  work_.notify_all();
  room_.notify_all();
  watcher_.Stop();
  const std::lock_guard joining(joining_);
  if (!thread_.joinable()) return;
  thread_.join();
  const std::lock_guard lock(mutex_);
  holder_.Close();  // what was granted meanwhile
  Return();
}

LeaseStats LeaseRunner::stats() const {
  const std::lock_guard lock(mutex_);
  return holder_.stats(Now());
}

void LeaseRunner::Return() {
  for (PermitReport& report : holder_.TakeReturns()) core_->reporter().Add(report);
}

void LeaseRunner::OnState(uint64_t state) {
  const std::lock_guard lock(mutex_);
  holder_.OnState(state, Now());
  Return();
  signalled_ = true;
  work_.notify_one();
}

void LeaseRunner::ReturnAgain(const CheckRequest& ask, Answer::Returned returned) {
  if (!ask.lease->returned.has_value()) return;
  const PermitReport& report = *ask.lease->returned;
  if (returned == Answer::Returned::kAgain) core_->reporter().Add(report);
  if (returned != Answer::Returned::kCountsAgain) return;
  if (const auto counts = Reporter::CountsAlone(report)) core_->reporter().Add(*counts);
}

void LeaseRunner::Ask(Lock& lock, CheckRequest ask) {
  const int64_t last_ns = deadlines_.empty() ? 0 : *deadlines_.rbegin();
  // Nobody is kept waiting by an ask in the background: it stands in line in any case, where who
  // only polls would keep a place for itself that others have to wait for.
  const absl::Duration wanted =
      std::max(absl::Nanoseconds(std::max<int64_t>(last_ns - Now(), 0)), options_.time);
  const absl::Duration max_wait = std::min(wanted, std::exchange(ask.max_wait, {}));
  lock.unlock();
  const absl::StatusOr<Answer> answer = core_->AskForLease(ask, max_wait, stop_.get_token());
  lock.lock();
  const int64_t now_ns = Now();
  if (answer.ok()) {
    unreachable_ = absl::OkStatus();
    ReturnAgain(ask, answer->returned);
    holder_.OnAnswer(*answer, now_ns);
  } else {
    const bool unreachable =
        absl::IsUnavailable(answer.status()) || absl::IsDeadlineExceeded(answer.status());
    if (unreachable) unreachable_ = answer.status();
    // It may not have arrived; to say it twice is harmless.
    ReturnAgain(ask, Answer::Returned::kAgain);
    holder_.OnError(answer.status(), unreachable, now_ns);
  }
  room_.notify_all();
}

void LeaseRunner::Run() {
  Lock lock(mutex_);
  while (!closed_) {
    const int64_t now_ns = Now();
    std::optional<CheckRequest> ask = holder_.NextAsk(now_ns);
    Return();
    watcher_.SetActive(!holder_.IsIdle());
    if (ask.has_value()) {
      Ask(lock, *std::move(ask));
      continue;
    }
    look_at_ns_ = holder_.NextLook(now_ns);
    signalled_ = false;
    const absl::Duration pause = absl::Nanoseconds(std::max<int64_t>(look_at_ns_ - now_ns, 0));
    work_.wait_for(lock, stop_.get_token(), BoundedWait(pause), [this] { return signalled_; });
  }
}

}  // namespace headgate::client::internal
