#include "server/remember/throttle_log/recorder.h"

#include <algorithm>
#include <utility>

#include "server/remember/throttle_log/row_filter.h"

namespace headgate::throttle_log {
namespace {

constexpr size_t kMaxInRing = 4096;

// How much memory a kept denial takes, texts of usual length included.
int64_t BytesOf(const Denial& denial) {
  const Cause& cause = denial.cause;
  return static_cast<int64_t>(sizeof(Denial) + denial.identity.size() + denial.target.size() +
                              cause.budget.size() + cause.rule.size() + cause.signal.size());
}

Denial Unpack(const RingDenial& from, const Label& label) {
  Denial denial;
  denial.at = absl::FromUnixNanos(from.at_ns);
  denial.identity = std::string(from.identity);
  denial.target = label.target;
  denial.outcome = label.outcome;
  denial.predicted_cost = from.predicted_cost;
  denial.cause = label.cause;
  denial.observed = from.observed;
  denial.limit = from.limit;
  denial.retry_after = from.retry_after_ns == RingDenial::kNever
                           ? absl::InfiniteDuration()
                           : absl::Nanoseconds(from.retry_after_ns);
  denial.priority = from.priority;
  return denial;
}

}  // namespace

ThreadCounts& Recorder::AddThread() {
  auto counts = std::make_unique<ThreadCounts>(
      ThreadCountsOptions{.seed = options_.seed,
                          .max_identities = options_.max_identities,
                          .max_labels = options_.max_labels,
                          .ring_denials = std::min(options_.max_denials, kMaxInRing),
                          .quiet_rounds = options_.quiet_rounds,
                          .held = &held_,
                          .server = options_.server,
                          .last = &last_});
  MutexLock lock(&mutex_);
  return *threads_.emplace_back(std::move(counts));
}

void Recorder::SetWaitSource(WaitSource source) {
  MutexLock lock(&mutex_);
  wait_source_ = std::move(source);
}

void Recorder::CollectWaits(Now now, Take take) {
  if (wait_source_ == nullptr) return;
  RowKey key{.server = options_.server, .outcome = Outcome::kWaited};
  wait_source_(now, [&](const line::CountedWaits& waited) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    key.target = waited.subject->target;
    key.identity = waited.subject->identity;
    key.folded = waited.subject->folded;
    key.cause = *waited.cause;
    Counts counts{.peak = waited.observed, .limit = waited.limit_value};
    counts.waits.Add(waited.waits);
    wait_totals_.Add(key, waited.waits);
    take(key, counts);
  });
}

void Recorder::Collect(Now now, Take take) {
  MutexLock lock(&mutex_);
  TakeDenials();  // often, so that few are overwritten before anybody asks
  int told = 0;
  for (const auto& thread : threads_) {
    thread->Collect([&](const RowKey& key, const Counts& counts)
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                          totals_.Add(key, counts);
                          if (key.cause.reason == engine::Reason::kUnmatched &&
                              options_.on_unmatched != nullptr && told < kMaxTold) {
                            ++told;
                            options_.on_unmatched(key.identity, counts.checks);
                          }
                          take(key, counts);
                        });
  }
  CollectWaits(now, take);
}

void Recorder::TakeDenials() {
  std::vector<Denial> fresh;
  for (const auto& thread : threads_) {
    last_number_ += thread->TakeDenials([&](const RingDenial& denial, const Label& label) {
      fresh.push_back(Unpack(denial, label));
    });
  }
  std::stable_sort(fresh.begin(), fresh.end(),
                   [](const Denial& a, const Denial& b) { return a.at < b.at; });
  for (Denial& denial : fresh) {
    denial.number = ++last_number_;
    held_.Add(BytesOf(denial));
    denials_.push_back(std::move(denial));
    if (denials_.size() <= options_.max_denials) continue;
    held_.Add(-BytesOf(denials_.front()));
    denials_.pop_front();
  }
}

std::vector<Denial> Recorder::RecentDenials(const ScanFilter& whose, int64_t after,
                                            size_t max_count) {
  MutexLock lock(&mutex_);
  TakeDenials();
  std::vector<Denial> found;
  for (auto denial = denials_.rbegin(); denial != denials_.rend(); ++denial) {
    if (denial->number <= after || found.size() >= max_count) break;
    if (Selects(whose.identity, denial->identity) &&
        TakesWho(whose, denial->identity, denial->target, options_.server)) {
      found.push_back(*denial);
    }
  }
  return found;
}

CheckTotals::All Recorder::Totals() const {
  MutexLock lock(&mutex_);
  return totals_.all();
}

WaitTotals::All Recorder::WaitedInAll() const {
  MutexLock lock(&mutex_);
  return wait_totals_.all();
}

RecorderState Recorder::State() const {
  RecorderState state;
  MutexLock lock(&mutex_);
  for (const auto& thread : threads_) {
    state.folded_checks += thread->folded_checks();
    state.slots_used += thread->slots_used();
    state.slots += static_cast<int64_t>(thread->slots());
  }
  return state;
}

}  // namespace headgate::throttle_log
