#include "client/core.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/lease_runner.h"
#include "common/strings.h"

namespace headgate::client::internal {
namespace {

// Between attempts within one deadline.
constexpr absl::Duration kFirstRetry = absl::Milliseconds(10);
constexpr absl::Duration kLongestRetry = absl::Milliseconds(100);
// Between Checks while the server cannot be reached or is overloaded.
constexpr absl::Duration kFirstAskPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestAskPause = absl::Seconds(2);
// However soon the server lets one come back.
constexpr absl::Duration kShortestWait = absl::Milliseconds(1);
// The longest that one Check stands in the server's line: so soon a connection that died silently
// is noticed.
constexpr absl::Duration kLongestSlice = absl::Seconds(30);

absl::Status ValidWait(absl::Duration max_wait) {
  if (max_wait >= absl::ZeroDuration() && max_wait < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("max_wait: ", absl::FormatDuration(max_wait),
                                                 " is not a time that the server could wait for"));
}

bool IsUnreachable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// By a server that stops, and says when to come back: to the same address, where another is by
// then.
bool IsSentAway(const absl::Status& status) {
  return absl::IsUnavailable(status) && RetryDelay(status).has_value();
}

// Whether the server let it stand in line, so that it need not wait here. One that does not, since
// it knows no line or this one is full, answers at once. By both clocks, so that nothing that a
// server says makes the client spin.
bool StoodInLine(const absl::StatusOr<Answer>& answer, absl::Duration sent, absl::Duration took) {
  return answer.ok() && sent > absl::ZeroDuration() && answer->waited >= sent / 2 &&
         took >= sent / 2;
}

std::string Sentence(const absl::StatusOr<Answer>& answer) {
  return answer.ok() ? answer->message : answer.status().ToString();
}

// What CheckOrWait ends with when its time is up.
absl::Status TooLate(const CheckRequest& request, absl::Duration max_wait, int asked,
                     const absl::StatusOr<Answer>& last) {
  return absl::DeadlineExceededError(absl::StrCat(
      request.identity, " got no permit within ", absl::FormatDuration(max_wait), ", having asked ",
      asked, asked == 1 ? " time: " : " times; at last: ", Sentence(last)));
}

}  // namespace

absl::Status ValidCost(double cost, const char* field) {
  if (cost >= 0 && cost <= kMaxCost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", cost, " is not a cost; it has to be from 0 to ", kMaxCost));
}

absl::Status Valid(const WorkDone& done) {
  if (done.actual_cost.has_value()) {
    absl::Status valid = ValidCost(*done.actual_cost, "actual_cost");
    if (!valid.ok()) return valid;
  }
  const absl::Duration busy_time = done.busy_time.value_or(absl::ZeroDuration());
  if (busy_time >= absl::ZeroDuration() && busy_time < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("busy_time: ", absl::FormatDuration(busy_time),
                   " is no busy time; it has to be finite and not below zero"));
}

Core::Core(const ClientOptions& options, uint64_t seed, std::shared_ptr<Transport> transport)
    : options_(options),
      time_(*options_.time),
      transport_(std::move(transport)),
      jitter_(seed),
      fallback_(options.on_unreachable, options.outage_pause),
      reporter_(transport_, {.max_queued = options.max_queued_reports, .seed = seed}) {}

absl::StatusOr<CheckRequest> Core::Complete(const CheckRequest& request) {
  if (request.estimated_cost.has_value()) {
    const absl::Status valid = ValidCost(*request.estimated_cost, "estimated_cost");
    if (!valid.ok()) return valid;
  }
  if (absl::Status valid = ValidWait(request.max_wait); !valid.ok()) return valid;
  CheckRequest complete = request;
  if (complete.identity.empty()) complete.identity = options_.identity;
  if (complete.target.empty()) complete.target = options_.target;
  if (complete.request_id.empty() && !complete.validate_only)
    complete.request_id = jitter_.RequestId();
  return complete;
}

absl::Status Core::Retry(absl::Duration timeout, const std::stop_token& stop,
                         absl::FunctionRef<absl::Status(absl::Duration timeout)> call) {
  absl::Duration give_up_at = time_.Now() + timeout;
  for (int failures = 0;; ++failures) {
    absl::Status status = call(timeout);
    if (!absl::IsUnavailable(status)) return status;
    if (failures == 0) give_up_at = std::min(give_up_at, time_.Now() + options_.check_deadline);
    const absl::Duration pause = std::max(jitter_.Backoff(failures, kFirstRetry, kLongestRetry),
                                          RetryDelay(status).value_or(absl::ZeroDuration()));
    if (time_.Now() + pause >= give_up_at) return status;
    time_.Wait(pause, stop);
    if (stop.stop_requested()) return absl::CancelledError("cancelled while Headgate is away");
    timeout = give_up_at - time_.Now();
    if (timeout <= absl::ZeroDuration()) return status;
  }
}

absl::StatusOr<Answer> Core::AskServer(CheckRequest& request, absl::Duration timeout,
                                       const std::stop_token& stop) {
  const bool waits = request.max_wait > absl::ZeroDuration();
  absl::StatusOr<Answer> answer;
  const absl::Status status = Retry(timeout, stop, [&](absl::Duration left) {
    // The rest is for the way there and back.
    request.max_wait =
        std::min(request.max_wait, std::max(left - options_.check_deadline, left / 2));
    answer = transport_->Check(request, left, stop);
    return answer.status();
  });
  if (status.ok()) {
    fallback_.Succeeded();
    return answer;
  }
  if (!IsUnreachable(status)) {
    if (!absl::IsCancelled(status)) fallback_.Succeeded();  // it answered, if with an error
  } else if (waits && IsSentAway(status)) {
    fallback_.SentAway();
  } else {
    fallback_.Failed(time_.Now());
  }
  return status;
}

absl::StatusOr<Answer> Core::Ask(CheckRequest& request, absl::Duration timeout,
                                 const std::stop_token& stop) {
  if (!fallback_.MayAsk(time_.Now())) return fallback_.Decide(request, time_.Now());
  const bool waits = request.max_wait > absl::ZeroDuration();
  absl::StatusOr<Answer> answer = AskServer(request, timeout, stop);
  const bool is_outage = IsUnreachable(answer.status()) && !(waits && IsSentAway(answer.status()));
  if (is_outage && fallback_.Decides()) return fallback_.Decide(request, time_.Now());
  return answer;
}

absl::StatusOr<Answer> Core::AskForLease(const CheckRequest& request, absl::Duration max_wait,
                                         const std::stop_token& stop) {
  absl::StatusOr<CheckRequest> complete = Complete(request);
  if (!complete.ok()) return complete.status();
  if (!fallback_.MayAsk(time_.Now())) {
    return absl::UnavailableError("Headgate was unreachable a moment ago");
  }
  const absl::Duration longest =
      fallback_.IsAnswered() ? kLongestSlice : options_.check_deadline / 2;
  complete->max_wait = std::min(max_wait, longest);
  return AskServer(*complete, complete->max_wait + options_.check_deadline, stop);
}

absl::StatusOr<uint64_t> Core::WatchLease(const LeaseWatch& watch, const std::stop_token& stop) {
  absl::StatusOr<uint64_t> state =
      transport_->WatchLease(watch, watch.max_wait + options_.check_deadline, stop);
  if (state.ok() && *state == 0) {
    return absl::UnimplementedError("the server does not know of what it grants leases by");
  }
  return state;
}

std::optional<Answer> Core::DecideAlone(double cost) {
  if (!fallback_.Decides()) return std::nullopt;
  return fallback_.Decide({.estimated_cost = cost}, time_.Now());
}

void Core::Add(const std::shared_ptr<LeaseRunner>& lease) {
  MutexLock lock(&leases_mutex_);
  std::erase_if(leases_, [](const auto& each) { return each.expired(); });
  leases_.push_back(lease);
}

void Core::CloseLeases() {
  std::vector<std::weak_ptr<LeaseRunner>> leases;
  {
    MutexLock lock(&leases_mutex_);
    leases.swap(leases_);
  }
  for (const std::weak_ptr<LeaseRunner>& each : leases) {
    if (const std::shared_ptr<LeaseRunner> lease = each.lock()) lease->Close();
  }
}

absl::StatusOr<Answer> Core::AskInLine(CheckRequest& request, absl::Duration left,
                                       const std::stop_token& stop) {
  request.max_wait = absl::ZeroDuration();
  absl::Duration timeout = options_.check_deadline;
  if (request.validate_only || left < kShortestWait) return Ask(request, timeout, stop);
  if (fallback_.IsAnswered()) {
    request.max_wait = std::min(left, kLongestSlice);
    timeout += request.max_wait;
  } else {
    request.max_wait = std::min({left, kLongestSlice, options_.check_deadline / 2});
  }
  return Ask(request, timeout, stop);
}

absl::StatusOr<Answer> Core::Check(const CheckRequest& request, const std::stop_token& stop) {
  absl::StatusOr<CheckRequest> complete = Complete(request);
  if (!complete.ok()) return complete.status();
  return Ask(*complete, complete->max_wait + options_.check_deadline, stop);
}

absl::StatusOr<absl::Duration> Core::PauseAfter(const absl::StatusOr<Answer>& answer,
                                                Patience& patience) {
  if (answer.ok()) {
    patience.failures = 0;
    if (answer->retry_after.has_value()) return *answer->retry_after;
    return absl::FailedPreconditionError(
        absl::StrCat("denied, and waiting will not change that: ", answer->message));
  }
  const absl::Status& status = answer.status();
  const absl::Duration now = time_.Now();
  if (IsSentAway(status)) patience.returns_until = now + options_.longest_wait;
  const bool waits =
      options_.on_unreachable.kind() == OnUnreachable::Kind::kWait || now < patience.returns_until;
  if (!absl::IsResourceExhausted(status) && !(waits && IsUnreachable(status))) return status;
  return std::max(jitter_.Backoff(patience.failures++, kFirstAskPause, kLongestAskPause),
                  RetryDelay(status).value_or(absl::ZeroDuration()));
}

absl::StatusOr<Permit> Core::CheckOrWait(const CheckRequest& request, absl::Duration max_wait,
                                         const std::stop_token& stop) {
  absl::StatusOr<CheckRequest> complete = Complete(request);
  if (!complete.ok()) return complete.status();
  const absl::Duration deadline = time_.Now() + max_wait;
  Patience patience;
  for (int asked = 1;; ++asked) {
    const absl::Duration asked_at = time_.Now();
    absl::StatusOr<Answer> answer = AskInLine(*complete, deadline - asked_at, stop);
    if (answer.ok() && answer->allowed()) return Permit(shared_from_this(), *std::move(answer));
    const absl::StatusOr<absl::Duration> pause = PauseAfter(answer, patience);
    if (!pause.ok()) return pause.status();

    const absl::Duration now = time_.Now();
    const absl::Duration left = deadline - now;
    if (left <= absl::ZeroDuration()) return TooLate(*complete, max_wait, asked, answer);
    if (StoodInLine(answer, complete->max_wait, now - asked_at)) {
      if (stop.stop_requested()) return absl::CancelledError("cancelled before a permit was given");
      if (left < kShortestWait) return TooLate(*complete, max_wait, asked, answer);
      continue;
    }
    const absl::Duration wait = std::max(std::min(*pause, options_.longest_wait), kShortestWait);
    // To the end even if it will be too early: who calls in a loop then doesn't call all the time.
    time_.Wait(std::min(jitter_.AtLeast(wait), left), stop);
    if (stop.stop_requested()) return absl::CancelledError("cancelled before a permit was given");
    if (wait >= left) return TooLate(*complete, max_wait, asked, answer);
  }
}

absl::Status Core::Report(const PermitReport& report) {
  absl::Status valid = Valid(report.done);
  if (valid.ok()) reporter_.Add(report);
  return valid;
}

absl::StatusOr<ReportResult> Core::ReportNow(const PermitReport& report,
                                             const std::stop_token& stop) {
  absl::Status status = Valid(report.done);
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> results;
  status = Retry(options_.check_deadline, stop, [&](absl::Duration timeout) {
    results = transport_->Report({&report, 1}, timeout, stop);
    return results.status();
  });
  if (!status.ok()) return status;
  if (results->size() != 1) return absl::InternalError("one report got several results, or none");
  return results->front();
}

}  // namespace headgate::client::internal
