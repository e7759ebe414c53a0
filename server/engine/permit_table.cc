#include "server/engine/permit_table.h"

#include <algorithm>
#include <bit>

namespace headgate::engine {

PermitTable::PermitTable(size_t permits, uint64_t seed, ConcurrencyTable& concurrency,
                         const PermitTableOptions& options)
    : mask_(std::bit_ceil(std::clamp<size_t>(permits, kLeastPermits, size_t{1} << kIndexBits)) - 1),
      slots_(mask_ + 1),
      // Half of the numbers are left to grow into: 2^39 permits for each slot.
      first_generation_(seed & (kGenerationMask >> 1)),
      concurrency_(concurrency),
      holders_(mask_ + 1, options.max_share),
      // As if all were looked at in one go.
      least_between_looks_ns_(options.least_between_looks_ns /
                              static_cast<int64_t>((mask_ + kSlotsOfALook) / kSlotsOfALook)) {
  heads_ = std::make_unique<Head[]>(slots_);
  bodies_ = std::make_unique<Permit[]>(slots_);
  holder_of_ = std::make_unique<std::atomic<uint16_t>[]>(slots_);
  for (size_t i = 0; i < slots_; ++i) {
    heads_[i].word.store(first_generation_ << kStateBits, std::memory_order_relaxed);
    holder_of_[i].store(PermitHolders::kNone, std::memory_order_relaxed);
  }
  for (int i = 0; i < kHands; ++i) {
    hands_[i].at.store(capacity() / kHands * i, std::memory_order_relaxed);
  }
}

uint32_t PermitTable::ClaimAnother(int64_t now_ns, uint32_t stripe, uint16_t cell) {
  // Each attempt is lost to a thread that got a permit, or that is just giving one back.
  constexpr int kAttempts = 64;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    bool lost = false;
    const uint32_t slot = Search(now_ns, hands_[stripe], lost);
    if (slot != kNone) {
      holder_of_[slot].store(cell, std::memory_order_relaxed);
      return slot;
    }
    if (!lost) break;
  }
  holders_.Release(cell, stripe);
  return kNone;
}

uint32_t PermitTable::Search(int64_t now_ns, Hand& hand, bool& lost) {
  const uint64_t from = hand.at.load(std::memory_order_relaxed);
  uint32_t expired = kNone;
  uint64_t expired_word = 0;
  for (uint64_t i = from; i < from + capacity(); ++i) {
    if (i >= from + kProbes && expired != kNone) break;  // looked far enough for a free one
    const auto slot = static_cast<uint32_t>(i & mask_);
    // acquire: with the state comes the time that was written before it.
    uint64_t word = heads_[slot].word.load(std::memory_order_acquire);
    const int64_t expires_at = heads_[slot].expires_at.load(std::memory_order_relaxed);
    if (StateOf(word) == State::kLive && expires_at <= now_ns && Expire(slot, word)) {
      word = heads_[slot].word.load(std::memory_order_acquire);
    }
    const State state = StateOf(word);
    if (state == State::kFree && TryClaim(slot, word)) {
      hand.at.store(i + 1, std::memory_order_relaxed);
      return slot;
    }
    lost |= state != State::kLive;
    // The first expired one, because hands start at different places: two threads seldom want the
    // same.
    if (state == State::kExpired && expired == kNone) {
      expired = slot;
      expired_word = word;
      hand.at.store(i + 1, std::memory_order_relaxed);
    }
  }
  if (expired == kNone) return kNone;
  if (!TryClaim(expired, expired_word)) return kNone;
  abandoned_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a number that orders nothing
  return expired;
}

uint32_t PermitTable::ClaimOfItsOwn(const PermitHolder& holder, int64_t now_ns, uint32_t stripe) {
  if (LookForExpired(now_ns)) {
    // Turn 0: what has just been released counts.
    const uint16_t cell = holders_.Take(holder, now_ns, stripe, 0);
    if (cell != PermitHolders::kNone) return ClaimAnother(now_ns, stripe, cell);
  }
  const uint16_t cell = holders_.Find(holder);
  return cell == PermitHolders::kNone ? kNone : RecycleOne(now_ns, hands_[stripe], cell);
}

uint32_t PermitTable::RecycleOne(int64_t now_ns, Hand& hand, uint16_t cell) {
  const uint64_t from = hand.at.load(std::memory_order_relaxed);
  Choice soonest;
  for (uint64_t i = from; i < from + std::min(kOwnProbes, capacity()); ++i) {
    const auto slot = static_cast<uint32_t>(i & mask_);
    const uint64_t word = heads_[slot].word.load(std::memory_order_acquire);
    if (StateOf(word) != State::kLive || (word & kHoldsConcurrency) != 0) continue;
    // relaxed: where it is a later permit's holder, the slot cannot be claimed by this word.
    if (holder_of_[slot].load(std::memory_order_relaxed) != cell) continue;
    soonest.Offer(slot, word, heads_[slot].expires_at.load(std::memory_order_relaxed));
  }
  hand.at.store(from + (soonest.slot == kNone ? kOwnProbes : 1), std::memory_order_relaxed);
  // The new permit is counted for its holder in place of the old one.
  if (soonest.slot == kNone || !TryClaim(soonest.slot, soonest.word)) return kNone;
  (soonest.expires_at <= now_ns ? abandoned_ : recycled_).fetch_add(1, std::memory_order_relaxed);
  return soonest.slot;
}

bool PermitTable::LookForExpired(int64_t now_ns) {
  // relaxed: whoever moves the time on looks; the slots order the rest.
  int64_t next = next_look_ns_.load(std::memory_order_relaxed);
  if (now_ns < next) return false;
  if (!next_look_ns_.compare_exchange_strong(next, now_ns + least_between_looks_ns_,
                                             std::memory_order_relaxed)) {
    return false;
  }
  const uint64_t slots = std::min<uint64_t>(slots_, kSlotsOfALook);
  const uint64_t from = looked_to_.fetch_add(slots, std::memory_order_relaxed);
  for (uint64_t i = from; i < from + slots; ++i) {
    const auto slot = static_cast<uint32_t>(i % slots_);
    const uint64_t word = heads_[slot].word.load(std::memory_order_acquire);
    if (StateOf(word) != State::kLive) continue;
    if (heads_[slot].expires_at.load(std::memory_order_relaxed) <= now_ns) Expire(slot, word);
  }
  return true;
}

void PermitTable::Abandon(uint32_t slot) {
  ReleaseHolder(slot);
  Settled(slot);
}

void PermitTable::Settled(uint32_t slot) {
  std::atomic<uint64_t>& word = heads_[slot].word;
  // release: the next owner's writes come after this one's.
  word.store(With(word.load(std::memory_order_relaxed) & ~kHoldsConcurrency, State::kFree),
             std::memory_order_release);
}

PermitTable::Found PermitTable::Settle(PermitId id, uint32_t& slot) {
  const uint64_t index = id & ((uint64_t{1} << kIndexBits) - 1);
  const uint64_t issued = ((id >> kIndexBits) - first_generation_) & kGenerationMask;
  if (id == 0) return Found::kNeverIssued;
  if (index >= slots_) {  // an earlier process with a larger table may have issued it
    return issued > 0 && issued <= floor_ ? Found::kForgotten : Found::kNeverIssued;
  }
  slot = static_cast<uint32_t>(index);
  std::atomic<uint64_t>& head = heads_[slot].word;
  for (;;) {
    uint64_t word = head.load(std::memory_order_relaxed);
    const uint64_t taken = ((word >> kStateBits) - first_generation_) & kGenerationMask;
    // A process that was killed may have issued what nobody saved any more.
    if (issued > taken && issued <= floor_) return Found::kForgotten;
    if (issued == 0 || issued > taken) return Found::kNeverIssued;
    if (issued < taken) return Found::kForgotten;
    if (StateOf(word) == State::kFree) return Found::kReported;
    if (StateOf(word) == State::kBusy) continue;  // another Report, or a Sweep, of this permit
    // acquire: the body as published.
    if (head.compare_exchange_weak(word, With(word, State::kBusy), std::memory_order_acquire,
                                   std::memory_order_relaxed)) {
      if (StateOf(word) == State::kLive) {
        ReleaseConcurrency(bodies_[slot], concurrency_, line_);
        ReleaseHolder(slot);
      }
      return Found::kSettling;
    }
  }
}

void ReleaseConcurrency(Permit& permit, ConcurrencyTable& concurrency, LineGate* line) {
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    PermitCharge& charge = permit.charges[i];
    if (charge.concurrency == ConcurrencyTable::kNone) continue;
    const uint64_t key = concurrency.KeyOf(charge.concurrency);
    concurrency.Release(charge.concurrency);
    charge.concurrency = ConcurrencyTable::kNone;
    if (line != nullptr && line->IsAnybodyHere()) line->RoomFreed(key);
  }
}

bool PermitTable::Expire(uint32_t slot, uint64_t word) {
  std::atomic<uint64_t>& head = heads_[slot].word;
  if (!head.compare_exchange_strong(word, With(word, State::kBusy), std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
    return false;
  }
  ReleaseConcurrency(bodies_[slot], concurrency_, line_);
  ReleaseHolder(slot);
  head.store(With(word & ~kHoldsConcurrency, State::kExpired), std::memory_order_release);
  return true;
}

void PermitTable::ForgetTarget(uint64_t target_key) {
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    // acquire: the body as published.
    const uint64_t word = heads_[slot].word.load(std::memory_order_acquire);
    const State state = StateOf(word);
    if (state != State::kLive && state != State::kExpired) continue;
    if (bodies_[slot].target_key != target_key) continue;
    // Where the slot has another permit by now, nothing is found.
    uint32_t found = 0;
    if (Settle(IdOf(word >> kStateBits, slot), found) == Found::kSettling) Settled(found);
  }
}

bool PermitTable::IsLive(PermitId id, int64_t now_ns) const {
  const uint64_t index = id & ((uint64_t{1} << kIndexBits) - 1);
  if (id == 0 || index >= slots_) return false;
  const uint64_t word = heads_[index].word.load(std::memory_order_acquire);
  return word >> kStateBits == id >> kIndexBits && StateOf(word) == State::kLive &&
         heads_[index].expires_at.load(std::memory_order_relaxed) > now_ns;
}

void PermitTable::Sweep(uint32_t cell, int64_t now_ns, int64_t latest_ns) {
  int64_t next = latest_ns;
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    const uint64_t word = heads_[slot].word.load(std::memory_order_acquire);
    if (StateOf(word) != State::kLive || (word & kHoldsConcurrency) == 0) continue;
    const int64_t expires_at = heads_[slot].expires_at.load(std::memory_order_relaxed);
    if (expires_at <= now_ns) {
      Expire(slot, word);
      continue;
    }
    next = std::min(next, expires_at);
  }
  concurrency_.SetEarliestExpiry(cell, next);
}

size_t PermitTable::CountOverdue(int64_t now_ns) const {
  size_t overdue = 0;
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    const State state = StateOf(heads_[slot].word.load(std::memory_order_relaxed));
    overdue += state == State::kExpired ||
               (state == State::kLive &&
                heads_[slot].expires_at.load(std::memory_order_relaxed) <= now_ns);
  }
  return overdue;
}

size_t PermitTable::CountLive(int64_t now_ns) const {
  size_t live = 0;
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    const uint64_t word = heads_[slot].word.load(std::memory_order_relaxed);
    live += StateOf(word) == State::kLive &&
            heads_[slot].expires_at.load(std::memory_order_relaxed) > now_ns;
  }
  return live;
}

}  // namespace headgate::engine
