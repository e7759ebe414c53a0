// Names of buckets, for status pages: buckets themselves keep only a hash of theirs.
//
// Whoever is refused something is noted here, in fixed memory: one place for each hash, the newest
// name wins. Noting a name that is already there is one load, so a flood of denials costs nothing.
//
// Thread-safe.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/mutex.h"

namespace headgate::engine {

class BucketNames {
 public:
  BucketNames() : places_(kPlaces) {}
  BucketNames(const BucketNames&) = delete;
  BucketNames& operator=(const BucketNames&) = delete;

  void Note(uint64_t tag, std::string_view name) {
    // relaxed: only says whether there is anything to do; the name is read and written under a
    // lock.
    if (places_[PlaceOf(tag)].tag.load(std::memory_order_relaxed) != tag) Write(tag, name);
  }
  // Empty where it is not known.
  std::string Find(uint64_t tag) const;

 private:
  static constexpr size_t kPlaces = 4096;
  static constexpr size_t kStripes = 16;

  struct Place {
    std::atomic<uint64_t> tag{0};
    std::string name;  // under the stripe's lock
  };

  static size_t PlaceOf(uint64_t tag) { return (tag >> 8) % kPlaces; }
  void Write(uint64_t tag, std::string_view name);

  std::vector<Place> places_;
  mutable std::array<Mutex, kStripes> locks_;
};

}  // namespace headgate::engine
