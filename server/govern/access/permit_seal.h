// Makes a permit's id good for one caller only.
//
// The engine's ids count up, so whoever holds one can guess its neighbours', and a Report on
// somebody else's permit would free its concurrency, refund what it was charged or charge it
// without end. Towards a caller an id is therefore encrypted with a key of that caller's: another
// one's Report opens it with another key, and finds a number that the engine never issued, but for
// one guess in 2^64 / permits. Nothing is stored, and the answer is that to an unknown permit.
//
// The cipher is Speck64/128 (Beaulieu and others, 2013), a permutation of 64 bits; 0, which is no
// permit, stays 0. Keys come from the process's seed and the caller's name: ids survive a restart
// that keeps the seed.
//
// Immutable and thread-safe.
//
//   const PermitSeal seal(seed, "orders-backfill");
//   decision.set_permit_id(seal.Seal(answer.permit));
//   engine.Report(seal.Open(report.permit_id()), ...);

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace headgate::access {

class PermitSeal {
 public:
  // Four words, as in the cipher's paper: the first is used first.
  using Key = std::array<uint32_t, 4>;

  explicit PermitSeal(const Key& key);
  PermitSeal(uint64_t seed, std::string_view caller);

  // A permutation skips one value when it is applied once more to what must not come out.
  uint64_t Seal(uint64_t permit) const {
    if (permit == 0) return 0;
    const uint64_t sealed = Encrypt(permit);
    return sealed != 0 ? sealed : Encrypt(0);
  }
  uint64_t Open(uint64_t sealed) const {
    if (sealed == 0) return 0;
    const uint64_t permit = Decrypt(sealed);
    return permit != 0 ? permit : Decrypt(0);
  }

  uint64_t Encrypt(uint64_t block) const {
    auto high = static_cast<uint32_t>(block >> 32);
    auto low = static_cast<uint32_t>(block);
    for (const uint32_t key : rounds_) {
      high = (std::rotr(high, 8) + low) ^ key;
      low = std::rotl(low, 3) ^ high;
    }
    return uint64_t{high} << 32 | low;
  }
  uint64_t Decrypt(uint64_t block) const {
    auto high = static_cast<uint32_t>(block >> 32);
    auto low = static_cast<uint32_t>(block);
    for (size_t i = kRounds; i-- > 0;) {
      low = std::rotr(low ^ high, 3);
      high = std::rotl((high ^ rounds_[i]) - low, 8);
    }
    return uint64_t{high} << 32 | low;
  }

 private:
  static constexpr size_t kRounds = 27;

  std::array<uint32_t, kRounds> rounds_;
};

}  // namespace headgate::access
