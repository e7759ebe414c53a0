#include "server/govern/access/refusal_log.h"

#include <utility>

namespace headgate::access {

void RefusalLog::Note(const Refusal& refusal, const std::string& peer) {
  counts_[static_cast<size_t>(refusal.reason)].fetch_add(1, std::memory_order_relaxed);
  if (tell_ == nullptr) return;
  const int64_t second = clock_.Read().monotonic_ns / 1'000'000'000;
  MutexLock lock(&mutex_);
  if (second != second_) {
    second_ = second;
    told_ = 0;
  }
  if (told_ == kMaxASecond) {
    ++untold_;
    return;
  }
  ++told_;
  tell_({.refusal = refusal, .peer = peer, .untold_before = std::exchange(untold_, 0)});
}

RefusalCounts RefusalLog::counts() const {
  RefusalCounts counts{};
  for (size_t i = 0; i < kRefusalReasons; ++i) {
    counts[i] = counts_[i].load(std::memory_order_relaxed);
  }
  return counts;
}

}  // namespace headgate::access
