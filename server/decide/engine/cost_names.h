// Names of work whose cost is still to be learnt: learnt costs themselves are found by a hash.
//
// A Check knows the names, the Report that teaches something knows the hashes. In between they
// stand here, in fixed memory: one place for each hash, the newest names win. Noting what is
// already there is one load.
//
// Thread-safe.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/mutex.h"

namespace headgate::engine {

class CostNames {
 public:
  // Bytes that are kept of each name.
  static constexpr size_t kMostBytes = 128;

  struct Names {
    std::string_view root = {};
    std::string_view caller = {};
    std::string_view pattern = {};
  };
  struct Text {
    std::string root, caller, pattern;
    Names views() const { return {root, caller, pattern}; }
    // Of memory.
    int64_t bytes() const {
      return static_cast<int64_t>(sizeof(Text) + root.size() + caller.size() + pattern.size());
    }
  };
  // Their beginnings.
  static std::unique_ptr<Text> Keep(const Names& names);

  CostNames() : places_(kPlaces) {}
  CostNames(const CostNames&) = delete;
  CostNames& operator=(const CostNames&) = delete;

  void Note(uint64_t key, const Names& names) {
    // relaxed: only says whether there is anything to do; names are read and written under a lock.
    if (places_[PlaceOf(key)].key.load(std::memory_order_relaxed) != key) Write(key, names);
  }
  // Null where they are not known.
  std::unique_ptr<Text> Find(uint64_t key) const;

 private:
  static constexpr size_t kPlaces = 4096;
  static constexpr size_t kStripes = 16;

  struct Place {
    std::atomic<uint64_t> key{0};
    std::unique_ptr<Text> text;  // under the stripe's lock
  };

  static size_t PlaceOf(uint64_t key) { return (key >> 8) % kPlaces; }
  void Write(uint64_t key, const Names& names);

  std::vector<Place> places_;
  mutable std::array<Mutex, kStripes> locks_;
};

}  // namespace headgate::engine
