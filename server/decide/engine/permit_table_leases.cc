// Which of the permits are leases. Their slots' words say so: of all other permits nothing is read.
//
// A body is copied between two looks at its slot's word, as it is for saving.

#include "server/decide/engine/lease_permit.h"
#include "server/decide/engine/permit_table.h"

namespace headgate::engine {
namespace {

using State = PermitSlots::State;

bool IsOut(uint64_t word) {
  const State state = PermitSlots::StateOf(word);
  return state == State::kLive || state == State::kExpired;
}

}  // namespace

std::optional<LeasePermit> PermitTable::LeaseIn(uint32_t slot) const {
  // One that is just being expired is a lease still; one that is being settled is not waited for.
  constexpr int kPatience = 100;
  for (int i = 0; i < kPatience; ++i) {
    const uint64_t word = slots_.Word(slot);
    if (PermitSlots::StateOf(word) == State::kFree || !PermitSlots::IsLease(word)) break;
    if (!IsOut(word)) continue;
    LeasePermit lease(slots_.body(slot), slots_.ExpiresAt(slot));
    // Every field's acquire keeps this look behind it.
    if (slots_.Word(slot) == word) return lease;
  }
  return std::nullopt;
}

void PermitTable::ForEachLease(absl::FunctionRef<void(const LeasePermit&)> visit) const {
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const std::optional<LeasePermit> lease = LeaseIn(slot);
    if (lease.has_value()) visit(*lease);
  }
}

}  // namespace headgate::engine
