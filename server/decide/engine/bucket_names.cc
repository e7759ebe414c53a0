#include "server/decide/engine/bucket_names.h"

namespace headgate::engine {

void BucketNames::Write(uint64_t tag, std::string_view name) {
  const size_t place = PlaceOf(tag);
  MutexLock lock(&locks_[place % kStripes]);
  places_[place].name = name;
  // relaxed: see Note; Find reads it under the lock.
  places_[place].tag.store(tag, std::memory_order_relaxed);
}

std::string BucketNames::Find(uint64_t tag) const {
  const size_t place = PlaceOf(tag);
  MutexLock lock(&locks_[place % kStripes]);
  // relaxed: written under this lock.
  if (places_[place].tag.load(std::memory_order_relaxed) != tag) return "";
  return places_[place].name;
}

}  // namespace headgate::engine
