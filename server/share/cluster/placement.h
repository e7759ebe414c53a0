// Who should own a target: rendezvous hashing.
//
// Each member has a score for each target, and the highest wins. So all who see the same members
// agree without asking, a member that goes moves only what it had, and one that comes takes its
// share from all alike. Every server has to compute the same, whatever release it is of: the scores
// never change.
//
// Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace headgate::cluster {

// Spread evenly over all numbers.
uint64_t PlacementScore(std::string_view target, std::string_view member);

// One of the members, which may be in any order; empty: there is none. `preferred` wins where it is
// among them.
std::string_view PlaceOf(std::string_view target, std::string_view preferred,
                         absl::Span<const std::string> members);

}  // namespace headgate::cluster
