// From a hash to the rules that stand under it: what makes finding rules cost the same for ten
// rules and for a million. Immutable once built: open addressing, at most half full, linear
// probing.
//
// Keys are 64-bit keyed hashes and are compared as such. With the seed secret, two different
// selectors meet with probability 2^-64 a pair: about 3 x 10^-8 for a million rules in all.
//
// Thread-safe once filled.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headgate::engine {

class SelectorIndex {
 public:
  // Rules [first, first + count) of the rule set.
  struct Range {
    uint32_t first;
    uint32_t count;
  };

  SelectorIndex() : SelectorIndex(0) {}
  explicit SelectorIndex(size_t keys)
      : slots_(2 * std::bit_ceil(keys + 1)), mask_(slots_.size() - 1) {}

  // Each key once.
  void Add(uint64_t key, Range range) {
    size_t at = Home(key);
    while (slots_[at].range.count != 0) at = (at + 1) & mask_;
    slots_[at] = {key, range};
  }

  // Null: no rules.
  const Range* Find(uint64_t key) const {
    for (size_t at = Home(key); slots_[at].range.count != 0; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].range;
    }
    return nullptr;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Range range{0, 0};  // no rules: the slot is free
  };

  size_t Home(uint64_t key) const { return key & mask_; }

  std::vector<Slot> slots_;
  size_t mask_;
};

}  // namespace headgate::engine
