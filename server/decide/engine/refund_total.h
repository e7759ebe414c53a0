// Arithmetic of what was refunded to a bucket so far, and of what a charge remembers of it.
//
// A total only grows, in virtual nanoseconds, and wraps around at 63 bits: two of them are compared
// by their difference, which is right as long as they are within 146 years of drain of each other.
// The bit that is left marks, in what a charge remembers, that its place among the charges of its
// bucket is not known: see refund_order.h.

#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace headgate::engine {

constexpr int64_t kTotalMask = std::numeric_limits<int64_t>::max();
constexpr int64_t kOrderUnknown = std::numeric_limits<int64_t>::min();

// From `earlier` to `later`, whether either is marked or not.
constexpr int64_t TotalSince(int64_t later, int64_t earlier) {
  const uint64_t since = static_cast<uint64_t>(later) - static_cast<uint64_t>(earlier);
  return static_cast<int64_t>(since << 1) >> 1;
}

constexpr int64_t AddToTotal(int64_t total, int64_t more) {
  return static_cast<int64_t>(static_cast<uint64_t>(total) + static_cast<uint64_t>(more)) &
         kTotalMask;
}

// relaxed: whoever needs it ordered orders it.
inline void RaiseTotal(std::atomic<int64_t>& most, int64_t total) {
  int64_t now = most.load(std::memory_order_relaxed);
  while (TotalSince(total, now) > 0 &&
         !most.compare_exchange_weak(now, total, std::memory_order_relaxed)) {
  }
}

}  // namespace headgate::engine
