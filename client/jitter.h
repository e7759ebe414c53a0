// Jitter: spreads the pauses of clients over time, and tells their requests apart.
//
// It is the client's only randomness (SplitMix64): all of it follows from the seed alone, in the
// order of the calls. Thread-safe.
//
//   Jitter jitter(seed);
//   const absl::Duration wait = jitter.AtLeast(retry_after);

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace headgate::client::internal {

class Jitter {
 public:
  explicit Jitter(uint64_t seed) : name_(Mix(seed ^ 0xd1b54a32d192ed03)), state_(seed) {}

  // 0 <= u < 1.
  double Unit() {
    // Relaxed: each call only has to get a number of its own.
    const uint64_t state = state_.fetch_add(kStep, std::memory_order_relaxed) + kStep;
    return static_cast<double>(Mix(state) >> 11) * 0x1p-53;
  }

  // Never earlier than `wait`, and up to a quarter later.
  absl::Duration AtLeast(absl::Duration wait) { return wait * (1 + Unit() / 4); }

  // The pause after the given number of failures in a row, from 0: doubling up to `longest`, and
  // anywhere in its upper half.
  absl::Duration Backoff(int failures, absl::Duration first, absl::Duration longest) {
    const absl::Duration pause = std::min(first * (int64_t{1} << std::min(failures, 30)), longest);
    return pause * (0.5 + Unit() / 2);
  }

  // Differs from all others of this client, and from those of clients with other seeds.
  std::string RequestId() {
    // Relaxed: as above.
    const uint64_t number = requests_.fetch_add(1, std::memory_order_relaxed);
    return absl::StrCat(absl::Hex(name_, absl::kZeroPad16), "-", absl::Hex(number));
  }

  // One such as that of a LeaseUse: not 0, and likely no other's.
  uint64_t Number() {
    // Relaxed: as above.
    const uint64_t number = requests_.fetch_add(1, std::memory_order_relaxed);
    return std::max<uint64_t>(Mix(name_ + kStep * (number + 1)), 1);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  const uint64_t name_;
  std::atomic<uint64_t> state_;
  std::atomic<uint64_t> requests_{0};
};

}  // namespace headgate::client::internal
