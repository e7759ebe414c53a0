#include "tests/demo/throttle.h"

#include <headgate/chunk_size.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"

namespace headgate::demo {
namespace {

constexpr int64_t kSmallestChunk = 100;

std::string Text(const client::Violation& violation) {
  const std::string budget = absl::StrCat("budget '", violation.budget, "'");
  switch (violation.limit_kind) {
    case client::LimitKind::kProbe:
      return absl::StrCat(budget, ": the foreground is measured without the backfill");
    case client::LimitKind::kBurst:
      return absl::StrCat(budget, ": the rate that was found is used up");
    case client::LimitKind::kMaxConcurrency:
      return absl::StrCat(budget, ": as many sessions are at work as were found to be borne");
    case client::LimitKind::kHealth:
      return absl::StrCat("health: ", violation.signal.empty() ? "no sample" : violation.signal);
    default:
      return budget;
  }
}

std::string WhatRefused(const client::Answer& answer) {
  for (const client::Violation& violation : answer.violations) {
    if (!violation.warn) return Text(violation);
  }
  return answer.message;
}

}  // namespace

// Sits between client and server, since CheckOrWait shows none of the denials that it waited for.
class Throttle::Counter final : public client::Transport {
 public:
  explicit Counter(std::shared_ptr<client::Transport> real) : real_(std::move(real)) {}

  absl::StatusOr<client::Answer> Check(const client::CheckRequest& request, absl::Duration timeout,
                                       const std::stop_token& stop) override {
    absl::StatusOr<client::Answer> answer = real_->Check(request, timeout, stop);
    MutexLock lock(&mutex_);
    if (!answer.ok()) {
      ++counts_.denied[absl::StrCat("no answer: ", answer.status().message())];
    } else if (answer->allowed()) {
      ++counts_.allowed;
    } else {
      ++counts_.denied[WhatRefused(*answer)];
    }
    return answer;
  }

  absl::StatusOr<std::vector<absl::StatusOr<client::ReportResult>>> Report(
      absl::Span<const client::PermitReport> reports, absl::Duration timeout,
      const std::stop_token& stop) override {
    return real_->Report(reports, timeout, stop);
  }

  CheckCounts counts() const {
    MutexLock lock(&mutex_);
    return counts_;
  }

 private:
  const std::shared_ptr<client::Transport> real_;
  mutable Mutex mutex_;
  CheckCounts counts_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<Throttle>> Throttle::Create(const std::string& address) {
  auto counter = std::make_shared<Counter>(client::NewGrpcTransport(address));
  std::unique_ptr<Throttle> throttle(new Throttle(counter));
  absl::StatusOr<std::unique_ptr<client::Client>> client = client::Client::Create(
      {.address = address, .on_unreachable = client::OnUnreachable::Wait()}, counter);
  if (!client.ok()) return client.status();
  throttle->client_ = *std::move(client);
  return throttle;
}

load::Ask Throttle::Asker() {
  return [this](int worker, int64_t rows, const std::stop_token& stop) {
    return Ask(worker, rows, stop);
  };
}

absl::StatusOr<load::Turn> Throttle::Ask(int worker, int64_t rows, const std::stop_token& stop) {
  absl::StatusOr<client::Permit> granted =
      client_->CheckOrWait({.identity = absl::StrCat("worker-", worker, ":backfill"),
                            .estimated_cost = static_cast<double>(rows),
                            .pattern = "accounts-filler"},
                           absl::InfiniteDuration(), stop);
  if (!granted.ok()) return granted.status();
  client::ChunkSize size({.start = rows, .smallest = kSmallestChunk});
  size.Follow(granted->answer());
  load::Turn turn{.next_rows = size.rows()};
  // relaxed: only the number itself is shared.
  chunk_rows_.store(rows, std::memory_order_relaxed);
  auto permit = std::make_shared<client::Permit>(*std::move(granted));
  turn.done = [permit](absl::Duration took) { permit->Report({.busy_time = took}).IgnoreError(); };
  return turn;
}

CheckCounts Throttle::counts() const { return counter_->counts(); }

}  // namespace headgate::demo
