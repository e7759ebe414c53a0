// Reads a trace's bytes as choices from the pool. Past the end all bytes are zero.
//
// Thread-compatible.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "server/decide/engine/answer.h"
#include "tests/testing/trace_pool.h"

namespace headgate::model {

class TraceBytes {
 public:
  explicit TraceBytes(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}

  bool AtEnd() const { return at_ >= bytes_.size(); }

  uint8_t Byte() { return at_ < bytes_.size() ? bytes_[at_++] : uint8_t{0}; }
  int Below(size_t bound) { return static_cast<int>(Byte() % bound); }
  // With a chance of one in 2^bits.
  bool Bit(int bits) { return Byte() >> (8 - bits) == (1 << bits) - 1; }
  template <typename Pool>
  const auto& From(const Pool& pool) {
    return pool[static_cast<size_t>(Below(pool.size()))];
  }
  // Mostly from the first `good`, as the others only fail.
  template <typename Pool>
  const auto& Mostly(const Pool& pool, size_t good) {
    return pool[static_cast<size_t>(Below(Bit(5) ? pool.size() : good))];
  }

  engine::CheckRequest Request(int family) {
    engine::CheckRequest request;
    request.identity = Mostly(Identities(), kMalformedIdentities);
    const auto names = TargetNames(family);
    request.target = Mostly(names, 2);
    request.estimated_cost = Bit(7) ? OddCost() : From(Costs());
    const auto& tags = Mostly(TagSets(), kMalformedTagSets);
    request.tags = tags;
    const auto& address = From(Addresses());
    request.remote_address = address.has_value() ? &*address : nullptr;
    request.pattern = Mostly(Patterns(), Patterns().size() - 1);
    request.caller = From(Callers());
    request.request_id = Mostly(RequestIds(), RequestIds().size() - 1);
    if (Bit(3)) request.lease = &Mostly(LeasesOfPool(), 5);
    return request;
  }

 private:
  // Those at the end mean nothing.
  static const std::array<engine::LeaseTerms, 13>& LeasesOfPool() {
    constexpr absl::Duration kSecond = absl::Seconds(1);
    static const std::array<engine::LeaseTerms, 13> kLeases = {
        {{0.5, kSecond, 0, {}},
         {1, absl::Milliseconds(100), 3, absl::Seconds(3)},
         {3, absl::Seconds(10), 0, {}},
         {10, absl::Seconds(2), 1e6, absl::Seconds(60)},
         {1e-9, kSecond, 0.25, absl::Seconds(10)},
         {0, kSecond, 0, {}},
         {-1, kSecond, 0, {}},
         {2e15, kSecond, 0, {}},
         {1, absl::Milliseconds(99), 0, {}},
         {1, kSecond, -1, kSecond},
         {1, kSecond, 2e15, kSecond},
         {1, kSecond, 1, absl::Seconds(61)},
         {1, kSecond, 1, -kSecond}}};
    return kLeases;
  }
  double OddCost() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    static constexpr std::array<double, 6> kCosts = {
        kInf, -kInf, 2e15, -0.0, std::numeric_limits<double>::denorm_min(), 1e3};
    return From(kCosts);
  }

  const absl::Span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace headgate::model
