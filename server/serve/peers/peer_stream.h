// PeerStream: the calls of one peer's stream that wait here, by the numbers of their messages.
//
// The stream's first message is parked until the stream ends, and so tells when it does.
// Thread-safe.
//
//   auto stream = std::make_shared<PeerStream>(on_end);
//   parking.Park(stream);

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/mutex.h"
#include "server/serve/peers/forwarded_wait.h"

namespace headgate::peers {

class PeerStream final : public transport::ParkListener {
 public:
  explicit PeerStream(std::function<void()> on_end) : on_end_(std::move(on_end)) {}

  // Kept, so that the parked message is not let go of.
  void SetParked(std::shared_ptr<ForwardedWait::Parked> opening) { opening_ = std::move(opening); }

  void Add(uint64_t number, const std::shared_ptr<ForwardedWait>& wait)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    waits_.emplace(number, wait);
  }
  void Forget(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    waits_.erase(number);
  }
  void CallerEnded(uint64_t number, bool delivered) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<ForwardedWait> wait;
    {
      const MutexLock lock(&mutex_);
      const auto found = waits_.find(number);
      if (found == waits_.end()) return;
      wait = found->second;
    }
    wait->CallerEnded(delivered);
  }
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return waits_.size();
  }

  // Of the first message: the stream has ended.
  void OnGone() override ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::shared_ptr<ForwardedWait>> left;
    {
      const MutexLock lock(&mutex_);
      for (const auto& [number, wait] : waits_) left.push_back(wait);
    }
    for (const auto& wait : left) wait->StreamEnded();
    on_end_();
  }
  void OnAnswered(bool /*delivered*/) override {}

 private:
  const std::function<void()> on_end_;
  std::shared_ptr<ForwardedWait::Parked> opening_;
  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<ForwardedWait>> waits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::peers
