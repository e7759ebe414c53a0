#include "server/decide/engine/request_index.h"

#include <algorithm>
#include <utility>

namespace headgate::engine {

absl::Status RequestIndex::Once(uint64_t key, int64_t now_ns, CheckAnswer& answer,
                                absl::FunctionRef<absl::Status()> decide) {
  Stripe& stripe = stripes_[key % kStripes];
  MutexLock lock(&stripe.mutex);
  const auto known = stripe.entries.find(key);
  if (known != stripe.entries.end() && permits_.IsLive(known->second.permit, now_ns)) {
    Restore(known->second, answer);
    known->second.repeated = true;
    return absl::OkStatus();
  }
  if (absl::Status status = decide(); !status.ok()) return status;
  // Without a permit there is nothing whose life it could be kept for.
  if (answer.verdict != Verdict::kAllowed || answer.permit == 0) return absl::OkStatus();
  if (stripe.entries.size() >= stripe.purge_at) Purge(stripe, now_ns);
  Keep(key, answer, stripe);
  return absl::OkStatus();
}

bool RequestIndex::Forget(uint64_t key, PermitId permit) {
  Stripe& stripe = stripes_[key % kStripes];
  MutexLock lock(&stripe.mutex);
  const auto known = stripe.entries.find(key);
  if (known == stripe.entries.end() || known->second.permit != permit) return true;
  if (known->second.repeated) return false;
  stripe.entries.erase(known);
  return true;
}

void RequestIndex::Keep(uint64_t key, const CheckAnswer& answer, Stripe& stripe) {
  if (stripe.policy != answer.policy) {
    const auto counted = std::make_shared<std::shared_ptr<const Policy>>(answer.policy);
    stripe.policy = {counted, counted->get()};
  }
  Entry& entry = stripe.entries[key];
  CountHeld(stripe);
  entry = {.permit = answer.permit,
           .predicted_cost = answer.predicted_cost,
           .predicted_busy_time = answer.predicted_busy_time,
           .probe = answer.probe,
           .chunk_scale = answer.chunk_scale,
           .reason = answer.reason,
           .repeated = false,
           .priority = answer.priority,
           .health = answer.health,
           .policy = stripe.policy,
           .warnings = nullptr};
  if (answer.violations.empty()) return;
  entry.warnings = std::make_unique<const std::vector<Violation>>(answer.violations.begin(),
                                                                  answer.violations.end());
}

void RequestIndex::Restore(const Entry& entry, CheckAnswer& answer) {
  answer.verdict = Verdict::kAllowed;
  answer.permit = entry.permit;
  answer.predicted_cost = entry.predicted_cost;
  answer.predicted_busy_time = entry.predicted_busy_time;
  answer.probe = entry.probe;
  answer.chunk_scale = entry.chunk_scale;
  answer.reason = entry.reason;
  answer.priority = entry.priority;
  answer.health = entry.health;
  answer.retry_after = absl::ZeroDuration();
  answer.violations.clear();
  if (entry.warnings != nullptr) {
    answer.violations.assign(entry.warnings->begin(), entry.warnings->end());
  }
  if (answer.policy != entry.policy) answer.policy = entry.policy;
  answer.repeated = true;
}

void RequestIndex::CountHeld(Stripe& stripe) {
  // A table keeps the room that it has had. Warnings are few and are not counted.
  const auto held = static_cast<int64_t>(stripe.entries.capacity() *
                                         (sizeof(decltype(stripe.entries)::value_type) + 1));
  if (held == stripe.held_bytes) return;
  held_.Add(held - std::exchange(stripe.held_bytes, held));
}

void RequestIndex::Purge(Stripe& stripe, int64_t now_ns) {
  absl::erase_if(stripe.entries,
                 [&](const auto& entry) { return !permits_.IsLive(entry.second.permit, now_ns); });
  CountHeld(stripe);
  stripe.purge_at = std::max(2 * stripe.entries.size(), kMinBeforePurge);
}

void RequestIndex::DropEnded(int64_t now_ns) {
  for (Stripe& stripe : stripes_) {
    MutexLock lock(&stripe.mutex);
    Purge(stripe, now_ns);
    stripe.policy = nullptr;
  }
}

size_t RequestIndex::size() const {
  size_t size = 0;
  for (const Stripe& stripe : stripes_) {
    MutexLock lock(&stripe.mutex);
    size += stripe.entries.size();
  }
  return size;
}

}  // namespace headgate::engine
