// Keyed 64-bit hashing, for tables whose keys come from outside.
//
// `seed` is a secret that the process draws at start and injects: without it nobody can search for
// keys that collide. Hashes are therefore never sent, and stored only beside it. Pure functions.
//
//   uint64_t key = CombineHash(HashBytes(budget_name, seed), id.LevelHash(2));
//
// Keys are short here (a segment of an identity, a tag), so this is one folded multiplication for
// each 16 bytes, as in wyhash, foldhash and Abseil: an identity of four segments is parsed with it
// in half to two thirds of the time that it takes with XXH3. Its quality is tested in hash_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace headgate {
namespace internal {

inline constexpr uint64_t kHashSalt1 = 0x9e3779b97f4a7c15;
inline constexpr uint64_t kHashSalt2 = 0xd1b54a32d192ed03;

// The 128-bit product, folded: each bit of x moves about half of the result, and so does each of y,
// unless the other factor is close to zero. Callers see to it that no outsider can make it so.
inline uint64_t FoldedProduct(uint64_t x, uint64_t y) {
  const unsigned __int128 product = static_cast<unsigned __int128>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <typename Word>
uint64_t LoadWord(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

}  // namespace internal

// What hashing needs of the seed, for callers that hash several strings.
class HashKey {
 public:
  explicit HashKey(uint64_t seed)
      : start(seed),
        mask(internal::FoldedProduct(seed ^ internal::kHashSalt1, internal::kHashSalt2) | 1) {}

  const uint64_t start;
  const uint64_t mask;  // odd, so that each length moves the result differently
};

// One multiplication short of HashBytes: keys that resemble each other don't spread evenly yet. For
// callers that mix the result again, with FinishHash or CombineHash.
inline uint64_t UnfinishedHash(std::string_view bytes, const HashKey& key) {
  using internal::LoadWord;
  const char* data = bytes.data();
  const size_t size = bytes.size();
  uint64_t state = key.start;
  uint64_t first = 0;
  uint64_t last = 0;
  // Two words that may overlap cover what remains; with the size they determine it.
  if (size > 16) {
    const char* const tail = data + size - 16;
    do {
      state = internal::FoldedProduct(LoadWord<uint64_t>(data) ^ key.mask,
                                      LoadWord<uint64_t>(data + 8) ^ state);
      data += 16;
    } while (data < tail);
    first = LoadWord<uint64_t>(tail);
    last = LoadWord<uint64_t>(tail + 8);
  } else if (size >= 8) {
    first = LoadWord<uint64_t>(data);
    last = LoadWord<uint64_t>(data + size - 8);
  } else if (size >= 4) {
    first = LoadWord<uint32_t>(data);
    last = LoadWord<uint32_t>(data + size - 4);
  } else if (size > 0) {
    first = LoadWord<uint8_t>(data) | LoadWord<uint8_t>(data + size / 2) << 8;
    last = LoadWord<uint8_t>(data + size - 1);
  }
  // Both factors are masked with secrets: nobody knows the bytes that would make one of them zero.
  return internal::FoldedProduct(first ^ key.mask, last ^ state ^ (size * key.mask));
}

inline uint64_t FinishHash(uint64_t unfinished) {
  return internal::FoldedProduct(unfinished ^ internal::kHashSalt1, internal::kHashSalt2);
}

inline uint64_t HashBytes(std::string_view bytes, uint64_t seed) {
  return FinishHash(UnfinishedHash(bytes, HashKey(seed)));
}

// Depends on the order of its arguments, which may be anything, small numbers included. The
// difference keeps a factor of zero from hiding the other.
inline uint64_t CombineHash(uint64_t a, uint64_t b) {
  const uint64_t x = a ^ internal::kHashSalt1;
  const uint64_t y = b ^ internal::kHashSalt2;
  return internal::FoldedProduct(x, y) ^ (x - y);
}

}  // namespace headgate
