// PermitClaims: which slot a new permit gets.
//
// A slot that is free, else one whose permit has expired. Who may have another permit is for
// permit_holders.h to say. A holder that may not gets the slot of a permit of its own that holds no
// concurrency, if one is close by (which loses its refund and its request id, early); nobody loses
// one to others. That, and being refused, costs the same however large and however full the table
// is.
//
// Thread-safe and lock-free. What it is given outlives it.
//
//   const uint32_t slot = claims.Claim(holder, now_ns);
//   if (slot != PermitSlots::kNone) ... fill slots.body(slot), then slots.Publish(slot, ...) ...

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/attributes.h"
#include "server/decide/engine/permit_expiry.h"
#include "server/decide/engine/permit_holders.h"
#include "server/decide/engine/permit_slots.h"

namespace headgate::engine {

class PermitClaims {
 public:
  struct Parts {
    PermitSlots& slots;
    PermitHolders& holders;
    PermitExpiry& expiry;
  };
  explicit PermitClaims(const Parts& parts);

  // A slot for a new permit of this holder, which the caller fills and then publishes or abandons.
  // kNone: the holder may not have another; PermitHolders knows why.
  ABSL_ATTRIBUTE_ALWAYS_INLINE uint32_t Claim(const PermitHolder& holder, int64_t now_ns) {
    const uint32_t stripe = PermitHolders::StripeOfThread();
    Hand& hand = hands_[stripe];
    // relaxed, and not one step: a hand that two threads share may point both at one slot, where
    // the exchange lets one of them win.
    const uint64_t from = hand.at.load(std::memory_order_relaxed);
    const uint16_t cell = parts_.holders.Take(holder, now_ns, {.stripe = stripe, .turn = from});
    if (cell == PermitHolders::kNone) [[unlikely]]
      return ClaimOfItsOwn(holder, now_ns, stripe);
    const uint32_t slot = parts_.slots.SlotAt(from);
    const uint64_t word = parts_.slots.Word(slot);
    parts_.slots.PrefetchBody(parts_.slots.SlotAt(from + 2));
    if (PermitSlots::StateOf(word) == PermitSlots::State::kFree && parts_.slots.Claim(slot, word))
        [[likely]] {
      hand.at.store(from + 1, std::memory_order_relaxed);
      parts_.slots.SetHolder(slot, cell);
      return slot;
    }
    return ClaimAnother(now_ns, stripe, cell);
  }

  // Permits that lost their slot after their time, unreported.
  uint64_t abandoned() const { return abandoned_.load(std::memory_order_relaxed); }
  // Permits that lost their slot before their time.
  uint64_t recycled_early() const { return recycled_.load(std::memory_order_relaxed); }

  // Where each hand is, for saving; and the same again, before anybody claims.
  std::vector<uint64_t> SaveHands() const;
  void RestoreHands(const std::vector<uint64_t>& hands);

 private:
  static constexpr int kHands = PermitHolders::kStripes;
  static constexpr size_t kProbes = 128;  // slots to look at for a free one rather than an expired
  static constexpr size_t kOwnProbes = 64;  // slots to look at for one that is the holder's

  struct alignas(64) Hand {
    std::atomic<uint64_t> at{0};
  };

  // After a permit was counted for the cell's holder: some slot is free, though perhaps not the one
  // at the hand.
  uint32_t ClaimAnother(int64_t now_ns, uint32_t stripe, uint16_t cell);
  // One look at all slots. `lost` if another thread took the one that was chosen.
  uint32_t Search(int64_t now_ns, Hand& hand, bool& lost);
  // For a holder that may not have more.
  uint32_t ClaimOfItsOwn(const PermitHolder& holder, int64_t now_ns, uint32_t stripe);
  uint32_t RecycleOne(int64_t now_ns, Hand& hand, uint16_t cell);

  const Parts parts_;
  std::array<Hand, kHands> hands_;
  std::atomic<uint64_t> abandoned_{0};
  std::atomic<uint64_t> recycled_{0};
};

}  // namespace headgate::engine
