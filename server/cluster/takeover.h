// How much a new owner knows of what was admitted before it.
//
// Pure functions.

#pragma once

#include <cstdint>
#include <optional>

#include "server/cluster/store.h"

namespace headgate::cluster {

enum class Takeover : uint8_t {
  kFresh = 1,       // nobody ever owned the target: there is nothing to know
  kHandedOver = 2,  // the owner before wrote all it knew, and admitted nothing since
  // The owner before may have admitted something that nobody wrote down: as much as each budget's
  // burst, which is what a bucket holds at most.
  kLearning = 3,
};

// `held` is what this server owns now.
inline Takeover TakeoverOf(const Held& held, const std::optional<StoredState>& state) {
  // Owners that never wrote anything may have admitted all the same, so only the state of the very
  // generation before tells everything.
  if (held.generation == 1) return Takeover::kFresh;
  if (!state.has_value() || !state->is_final) return Takeover::kLearning;
  return state->generation + 1 == held.generation ? Takeover::kHandedOver : Takeover::kLearning;
}

}  // namespace headgate::cluster
