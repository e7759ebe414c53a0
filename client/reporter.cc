#include "client/reporter.h"

#include <algorithm>
#include <utility>

#include "client/bounded_wait.h"

namespace headgate::client::internal {
namespace {

constexpr absl::Duration kWindow = absl::Milliseconds(50);
constexpr absl::Duration kCallTimeout = absl::Seconds(1);
constexpr absl::Duration kFirstReportPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestReportPause = absl::Seconds(2);
constexpr absl::Duration kLongestLastPause = absl::Milliseconds(200);  // while being stopped

}  // namespace

Reporter::Reporter(std::shared_ptr<Transport> transport, const Options& options)
    : transport_(std::move(transport)),
      max_queued_(options.max_queued),
      jitter_(options.seed),
      token_retry_(options.new_token),
      thread_([this] { Run(); }) {}

void Reporter::Add(const PermitReport& report) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= max_queued_) {
    ++stats_.dropped;
    return;
  }
  queue_.push_back(report);
  ++added_;
  // The thread sleeps through a window that has begun, unless the batch is full.
  if (queue_.size() == 1 || queue_.size() == Transport::kMaxReports) wake_.notify_one();
}

std::optional<PermitReport> Reporter::CountsAlone(const PermitReport& report) {
  if (!report.lease_use.has_value() || report.permit_id == 0) return std::nullopt;
  if (report.lease_use->counts.empty()) return std::nullopt;
  PermitReport counts{.lease_use = report.lease_use};
  counts.lease_use->spent = 0;
  counts.lease_use->pieces = 0;
  return counts;
}

bool Reporter::Flush(absl::Duration timeout) {
  Lock lock(mutex_);
  flush_to_ = added_;
  wake_.notify_one();
  return finished_.wait_for(lock, BoundedWait(timeout),
                            [this, target = added_] { return done_ >= target; });
}

void Reporter::Stop(absl::Duration timeout) {
  {
    Lock lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
    finished_.wait_for(lock, BoundedWait(timeout), [this] { return done_ == added_; });
  }
  abandon_.request_stop();
  {
    // Once more with the lock: the thread may just have been about to wait.
    const std::lock_guard lock(mutex_);
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  stats_.dropped += queue_.size();
  queue_.clear();
  done_ = added_;
}

ReportStats Reporter::stats() const {
  const std::lock_guard lock(mutex_);
  ReportStats stats = stats_;
  stats.pending = queue_.size();
  return stats;
}

void Reporter::Run() {
  Lock lock(mutex_);
  int failures = 0;
  while (!abandon_.stop_requested()) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    wake_.wait_for(lock, BoundedWait(kWindow), [this] {
      return stopping_ || done_ < flush_to_ || queue_.size() >= Transport::kMaxReports;
    });
    const absl::Status missed = SendBatch(lock);
    if (missed.ok()) {
      failures = 0;
    } else {
      Pause(lock, failures++, missed);
    }
  }
}

// The server could not be given the batch now, as opposed to not wanting it.
bool Reporter::MayRepeat(const absl::Status& status) {
  if (absl::IsUnauthenticated(status)) return token_retry_.OnRefused();
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

absl::Status Reporter::SendBatch(Lock& lock) {
  const auto size = static_cast<ptrdiff_t>(std::min(queue_.size(), Transport::kMaxReports));
  const std::vector<PermitReport> batch(queue_.begin(), queue_.begin() + size);
  lock.unlock();
  const auto results = transport_->Report(batch, kCallTimeout, abandon_.get_token());
  lock.lock();
  if (abandon_.stop_requested() && !results.ok()) return results.status();
  if (MayRepeat(results.status())) return results.status();

  token_retry_.Reset();
  const std::vector<PermitReport> again = Count(batch, results);
  queue_.erase(queue_.begin(), queue_.begin() + size);
  queue_.insert(queue_.begin(), again.begin(), again.end());
  done_ += batch.size() - again.size();
  finished_.notify_all();
  return absl::OkStatus();
}

std::vector<PermitReport> Reporter::Count(const std::vector<PermitReport>& batch,
                                          const absl::StatusOr<Results>& results) {
  const size_t answered = results.ok() ? std::min(results->size(), batch.size()) : 0;
  std::vector<PermitReport> again;
  for (size_t i = 0; i < answered; ++i) {
    const absl::StatusOr<ReportResult>& result = (*results)[i];
    if (result.ok()) {
      ++stats_.delivered;
      stats_.overrun += result->overruns.empty() ? 0 : 1;
      stats_.unsettled += result->unsettled.empty() ? 0 : 1;
    } else if (absl::IsInvalidArgument(result.status()) && batch[i].measured) {
      again.push_back(batch[i]);
      again.back().done.busy_time.reset();
      again.back().measured = false;
    } else {
      ++stats_.refused;
      if (!absl::IsNotFound(result.status())) continue;
      if (auto counts = CountsAlone(batch[i])) again.push_back(*std::move(counts));
    }
  }
  stats_.failed += batch.size() - answered;
  return again;
}

void Reporter::Pause(Lock& lock, int failures, const absl::Status& why) {
  const bool last = stopping_;
  const absl::Duration longest = last ? kLongestLastPause : kLongestReportPause;
  const absl::Duration pause = absl::IsUnauthenticated(why)
                                   ? token_retry_.pause()
                                   : jitter_.Backoff(failures, kFirstReportPause, longest);
  wake_.wait_for(lock, BoundedWait(pause),
                 [&] { return stopping_ != last || abandon_.stop_requested(); });
}

}  // namespace headgate::client::internal
