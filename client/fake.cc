#include <headgate/fake.h>
#include <headgate/transport.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace headgate::client {

absl::Duration FakeTime::Now() {
  const std::lock_guard lock(mutex_);
  return now_;
}

void FakeTime::Wait(absl::Duration duration, const std::stop_token& stop) {
  if (stop.stop_requested()) return;
  const std::lock_guard lock(mutex_);
  now_ += duration;
  waits_.push_back(duration);
}

void FakeTime::Advance(absl::Duration by) {
  const std::lock_guard lock(mutex_);
  now_ += by;
}

std::vector<absl::Duration> FakeTime::Waits() const {
  const std::lock_guard lock(mutex_);
  return waits_;
}

absl::Duration FakeTime::Waited() const {
  const std::vector<absl::Duration> waits = Waits();
  return std::accumulate(waits.begin(), waits.end(), absl::ZeroDuration());
}

// What all clients of the fake talk to. It answers at once; see Line.
class FakeHeadgate::Server final {
 public:
  struct Decision {
    absl::StatusOr<Answer> answer;
    bool scripted = false;
  };

  absl::Status Reached() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (network_ == Network::kUp) return absl::OkStatus();
    return absl::UnavailableError("the fake's network is down");
  }
  void Remember(const CheckRequest& request) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    checks_.push_back(request);
  }
  Decision Decide(const CheckRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);
  // What is left of a scripted denial that nobody could wait for any longer.
  void PutBack(const Answer& denial) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    script_.emplace_front(denial);
  }
  std::vector<absl::StatusOr<ReportResult>> Report(absl::Span<const PermitReport> reports)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Waiting waiting() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return waiting_;
  }
  bool grants_leases() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return leases_ == Leases::kGranted;
  }
  void SetLeases(Leases leases) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    leases_ = leases;
  }
  void SetWaiting(Waiting waiting) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    waiting_ = waiting;
  }

  void Script(absl::StatusOr<Answer> answer) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    script_.push_back(std::move(answer));
  }
  void SetHandler(Handler handler) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    handler_ = std::move(handler);
  }
  void SetOverruns(std::vector<Overrun> overruns) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    overruns_ = std::move(overruns);
  }
  void SetUnsettled(std::vector<std::string> budgets) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    unsettled_ = std::move(budgets);
  }
  void SetNetwork(Network network) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    network_ = network;
  }
  void TakeBackLeases() {
    const std::lock_guard lock(state_mutex_);
    ++state_;
    state_changed_.notify_all();
  }
  // Until it is another than is known, or `stop` is requested.
  absl::StatusOr<uint64_t> AwaitState(uint64_t known, const std::stop_token& stop) {
    std::unique_lock lock(state_mutex_);
    state_changed_.wait(lock, stop, [&] { return state_ != known; });
    if (state_ == known) return absl::CancelledError("cancelled before there was an order");
    return state_;
  }
  std::vector<CheckRequest> checks() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return checks_;
  }
  std::vector<PermitReport> reports() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return reports_;
  }
  std::vector<uint64_t> outstanding() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return {outstanding_.begin(), outstanding_.end()};
  }

 private:
  uint64_t state() {
    const std::lock_guard lock(state_mutex_);
    return state_;
  }
  ReportResult Settle(const PermitReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // A std::mutex because a condition variable waits with it.
  std::mutex state_mutex_;
  std::condition_variable_any state_changed_;
  uint64_t state_ = 1;  // guarded by state_mutex_

  mutable Mutex mutex_;
  Network network_ ABSL_GUARDED_BY(mutex_) = Network::kUp;
  Waiting waiting_ ABSL_GUARDED_BY(mutex_) = Waiting::kInServer;
  Leases leases_ ABSL_GUARDED_BY(mutex_) = Leases::kGranted;
  std::deque<absl::StatusOr<Answer>> script_ ABSL_GUARDED_BY(mutex_);
  Handler handler_ ABSL_GUARDED_BY(mutex_) = [](const CheckRequest&) {
    return Answer{.verdict = Verdict::kAllowed};
  };
  std::vector<CheckRequest> checks_ ABSL_GUARDED_BY(mutex_);
  std::vector<PermitReport> reports_ ABSL_GUARDED_BY(mutex_);
  std::vector<Overrun> overruns_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> unsettled_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_permit_ ABSL_GUARDED_BY(mutex_) = 1;
  std::set<uint64_t> outstanding_ ABSL_GUARDED_BY(mutex_);
};

FakeHeadgate::Server::Decision FakeHeadgate::Server::Decide(const CheckRequest& request) {
  std::optional<absl::StatusOr<Answer>> scripted;
  Handler handler;
  const uint64_t granted_in = state();  // whatever is ordered while it is decided
  {
    MutexLock lock(&mutex_);
    if (script_.empty()) {
      handler = handler_;
    } else {
      scripted = std::move(script_.front());
      script_.pop_front();
    }
  }
  // Without the lock, so that the handler may use the fake.
  Decision decision{.answer = scripted.has_value() ? *scripted : handler(request),
                    .scripted = scripted.has_value()};
  absl::StatusOr<Answer>& answer = decision.answer;
  if (!answer.ok() || !answer->allowed() || request.validate_only) return decision;
  MutexLock lock(&mutex_);
  if (!answer->permit_id.has_value()) answer->permit_id = next_permit_++;
  if (!request.lease.has_value() || leases_ == Leases::kUnknown) {
    answer->lease.reset();
  } else if (!answer->lease.has_value()) {
    answer->lease =
        GrantedLease{.amount = request.estimated_cost.value_or(0), .time = request.lease->time};
  }
  if (answer->lease.has_value() && answer->lease->state == 0) answer->lease->state = granted_in;
  outstanding_.insert(*answer->permit_id);
  return decision;
}

std::vector<absl::StatusOr<ReportResult>> FakeHeadgate::Server::Report(
    absl::Span<const PermitReport> reports) {
  MutexLock lock(&mutex_);
  std::vector<absl::StatusOr<ReportResult>> results;
  for (const PermitReport& report : reports) results.emplace_back(Settle(report));
  return results;
}

ReportResult FakeHeadgate::Server::Settle(const PermitReport& report) {
  reports_.push_back(report);
  const bool held = outstanding_.erase(report.permit_id) > 0;
  if (!held) return {.outcome = ReportOutcome::kAlreadySettled};
  return {.outcome = ReportOutcome::kSettled, .overruns = overruns_, .unsettled = unsettled_};
}

// One client's way to the server. Whoever waits there does so by that client's time.
class FakeHeadgate::Line final : public Transport {
 public:
  Line(std::shared_ptr<Server> server, std::shared_ptr<TimeSource> time)
      : server_(std::move(server)), time_(std::move(time)) {}

  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration,
                               const std::stop_token& stop) override {
    if (absl::Status reached = server_->Reached(); !reached.ok()) return reached;
    server_->Remember(request);
    const bool grants_leases = server_->grants_leases();
    if (grants_leases && request.lease.has_value() && request.lease->returned.has_value()) {
      server_->Report({&*request.lease->returned, 1});
    }
    Server::Decision decision = server_->Decide(request);
    const bool waits =
        request.max_wait > absl::ZeroDuration() && server_->waiting() == Waiting::kInServer;
    absl::StatusOr<Answer> answer =
        waits ? Wait(request, std::move(decision), stop) : std::move(decision.answer);
    if (answer.ok() && !grants_leases) answer->returned = Answer::Returned::kAgain;
    return answer;
  }
  absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> Report(
      absl::Span<const PermitReport> reports, absl::Duration, const std::stop_token&) override {
    if (absl::Status reached = server_->Reached(); !reached.ok()) return reached;
    return server_->Report(reports);
  }
  // In real time: an order comes when the test gives it.
  absl::StatusOr<uint64_t> WatchLease(const LeaseWatch& watch, absl::Duration,
                                      const std::stop_token& stop) override {
    if (absl::Status reached = server_->Reached(); !reached.ok()) return reached;
    return server_->AwaitState(watch.state, stop);
  }

 private:
  // Waits until the denial is over and is decided again, until the time is up.
  absl::StatusOr<Answer> Wait(const CheckRequest& request, Server::Decision decision,
                              const std::stop_token& stop) {
    absl::StatusOr<Answer>& answer = decision.answer;
    absl::Duration waited;
    while (answer.ok() && !answer->allowed() && answer->retry_after.has_value() &&
           waited < request.max_wait) {
      const absl::Duration denied_for = std::max(*answer->retry_after, kShortestStep);
      const absl::Duration step = std::min(denied_for, request.max_wait - waited);
      time_->Wait(step, stop);
      waited += step;
      if (stop.stop_requested()) return absl::CancelledError("the caller left the fake's line");
      if (absl::Status reached = server_->Reached(); !reached.ok()) return reached;
      if (step < denied_for) {
        answer->retry_after = denied_for - step;
        if (decision.scripted) server_->PutBack(*answer);
      } else {
        decision = server_->Decide(request);
      }
    }
    if (answer.ok() && waited > absl::ZeroDuration()) answer->waited = waited;
    return std::move(answer);
  }

  // However soon a denial lets a Check come back: a handler's may be the same for ever.
  static constexpr absl::Duration kShortestStep = absl::Milliseconds(1);

  const std::shared_ptr<Server> server_;
  const std::shared_ptr<TimeSource> time_;
};

FakeHeadgate::FakeHeadgate()
    : time_(std::make_shared<FakeTime>()), server_(std::make_shared<Server>()) {}

absl::StatusOr<std::unique_ptr<Client>> FakeHeadgate::NewClient(ClientOptions options) {
  if (options.time == nullptr) options.time = time_;
  if (!options.seed.has_value()) options.seed = 1;
  return Client::Create(options, std::make_shared<Line>(server_, options.time));
}

void FakeHeadgate::Allow(Answer answer) {
  answer.verdict = Verdict::kAllowed;
  server_->Script(std::move(answer));
}

void FakeHeadgate::Deny(absl::Duration retry_after, Reason reason) {
  server_->Script(Answer{
      .reason = reason, .retry_after = retry_after, .message = "denied by the test's script"});
}

void FakeHeadgate::DenyForGood(Reason reason) {
  server_->Script(Answer{.reason = reason, .message = "denied for good by the test's script"});
}

void FakeHeadgate::Fail(absl::Status status) { server_->Script(std::move(status)); }

void FakeHeadgate::SetHandler(Handler handler) { server_->SetHandler(std::move(handler)); }

void FakeHeadgate::SetOverruns(std::vector<Overrun> overruns) {
  server_->SetOverruns(std::move(overruns));
}

void FakeHeadgate::SetUnsettled(std::vector<std::string> budgets) {
  server_->SetUnsettled(std::move(budgets));
}

void FakeHeadgate::TakeBackLeases() { server_->TakeBackLeases(); }
void FakeHeadgate::SetNetwork(Network network) { server_->SetNetwork(network); }

void FakeHeadgate::SetLeases(Leases leases) { server_->SetLeases(leases); }

void FakeHeadgate::SetWaiting(Waiting waiting) { server_->SetWaiting(waiting); }

std::vector<CheckRequest> FakeHeadgate::checks() const { return server_->checks(); }

std::vector<PermitReport> FakeHeadgate::reports() const { return server_->reports(); }

std::vector<uint64_t> FakeHeadgate::outstanding() const { return server_->outstanding(); }

}  // namespace headgate::client
