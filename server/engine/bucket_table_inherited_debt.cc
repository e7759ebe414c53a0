// A newcomer to the table evicts a bucket, and inherits the debt that this one still owes.
//
// bucket_table.h says why nobody can reset a limit by rotating through keys.

#include "server/engine/bucket_table.h"

namespace headgate::engine {

Bucket* BucketTable::ChooseVictim(uint64_t tag, int64_t now_ns, int64_t& empties_at) const {
  Bucket* victim = nullptr;
  for (Line* line : {&FirstLine(tag), &SecondLine(tag)}) {
    for (Bucket& bucket : line->ways) {
      const int64_t at = bucket.EmptiesAt();
      if (victim != nullptr && at >= empties_at) continue;
      victim = &bucket;
      empties_at = at;
      if (at <= now_ns) return victim;
    }
  }
  return victim;
}

int64_t BucketTable::EmptiesAtIfInserted(uint64_t tag, int64_t now_ns) const {
  if (const Bucket* bucket = Find(tag)) return bucket->EmptiesAt();
  int64_t empties_at = 0;
  ChooseVictim(tag, now_ns, empties_at);
  return empties_at;
}

Bucket* BucketTable::FindOrInsert(uint64_t tag, int64_t now_ns) {
  if (Bucket* bucket = Find(tag)) return bucket;
  MutexLock lock(&insert_locks_[(tag >> 8) % kStripes]);
  if (Bucket* bucket = Find(tag)) return bucket;
  for (;;) {
    int64_t inherited = 0;
    Bucket* victim = ChooseVictim(tag, now_ns, inherited);
    if (inherited == Bucket::kMoved) return nullptr;
    // acquire: nothing below may be seen before the lock. Only if the time is still the one chosen.
    if (!victim->empties_at.compare_exchange_strong(
            inherited, Bucket::kLocked, std::memory_order_acquire, std::memory_order_relaxed)) {
      continue;
    }
    victim->tag.store(tag, std::memory_order_relaxed);
    if (inherited > now_ns) live_evictions_.fetch_add(1, std::memory_order_relaxed);
    // release: whoever sees this time sees the new tag, and that somebody was evicted.
    victim->empties_at.store(inherited, std::memory_order_release);
    return victim;
  }
}

}  // namespace headgate::engine
