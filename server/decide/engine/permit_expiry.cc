#include "server/decide/engine/permit_expiry.h"

#include <algorithm>

namespace headgate::engine {
namespace {

using State = PermitSlots::State;

}  // namespace

PermitExpiry::PermitExpiry(const Parts& parts, int64_t least_between_looks_ns)
    : parts_(parts),
      // As if all were looked at in one go.
      least_between_looks_ns_(
          least_between_looks_ns /
          static_cast<int64_t>((parts.slots.capacity() + kSlotsOfALook - 1) / kSlotsOfALook)) {}

void PermitExpiry::ReleaseHolder(uint32_t slot) {
  const uint16_t cell = parts_.slots.HolderOf(slot);
  if (cell == PermitHolders::kNone) return;
  if (slot < parts_.slots.capacity()) {
    parts_.holders.Release(cell, PermitHolders::StripeOfThread());
  } else {
    parts_.holders.ReleaseUncounted(cell);
  }
}

bool PermitExpiry::Expire(uint32_t slot, uint64_t word) {
  if (!parts_.slots.TakeToExpire(slot, word)) return false;
  LetGo(slot);
  parts_.slots.Expire(slot);
  return true;
}

void PermitExpiry::Sweep(uint32_t cell, int64_t now_ns, int64_t latest_ns) {
  int64_t next = latest_ns;
  for (uint32_t slot = 0; slot < parts_.slots.size(); ++slot) {
    const uint64_t word = parts_.slots.Word(slot);
    if (PermitSlots::StateOf(word) != State::kLive || !PermitSlots::HoldsConcurrency(word))
      continue;
    const int64_t expires_at = parts_.slots.ExpiresAt(slot);
    if (expires_at <= now_ns) {
      Expire(slot, word);
      continue;
    }
    next = std::min(next, expires_at);
  }
  parts_.concurrency.SetEarliestExpiry(cell, next);
}

bool PermitExpiry::LookForExpired(int64_t now_ns) {
  // relaxed: whoever moves the time on looks; the slots order the rest.
  int64_t next = next_look_ns_.load(std::memory_order_relaxed);
  if (now_ns < next) return false;
  if (!next_look_ns_.compare_exchange_strong(next, now_ns + least_between_looks_ns_,
                                             std::memory_order_relaxed)) {
    return false;
  }
  const uint64_t size = parts_.slots.size();
  const uint64_t slots = std::min<uint64_t>(size, kSlotsOfALook);
  const uint64_t from = looked_to_.fetch_add(slots, std::memory_order_relaxed);
  for (uint64_t i = from; i < from + slots; ++i) {
    const auto slot = static_cast<uint32_t>(i % size);
    const uint64_t word = parts_.slots.Word(slot);
    if (PermitSlots::StateOf(word) != State::kLive) continue;
    if (parts_.slots.ExpiresAt(slot) <= now_ns) Expire(slot, word);
  }
  return true;
}

}  // namespace headgate::engine
