// How much a new owner knows of what was admitted before it.
//
// Pure functions.

#pragma once

#include <cstdint>
#include <optional>

#include "server/share/cluster/store.h"

namespace headgate::cluster {

enum class Takeover : uint8_t {
  kFresh = 1,  // nobody ever owned the target: there is nothing to know
  // Its last owner wrote all it knew, and nobody has admitted anything since: neither that one, nor
  // who was given the target meanwhile and never took it up.
  kHandedOver = 2,
  // The owner before may have admitted something that nobody wrote down: as much as each budget's
  // burst, which is what a bucket holds at most.
  kLearning = 3,
};

// `held` is what this server owns now.
inline Takeover TakeoverOf(const Held& held, const std::optional<StoredState>& state) {
  if (held.generation == 1) return Takeover::kFresh;
  // Owners that never wrote anything may have admitted all the same; but who went on from a final
  // state has left its mark on it (Store::ReadStates).
  return state.has_value() && state->is_final ? Takeover::kHandedOver : Takeover::kLearning;
}

}  // namespace headgate::cluster
