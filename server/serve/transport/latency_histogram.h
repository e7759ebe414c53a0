// How long something took, counted in buckets whose bounds are powers of two of a nanosecond.
//
// Fixed memory, no lock. One thread adds with Add, or any with AddShared, never both to one
// histogram; anybody reads at any time. A reader may miss what is being added.
//
//   LatencyHistogram latency;
//   latency.Add(clock.Read().monotonic_ns - started_ns);

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace headgate::transport {

// What was counted: sums of histograms are histograms.
struct LatencyCounts {
  static constexpr int kLeastExponent = 7;  // the first bucket ends at 128 ns
  static constexpr int kMaxExponent = 33;   // the last but one at 8.6 s; the last has no end
  static constexpr size_t kBuckets = kMaxExponent - kLeastExponent + 2;

  std::array<uint64_t, kBuckets> buckets{};
  uint64_t sum_ns = 0;

  static constexpr int64_t UpperBoundNs(size_t bucket) {
    return int64_t{1} << (kLeastExponent + static_cast<int>(bucket));
  }
  // A bucket takes what is as long as its bound, or shorter.
  static size_t BucketOf(int64_t ns) {
    const auto exponent =
        static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(ns, 1) - 1)));
    return static_cast<size_t>(std::clamp(exponent, kLeastExponent, kMaxExponent + 1) -
                               kLeastExponent);
  }
  void Add(const LatencyCounts& other) {
    for (size_t i = 0; i < kBuckets; ++i) buckets[i] += other.buckets[i];
    sum_ns += other.sum_ns;
  }
};

class LatencyHistogram {
 public:
  // A clock that jumped back counts as no time.
  void Add(int64_t ns) {
    ns = std::max<int64_t>(ns, 0);
    std::atomic<uint64_t>& bucket = buckets_[LatencyCounts::BucketOf(ns)];
    // relaxed, here and below: numbers that order nothing. One thread alone writes them.
    bucket.store(bucket.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    sum_ns_.store(sum_ns_.load(std::memory_order_relaxed) + static_cast<uint64_t>(ns),
                  std::memory_order_relaxed);
  }
  void AddShared(int64_t ns) {
    ns = std::max<int64_t>(ns, 0);
    buckets_[LatencyCounts::BucketOf(ns)].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(static_cast<uint64_t>(ns), std::memory_order_relaxed);
  }

  LatencyCounts Read() const {
    LatencyCounts counts;
    for (size_t i = 0; i < LatencyCounts::kBuckets; ++i) {
      counts.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    }
    counts.sum_ns = sum_ns_.load(std::memory_order_relaxed);
    return counts;
  }

 private:
  std::array<std::atomic<uint64_t>, LatencyCounts::kBuckets> buckets_{};
  std::atomic<uint64_t> sum_ns_{0};
};

}  // namespace headgate::transport
