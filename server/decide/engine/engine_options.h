// What an Engine is made with: its secret, and how much it may take.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace headgate::engine {

struct EngineOptions {
  // Secret and random, or the one of the state to restore: keys the hashes, starts permit ids and
  // the dice.
  uint64_t seed = 0;
  // Random, where others have the same seed: starts permit ids instead of it, so that no two
  // processes issue the same ones.
  std::optional<uint64_t> permit_seed = std::nullopt;
  absl::Duration permit_ttl = absl::Minutes(1);  // 1 ms to one day
  size_t max_permits = size_t{1} << 15;          // 2^6 to 2^24; 826 bytes each, counts included
  double max_permit_share = 0.5;                 // of one holder; up to 1: see permit_holders.h
  size_t max_patterns = size_t{1} << 14;         // 2^6 to 2^24; 176 bytes each, and its names
  size_t bucket_bytes = size_t{256} << 20;       // of all split budgets on all targets
};

}  // namespace headgate::engine
