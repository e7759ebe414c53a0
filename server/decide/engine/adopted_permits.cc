#include "server/decide/engine/adopted_permits.h"

#include <utility>

namespace headgate::engine {

void AdoptedPermits::Release(Permit& permit) {
  ReleaseConcurrency(permit, concurrency_, line_);
  permit.holds_concurrency = false;
}

void AdoptedPermits::Adopt(PermitId id, std::unique_ptr<Permit> permit, int64_t expires_at_ns) {
  MutexLock lock(&mutex_);
  Entry& entry = permits_[id];
  if (entry.permit != nullptr) Release(*entry.permit);
  entry = {.permit = std::move(permit), .expires_at_ns = expires_at_ns};
  size_.store(permits_.size(), std::memory_order_relaxed);
}

AdoptedPermits::Found AdoptedPermits::Take(PermitId id, std::unique_ptr<Permit>& permit) {
  MutexLock lock(&mutex_);
  const auto entry = permits_.find(id);
  if (entry == permits_.end()) return Found::kNo;
  if (entry->second.permit == nullptr) return Found::kReported;
  permit = std::move(entry->second.permit);
  Release(*permit);
  return Found::kTaken;
}

void AdoptedPermits::Expire(int64_t now_ns) {
  if (IsEmpty()) return;
  MutexLock lock(&mutex_);
  for (auto entry = permits_.begin(); entry != permits_.end();) {
    const auto current = entry++;
    const int64_t expires_at_ns = current->second.expires_at_ns;
    if (expires_at_ns > now_ns) continue;
    if (current->second.permit != nullptr) Release(*current->second.permit);
    if (expires_at_ns + ttl_ns_ <= now_ns) permits_.erase(current);
  }
  size_.store(permits_.size(), std::memory_order_relaxed);
}

void AdoptedPermits::Forget(uint64_t target_key) {
  if (IsEmpty()) return;
  MutexLock lock(&mutex_);
  for (auto entry = permits_.begin(); entry != permits_.end();) {
    const auto current = entry++;
    Permit* const permit = current->second.permit.get();
    if (permit == nullptr || permit->target_key != target_key) continue;
    Release(*permit);
    permits_.erase(current);
  }
  size_.store(permits_.size(), std::memory_order_relaxed);
}

void AdoptedPermits::ForEachLease(absl::FunctionRef<void(const LeasePermit&)> visit) const {
  if (IsEmpty()) return;
  MutexLock lock(&mutex_);
  for (const auto& [id, entry] : permits_) {
    if (entry.permit != nullptr && entry.permit->IsLease()) {
      visit(LeasePermit(*entry.permit, entry.expires_at_ns));
    }
  }
}

}  // namespace headgate::engine
