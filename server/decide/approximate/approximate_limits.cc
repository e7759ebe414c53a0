#include "server/decide/approximate/approximate_limits.h"

#include <algorithm>
#include <optional>

namespace headgate::approximate {
namespace {

using engine::ApproximateBucket;
using engine::ApproximateCheck;

// A hint of less would have the caller poll.
constexpr double kSoonestRetry = 0.05;
constexpr size_t kMostSenders = 65'536;

// In seconds of the share.
double SecondsOf(const ApproximateBucket& bucket) { return bucket.cost / bucket.share; }

// A Check that takes little comes again soon enough, whatever a counter lacks to its room: it needs
// no luck, and what is admitted scatters less.
constexpr double kLittle = 0.1;

double ChanceAt(double room, double seconds) {
  if (seconds <= room) return 1;
  return seconds <= kLittle ? 0 : room / seconds;
}

// Room comes as time passes; a Check that takes more than a second's share has another chance in
// the next second.
absl::Duration RetryAfter(double room, double seconds) {
  return absl::Seconds(std::clamp(std::min(seconds, 1.0) - room, kSoonestRetry, 1.0));
}

}  // namespace

void ApproximateLimits::SetServers(int servers) {
  const MutexLock lock(&mutex_);
  stats_.servers = std::max(servers, 1);
}

void ApproximateLimits::Examine(const ApproximateCheck& check) {
  const MutexLock lock(&mutex_);
  for (ApproximateBucket& bucket : check.buckets) bucket.share = bucket.rate / stats_.servers;
  const double chance = ChanceOf(check);
  const bool is_admitted = check.luck < chance;
  if (check.only_asks) return;
  Count(check, chance);
  if (!is_admitted) return;
  ++stats_.admitted;
  Keep(check);
}

double ApproximateLimits::ChanceOf(const ApproximateCheck& check) {
  double chance = 1;
  for (ApproximateBucket& bucket : check.buckets) {
    const auto counter = counters_.Find(bucket.key, check.now.wall_ns);
    if (!counter.has_value()) continue;
    const double room = counter->Room();
    const double here = ChanceAt(room, SecondsOf(bucket));
    bucket.refuses = check.luck >= here;
    if (bucket.refuses) bucket.retry_after = RetryAfter(room, SecondsOf(bucket));
    if (!bucket.warn) chance = std::min(chance, here);
  }
  return chance;
}

// A counter is found anew: finding another one may have taken its place, as long as it was empty.
void ApproximateLimits::Count(const ApproximateCheck& check, double chance) {
  bool is_untracked = false;
  for (const ApproximateBucket& bucket : check.buckets) {
    // One that only warns is left alone where it would refuse.
    if (bucket.warn && bucket.refuses) continue;
    auto counter = counters_.Find(bucket.key, check.now.wall_ns);
    if (counter.has_value()) {
      counter->Add(std::min(SecondsOf(bucket) * chance, counter->Room()));
    } else {
      is_untracked = true;
    }
  }
  if (is_untracked && check.luck < chance) ++stats_.untracked;
}

void ApproximateLimits::Keep(const ApproximateCheck& check) {
  for (const ApproximateBucket& bucket : check.buckets) {
    if (bucket.refuses || !(bucket.cost > 0)) continue;
    const bool is_kept = uncharged_.Add(check.target,
                                        {.budget = bucket.budget,
                                         .bucket = bucket.bucket,
                                         .cost = bucket.cost,
                                         .share = bucket.share},
                                        check.now.monotonic_ns);
    if (!is_kept) ++stats_.lost_buckets;
  }
}

std::vector<std::string> ApproximateLimits::UnchargedTargets() const {
  const MutexLock lock(&mutex_);
  return uncharged_.Targets();
}

std::vector<UnchargedCost> ApproximateLimits::TakeUncharged(const std::string& target, size_t most,
                                                            Now now) {
  const MutexLock lock(&mutex_);
  std::vector<UnchargedCost> costs = uncharged_.Take(target, most, now.monotonic_ns);
  taken_ += costs.size();
  return costs;
}

absl::Status ApproximateLimits::ChargeOnce(const ChargeMessage& message,
                                           absl::FunctionRef<absl::Status()> charge) {
  // Held meanwhile, so that one which is sent again while it is being charged waits for that.
  const MutexLock lock(&charge_mutex_);
  const std::pair<std::string, uint64_t> key(message.target, message.sender);
  const auto found = charged_.find(key);
  if (found != charged_.end() && message.number <= found->second) return absl::OkStatus();
  absl::Status status = charge();
  if (!status.ok()) return status;
  // Processes that ended long ago: none of them sends anything any more.
  if (found == charged_.end() && charged_.size() >= kMostSenders) charged_.clear();
  charged_[key] = message.number;
  return status;
}

void ApproximateLimits::NoteCharged(size_t buckets) {
  const MutexLock lock(&mutex_);
  stats_.charged_buckets += static_cast<int64_t>(buckets);
  taken_ -= std::min(buckets, taken_);
}

void ApproximateLimits::NoteLost(size_t buckets) {
  const MutexLock lock(&mutex_);
  stats_.lost_buckets += static_cast<int64_t>(buckets);
  taken_ -= std::min(buckets, taken_);
}

ApproximateStats ApproximateLimits::stats() const {
  const MutexLock lock(&mutex_);
  ApproximateStats stats = stats_;
  stats.uncharged_buckets = static_cast<int64_t>(uncharged_.size() + taken_);
  return stats;
}

}  // namespace headgate::approximate
