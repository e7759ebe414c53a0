// PermitSlots: the slots that permits live in, in which state each of them is, and which permit's
// id is which slot's.
//
//            Claim            Publish
//   kFree ----------> kBusy ----------> kLive --- Expire, past its time --> kExpired
//     ^                 ^                 |                                     |
//     |      Free       |      Take       |                Take                 |
//     +-----------------+<----------------+-------------------------------------+
//
// A permit's id is {generation, index}. Generations start at a random number and grow each time a
// slot is taken, so an id of an earlier owner, or of an earlier process, is never mistaken for a
// present one. An expired permit keeps its charge and has given its concurrency back; a late Report
// finds it for as long as its slot is not needed.
//
// A slot's word is one atomic number: its generation, whether its permit holds concurrency and is a
// lease's, and its state. Every step in the picture is one exchange of it, or a store by who made
// it kBusy, to whom the permit belongs meanwhile.
//
// Thread-safe and lock-free, but for a permit that two threads end at once: the second waits for
// the first.
//
//   const uint64_t word = slots.Word(slot);
//   if (PermitSlots::StateOf(word) == PermitSlots::State::kFree && slots.Claim(slot, word)) {
//     Fill(slots.body(slot));
//     const PermitId id = slots.Publish(slot, expires_at_ns);
//   }

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/decide/engine/permit.h"
#include "server/decide/engine/permit_holders.h"

namespace headgate::engine {

class PermitSlots {
 public:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr size_t kLeastPermits = 64;

  enum class State : uint8_t { kFree, kBusy, kLive, kExpired };
  static State StateOf(uint64_t word) { return static_cast<State>(word & kStateMask); }
  static bool HoldsConcurrency(uint64_t word) { return (word & kHoldsConcurrency) != 0; }
  // Of one that is kLive or kExpired.
  static bool IsLease(uint64_t word) { return (word & kIsLease) != 0; }
  static uint64_t GenerationOf(uint64_t word) { return word >> kStateBits; }
  static PermitId IdOf(uint64_t generation, uint32_t slot) {
    return generation << kIndexBits | slot;
  }

  // Room for `permits` (a power of two is made of it).
  PermitSlots(size_t permits, uint64_t seed);
  PermitSlots(const PermitSlots&) = delete;
  PermitSlots& operator=(const PermitSlots&) = delete;

  // Slots for new permits: the first ones.
  size_t capacity() const { return mask_ + 1; }
  // All there are: those, and what a larger table's permits take besides.
  size_t size() const { return slots_; }
  // Which of the slots for new permits a hand points at that counts up.
  uint32_t SlotAt(uint64_t hand) const { return static_cast<uint32_t>(hand & mask_); }

  // acquire: with the state come the time and the body that were written before it.
  uint64_t Word(uint32_t slot) const { return heads_[slot].word.load(std::memory_order_acquire); }
  // acquire: whoever looks at the word once more, to know that this is its permit's, looks later.
  int64_t ExpiresAt(uint32_t slot) const {
    return heads_[slot].expires_at.load(std::memory_order_acquire);
  }
  Permit& body(uint32_t slot) { return bodies_[slot]; }
  const Permit& body(uint32_t slot) const { return bodies_[slot]; }
  // The cell of the holder of the slot's permit. Written before that is published, by who claimed
  // the slot; relaxed: where it is a later permit's, the slot cannot be claimed by the word read.
  uint16_t HolderOf(uint32_t slot) const {
    return holder_of_[slot].load(std::memory_order_relaxed);
  }
  void SetHolder(uint32_t slot, uint16_t cell) {
    holder_of_[slot].store(cell, std::memory_order_relaxed);
  }
  // The lines of a permit with four charges: its next owner's stores would otherwise hold up the
  // compare-and-swaps that follow them.
  void PrefetchBody(uint32_t slot) const {
    const char* const body = reinterpret_cast<const char*>(&bodies_[slot]);
    for (int line = 0; line < 4; ++line) __builtin_prefetch(body + 64 * line, 1);
  }

  // For a new permit, of the next generation; it has nothing of the one before. False: the slot has
  // another word by now.
  bool Claim(uint32_t slot, uint64_t word) {
    const uint64_t generation =
        (first_generation_ + std::max(IssuedOf(GenerationOf(word)), floor_) + 1) & kGenerationMask;
    const uint64_t busy = With(generation << kStateBits, State::kBusy);
    // acquire: the last owner's writes to the body are done.
    return heads_[slot].word.compare_exchange_strong(word, busy, std::memory_order_acquire,
                                                     std::memory_order_relaxed);
  }
  PermitId Publish(uint32_t slot, int64_t expires_at_ns) {
    Head& head = heads_[slot];
    head.expires_at.store(expires_at_ns, std::memory_order_relaxed);
    const uint64_t generation = GenerationOf(head.word.load(std::memory_order_relaxed));
    // release: whoever takes the permit sees its body.
    head.word.store(With(generation << kStateBits | FlagsOf(slot), State::kLive),
                    std::memory_order_release);
    return IdOf(generation, slot);
  }

  enum class Found : uint8_t {
    kSettling,   // the caller has it, and must call Free
    kReported,   // reported before
    kForgotten,  // its slot was needed: ended long ago
    kNeverIssued,
  };
  // Takes the permit away from all others who would settle it. `was` is its state until now: kLive
  // or kExpired.
  Found Take(PermitId id, uint32_t& slot, State& was);
  // The same for one to expire, whose slot has this word; false: it has another by now.
  bool TakeToExpire(uint32_t slot, uint64_t word);
  // Its permit has expired: it holds nothing but its charge.
  void Expire(uint32_t slot) { End(slot, State::kExpired); }
  void Free(uint32_t slot) { End(slot, State::kFree); }

  // Of an id that may never have been issued: it may be beyond the last slot.
  static uint32_t SlotOf(PermitId id) {
    return static_cast<uint32_t>(id & ((uint64_t{1} << kIndexBits) - 1));
  }
  // Neither reported nor expired.
  bool IsLive(PermitId id, int64_t now_ns) const;
  size_t CountLive(int64_t now_ns) const;
  // Past their time and not reported; a Report would still settle them.
  size_t CountOverdue(int64_t now_ns) const;

  // For saving and restoring. Generations that earlier processes issued are told by how far they
  // are from the first, which no permit has; new ones are above the floor.
  uint64_t first_generation() const { return first_generation_; }
  uint64_t floor() const { return floor_; }
  uint64_t IssuedOf(uint64_t generation) const {
    return (generation - first_generation_) & kGenerationMask;
  }
  static constexpr uint64_t kMaxIssued = ((uint64_t{1} << 40) - 1) >> 1;
  // The rest are for slots that nobody uses yet. As many slots as that, for permits that a larger
  // table issued.
  void Grow(size_t slots);
  void Number(uint64_t first_generation, uint64_t floor) {
    first_generation_ = first_generation;
    floor_ = floor;
  }
  void RestoreFree(uint32_t slot, uint64_t generation) {
    heads_[slot].word.store(generation << kStateBits, std::memory_order_relaxed);
  }
  // Its body is there.
  void RestorePermit(uint32_t slot, uint64_t generation, State state, int64_t expires_at_ns);

 private:
  static constexpr int kStateBits = 4;  // state, whether concurrency is held, and whether a lease
  static constexpr uint64_t kStateMask = 3;
  static constexpr uint64_t kHoldsConcurrency = 4;
  static constexpr uint64_t kIsLease = 8;
  static constexpr int kIndexBits = 24;
  static constexpr uint64_t kGenerationMask = (uint64_t{1} << 40) - 1;

  // Four to a cache line: what claims and sweeps read.
  struct Head {
    std::atomic<uint64_t> word{0};  // generation << kStateBits | lease | concurrency | state
    std::atomic<int64_t> expires_at{0};
  };

  static uint64_t With(uint64_t word, State state) {
    return (word & ~kStateMask) | static_cast<uint64_t>(state);
  }
  // What the word says of a permit whose body is there.
  uint64_t FlagsOf(uint32_t slot) const {
    const Permit& permit = bodies_[slot];
    return (permit.holds_concurrency ? kHoldsConcurrency : 0) | (permit.IsLease() ? kIsLease : 0);
  }
  void End(uint32_t slot, State state);

  uint64_t mask_;
  uint64_t slots_;
  std::unique_ptr<Head[]> heads_;
  std::unique_ptr<Permit[]> bodies_;
  std::unique_ptr<std::atomic<uint16_t>[]> holder_of_;
  uint64_t first_generation_;
  uint64_t floor_ = 0;
};

}  // namespace headgate::engine
