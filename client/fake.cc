#include <headgate/fake.h>
#include <headgate/transport.h>

#include <cstdint>
#include <deque>
#include <numeric>
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

// What the fake's clients talk to.
class FakeHeadgate::Server final : public Transport {
 public:
  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                               const std::stop_token& stop) override;
  absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> Report(
      absl::Span<const PermitReport> reports, absl::Duration timeout,
      const std::stop_token& stop) override;

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
  void SetNetwork(Network network) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    network_ = network;
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
  absl::Status Reached() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (network_ == Network::kUp) return absl::OkStatus();
    return absl::UnavailableError("the fake's network is down");
  }
  ReportResult Settle(const PermitReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  Network network_ ABSL_GUARDED_BY(mutex_) = Network::kUp;
  std::deque<absl::StatusOr<Answer>> script_ ABSL_GUARDED_BY(mutex_);
  Handler handler_ ABSL_GUARDED_BY(mutex_) = [](const CheckRequest&) {
    return Answer{.verdict = Verdict::kAllowed};
  };
  std::vector<CheckRequest> checks_ ABSL_GUARDED_BY(mutex_);
  std::vector<PermitReport> reports_ ABSL_GUARDED_BY(mutex_);
  std::vector<Overrun> overruns_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_permit_ ABSL_GUARDED_BY(mutex_) = 1;
  std::set<uint64_t> outstanding_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<Answer> FakeHeadgate::Server::Check(const CheckRequest& request, absl::Duration,
                                                   const std::stop_token&) {
  std::optional<absl::StatusOr<Answer>> scripted;
  Handler handler;
  {
    MutexLock lock(&mutex_);
    if (const absl::Status reached = Reached(); !reached.ok()) return reached;
    checks_.push_back(request);
    if (script_.empty()) {
      handler = handler_;
    } else {
      scripted = std::move(script_.front());
      script_.pop_front();
    }
  }
  // Without the lock, so that the handler may use the fake.
  absl::StatusOr<Answer> answer = scripted.has_value() ? *std::move(scripted) : handler(request);
  if (!answer.ok() || !answer->allowed() || request.validate_only) return answer;
  MutexLock lock(&mutex_);
  if (!answer->permit_id.has_value()) answer->permit_id = next_permit_++;
  outstanding_.insert(*answer->permit_id);
  return answer;
}

absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> FakeHeadgate::Server::Report(
    absl::Span<const PermitReport> reports, absl::Duration, const std::stop_token&) {
  MutexLock lock(&mutex_);
  if (const absl::Status reached = Reached(); !reached.ok()) return reached;
  std::vector<absl::StatusOr<ReportResult>> results;
  for (const PermitReport& report : reports) results.emplace_back(Settle(report));
  return results;
}

ReportResult FakeHeadgate::Server::Settle(const PermitReport& report) {
  reports_.push_back(report);
  const bool held = outstanding_.erase(report.permit_id) > 0;
  return {.outcome = held ? ReportOutcome::kSettled : ReportOutcome::kAlreadySettled,
          .overruns = held ? overruns_ : std::vector<Overrun>()};
}

FakeHeadgate::FakeHeadgate()
    : time_(std::make_shared<FakeTime>()), server_(std::make_shared<Server>()) {}

absl::StatusOr<std::unique_ptr<Client>> FakeHeadgate::NewClient(ClientOptions options) {
  if (options.time == nullptr) options.time = time_;
  if (!options.seed.has_value()) options.seed = 1;
  return Client::Create(options, server_);
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

void FakeHeadgate::SetNetwork(Network network) { server_->SetNetwork(network); }

std::vector<CheckRequest> FakeHeadgate::checks() const { return server_->checks(); }

std::vector<PermitReport> FakeHeadgate::reports() const { return server_->reports(); }

std::vector<uint64_t> FakeHeadgate::outstanding() const { return server_->outstanding(); }

}  // namespace headgate::client
