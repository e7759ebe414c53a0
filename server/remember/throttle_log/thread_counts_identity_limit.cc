// The slot that a Check is counted in, and the bound on identities that are counted by name: where
// all slots that a key may have are taken, a Check is counted under the next level up, folded.

#include <algorithm>
#include <cstring>

#include "common/hash.h"
#include "server/remember/throttle_log/thread_counts.h"

namespace headgate::throttle_log {
namespace {

// So that a level that is counted by itself and one that others are folded into have two keys.
constexpr uint64_t kFolded = 0x666f6c6465643a2a;

}  // namespace

Slot* ThreadCounts::Find(uint64_t key) {
  const size_t home = Home(key);
  for (size_t i = 0; i < kWindow; ++i) {
    Slot& slot = slots_[(home + i) & mask_];
    if (slot.key == key) return &slot;
    if (slot.key == 0) return nullptr;  // a slot that was used once is never empty again
  }
  return nullptr;
}

Slot& ThreadCounts::SlotFor(const Counted& counted) {
  if (Slot* const found = Find(counted.key); found != nullptr) return *found;
  const uint32_t label = labels_.NumberOf(counted.target, counted.cause, options_.seed);
  Slot* const claimed = Claim(counted.key, label, counted.identity, false);
  if (claimed != nullptr) return *claimed;
  // relaxed: this thread alone writes it.
  folded_.store(folded_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return FoldedSlot(label, counted.identity);
}

Slot& ThreadCounts::FoldedSlot(uint32_t label, std::string_view identity) {
  for (size_t colon = identity.find(':'); colon != std::string_view::npos;
       colon = identity.find(':')) {
    identity.remove_prefix(colon + 1);
    const uint64_t level = CombineHash(HashBytes(identity, options_.seed), kFolded);
    const uint64_t key = CombineHash(level, label) | 1;
    if (Slot* const found = Find(key); found != nullptr) return *found;
    Slot* const claimed = Claim(key, label, identity, true);
    if (claimed != nullptr) return *claimed;
  }
  return rest_[label];
}

void ThreadCounts::CountTexts(size_t slot) {
  const size_t first = slot / kTextsInPage * kTextsInPage;
  for (size_t i = first; i < std::min(first + kTextsInPage, slots()); ++i) {
    if (slots_[i].key != 0) return;
  }
  held_.Add(kTextsInPage * kTextBytes);
}

Slot* ThreadCounts::Claim(uint64_t key, uint32_t label, std::string_view identity, bool folded) {
  const size_t home = Home(key);
  for (size_t i = 0; i < kWindow; ++i) {
    const size_t at = (home + i) & mask_;
    Slot& slot = slots_[at];
    if (!slot.IsFree()) continue;
    if (slot.key == 0) {
      // relaxed: this thread alone writes it.
      used_.store(used_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      CountTexts(at);
    }
    slot.key = key;
    slot.label = label;
    ++slot.life;
    slot.peak_round = 0;
    slot.folded = folded;
    slot.text_bytes = static_cast<uint16_t>(std::min(identity.size(), kTextBytes));
    std::memcpy(&texts_[at * kTextBytes], identity.data(), slot.text_bytes);
    // relaxed: the first count releases them.
    slot.cost.store(0, std::memory_order_relaxed);
    slot.peak.store(0, std::memory_order_relaxed);
    slot.limit.store(0, std::memory_order_relaxed);
    return &slot;
  }
  return nullptr;
}

}  // namespace headgate::throttle_log
