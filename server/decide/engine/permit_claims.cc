#include "server/decide/engine/permit_claims.h"

#include <algorithm>

namespace headgate::engine {
namespace {

using State = PermitSlots::State;

// The slot with the earliest time so far.
struct Choice {
  uint32_t slot = PermitSlots::kNone;
  uint64_t word = 0;
  int64_t expires_at = 0;

  void Offer(uint32_t other, uint64_t other_word, int64_t at) {
    if (slot == PermitSlots::kNone || at < expires_at) *this = {other, other_word, at};
  }
};

}  // namespace

PermitClaims::PermitClaims(const Parts& parts) : parts_(parts) {
  for (int i = 0; i < kHands; ++i) {
    hands_[i].at.store(parts_.slots.capacity() / kHands * i, std::memory_order_relaxed);
  }
}

uint32_t PermitClaims::ClaimAnother(int64_t now_ns, uint32_t stripe, uint16_t cell) {
  // Each attempt is lost to a thread that got a permit, or that is just giving one back.
  constexpr int kAttempts = 64;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    bool lost = false;
    const uint32_t slot = Search(now_ns, hands_[stripe], lost);
    if (slot != PermitSlots::kNone) {
      parts_.slots.SetHolder(slot, cell);
      return slot;
    }
    if (!lost) break;
  }
  parts_.holders.Release(cell, stripe);
  return PermitSlots::kNone;
}

uint32_t PermitClaims::Search(int64_t now_ns, Hand& hand, bool& lost) {
  PermitSlots& slots = parts_.slots;
  const uint64_t from = hand.at.load(std::memory_order_relaxed);
  uint32_t expired = PermitSlots::kNone;
  uint64_t expired_word = 0;
  for (uint64_t i = from; i < from + slots.capacity(); ++i) {
    // Looked far enough for a free one.
    if (i >= from + kProbes && expired != PermitSlots::kNone) break;
    const uint32_t slot = slots.SlotAt(i);
    uint64_t word = slots.Word(slot);
    if (PermitSlots::StateOf(word) == State::kLive && slots.ExpiresAt(slot) <= now_ns &&
        parts_.expiry.Expire(slot, word)) {
      word = slots.Word(slot);
    }
    const State state = PermitSlots::StateOf(word);
    if (state == State::kFree && slots.Claim(slot, word)) {
      hand.at.store(i + 1, std::memory_order_relaxed);
      return slot;
    }
    lost |= state != State::kLive;
    // The first expired one, because hands start at different places: two threads seldom want the
    // same.
    if (state == State::kExpired && expired == PermitSlots::kNone) {
      expired = slot;
      expired_word = word;
      hand.at.store(i + 1, std::memory_order_relaxed);
    }
  }
  if (expired == PermitSlots::kNone) return PermitSlots::kNone;
  if (!slots.Claim(expired, expired_word)) return PermitSlots::kNone;
  abandoned_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a number that orders nothing
  return expired;
}

uint32_t PermitClaims::ClaimOfItsOwn(const PermitHolder& holder, int64_t now_ns, uint32_t stripe) {
  if (parts_.expiry.LookForExpired(now_ns)) {
    // Turn 0: what has just been released counts.
    const uint16_t cell = parts_.holders.Take(holder, now_ns, {.stripe = stripe, .turn = 0});
    if (cell != PermitHolders::kNone) return ClaimAnother(now_ns, stripe, cell);
  }
  const uint16_t cell = parts_.holders.Find(holder);
  return cell == PermitHolders::kNone ? PermitSlots::kNone
                                      : RecycleOne(now_ns, hands_[stripe], cell);
}

uint32_t PermitClaims::RecycleOne(int64_t now_ns, Hand& hand, uint16_t cell) {
  PermitSlots& slots = parts_.slots;
  const uint64_t from = hand.at.load(std::memory_order_relaxed);
  Choice soonest;
  for (uint64_t i = from; i < from + std::min(kOwnProbes, slots.capacity()); ++i) {
    const uint32_t slot = slots.SlotAt(i);
    const uint64_t word = slots.Word(slot);
    if (PermitSlots::StateOf(word) != State::kLive || PermitSlots::HoldsConcurrency(word)) continue;
    if (slots.HolderOf(slot) == cell) soonest.Offer(slot, word, slots.ExpiresAt(slot));
  }
  const bool is_found = soonest.slot != PermitSlots::kNone;
  hand.at.store(from + (is_found ? 1 : kOwnProbes), std::memory_order_relaxed);
  // The new permit is counted for its holder in place of the old one.
  if (!is_found || !slots.Claim(soonest.slot, soonest.word)) return PermitSlots::kNone;
  (soonest.expires_at <= now_ns ? abandoned_ : recycled_).fetch_add(1, std::memory_order_relaxed);
  return soonest.slot;
}

std::vector<uint64_t> PermitClaims::SaveHands() const {
  std::vector<uint64_t> hands;
  hands.reserve(hands_.size());
  for (const Hand& hand : hands_) {
    hands.push_back(hand.at.load(std::memory_order_relaxed));  // wherever it just was
  }
  return hands;
}

void PermitClaims::RestoreHands(const std::vector<uint64_t>& hands) {
  for (size_t i = 0; i < std::min(hands_.size(), hands.size()); ++i) {
    hands_[i].at.store(parts_.slots.SlotAt(hands[i]), std::memory_order_relaxed);
  }
}

}  // namespace headgate::engine
