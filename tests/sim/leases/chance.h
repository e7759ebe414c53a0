// All that is left to chance in a simulation, by its seed.
//
// Thread-compatible.

#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace headgate::leases {

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}

  uint64_t Next() { return random_(); }
  // 0 <= u < 1.
  double Unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Unit(); }
  bool Happens(double probability) { return Unit() < probability; }
  int Pick(int count) { return static_cast<int>(Unit() * count); }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return low + (high - low) * Unit();
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace headgate::leases
