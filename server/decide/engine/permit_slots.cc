#include "server/decide/engine/permit_slots.h"

#include <bit>

#include "server/decide/engine/spin_wait.h"

namespace headgate::engine {

PermitSlots::PermitSlots(size_t permits, uint64_t seed)
    : mask_(std::bit_ceil(std::clamp<size_t>(permits, kLeastPermits, size_t{1} << kIndexBits)) - 1),
      slots_(0),
      // Half of the numbers are left to grow into: 2^39 permits for each slot.
      first_generation_(seed & kMaxIssued) {
  Grow(capacity());
  for (uint32_t slot = 0; slot < slots_; ++slot) RestoreFree(slot, first_generation_);
}

void PermitSlots::Grow(size_t slots) {
  if (slots <= slots_) return;
  slots_ = slots;
  heads_ = std::make_unique<Head[]>(slots_);
  bodies_ = std::make_unique<Permit[]>(slots_);
  holder_of_ = std::make_unique<std::atomic<uint16_t>[]>(slots_);
  for (uint32_t slot = 0; slot < slots_; ++slot) SetHolder(slot, PermitHolders::kNone);
}

void PermitSlots::RestorePermit(uint32_t slot, uint64_t generation, State state,
                                int64_t expires_at_ns) {
  Head& head = heads_[slot];
  head.expires_at.store(expires_at_ns, std::memory_order_relaxed);
  head.word.store(With(generation << kStateBits | FlagsOf(slot), state), std::memory_order_relaxed);
}

PermitSlots::Found PermitSlots::Take(PermitId id, uint32_t& slot, State& was) {
  const uint64_t index = id & ((uint64_t{1} << kIndexBits) - 1);
  const uint64_t issued = IssuedOf(id >> kIndexBits);
  if (id == 0) return Found::kNeverIssued;
  if (index >= slots_) {  // an earlier process with a larger table may have issued it
    return issued > 0 && issued <= floor_ ? Found::kForgotten : Found::kNeverIssued;
  }
  slot = static_cast<uint32_t>(index);
  std::atomic<uint64_t>& head = heads_[slot].word;
  SpinWait wait;
  for (;;) {
    uint64_t word = head.load(std::memory_order_relaxed);
    const uint64_t taken = IssuedOf(GenerationOf(word));
    // A process that was killed may have issued what nobody saved any more.
    if (issued > taken && issued <= floor_) return Found::kForgotten;
    if (issued == 0 || issued > taken) return Found::kNeverIssued;
    if (issued < taken) return Found::kForgotten;
    was = StateOf(word);
    if (was == State::kFree) return Found::kReported;
    if (was == State::kBusy) {  // another Report, or a sweep, of this permit
      wait.Pause();
      continue;
    }
    // acquire: the body as published.
    if (head.compare_exchange_weak(word, With(word, State::kBusy), std::memory_order_acquire,
                                   std::memory_order_relaxed)) {
      return Found::kSettling;
    }
  }
}

bool PermitSlots::TakeToExpire(uint32_t slot, uint64_t word) {
  // acquire: the body as published.
  return heads_[slot].word.compare_exchange_strong(
      word, With(word, State::kBusy), std::memory_order_acquire, std::memory_order_relaxed);
}

void PermitSlots::End(uint32_t slot, State state) {
  std::atomic<uint64_t>& word = heads_[slot].word;
  // release: the next owner's writes come after this one's.
  word.store(With(word.load(std::memory_order_relaxed) & ~kHoldsConcurrency, state),
             std::memory_order_release);
}

bool PermitSlots::IsLive(PermitId id, int64_t now_ns) const {
  const uint32_t slot = SlotOf(id);
  if (id == 0 || slot >= slots_) return false;
  const uint64_t word = Word(slot);
  return GenerationOf(word) == id >> kIndexBits && StateOf(word) == State::kLive &&
         ExpiresAt(slot) > now_ns;
}

size_t PermitSlots::CountLive(int64_t now_ns) const {
  size_t live = 0;
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    live += StateOf(Word(slot)) == State::kLive && ExpiresAt(slot) > now_ns;
  }
  return live;
}

size_t PermitSlots::CountOverdue(int64_t now_ns) const {
  size_t overdue = 0;
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    const State state = StateOf(Word(slot));
    overdue += state == State::kExpired || (state == State::kLive && ExpiresAt(slot) <= now_ns);
  }
  return overdue;
}

}  // namespace headgate::engine
