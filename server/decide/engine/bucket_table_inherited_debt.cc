// A newcomer to the table evicts a bucket, and inherits the debt that this one still owes.
//
// bucket_table.h says why nobody can reset a limit by rotating through keys.
//
// A permit of a key that was evicted, and is back, compares the total of refunds that it remembers
// with that of another cell. So the newcomer's total is raised to the largest that any key of its
// stripe had when it left; nothing was refunded to the key while it was away. A permit from before
// is then refunded too little at most, and later ones, which start from the raised total, are not
// touched. Where refunds to others have lowered the times of the lines, so that the newcomer would
// begin at a place in front of charges of its own, its total is raised by the difference as well.

#include <algorithm>

#include "server/decide/engine/bucket_table.h"

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

void BucketTable::Leave(uint64_t tag, int64_t empties_at, int64_t refunded) {
  Left& left = left_[StripeOf(tag)];
  // The new tag is stored behind both with release.
  RaiseTotal(left.refunded, refunded);
  RaiseTotal(left.place, AddToTotal(refunded, empties_at));
}

int64_t BucketTable::Reassign(Bucket& bucket, uint64_t tag, int64_t inherited, int64_t now_ns) {
  // relaxed: the lock on the cell orders its own, and FindOrInsert has seen that `tag` had left.
  const uint64_t before = bucket.tag.load(std::memory_order_relaxed);
  int64_t refunded = bucket.refunded.load(std::memory_order_relaxed);
  if (before != 0) Leave(before, inherited, refunded);
  const Left& left = left_[StripeOf(tag)];
  const int64_t left_refunded = left.refunded.load(std::memory_order_relaxed);
  if (TotalSince(left_refunded, refunded) > 0) refunded = left_refunded;
  const int64_t from = std::max(inherited, now_ns);
  const int64_t short_by =
      TotalSince(left.place.load(std::memory_order_relaxed), AddToTotal(refunded, from));
  if (short_by > 0 && from < Bucket::kHorizonNs) {
    refunded = AddToTotal(refunded, short_by);
    inherited = from;  // a charge whose now lags must not begin in front of it
  }
  // release: as in LockedBucket::Refund.
  bucket.refunded.store(refunded, std::memory_order_release);
  // release: whoever sees that the old key has left sees what it left with.
  bucket.tag.store(tag, std::memory_order_release);
  return inherited;
}

int64_t BucketTable::RefundedTo(uint64_t tag, bool& evicted) const {
  // acquire, both: with a key that has left comes what it left with; a count belongs to the time
  // that the caller has read before.
  if (const Bucket* bucket = Find(tag, std::memory_order_acquire)) {
    evicted = false;
    return bucket->refunded.load(std::memory_order_acquire);
  }
  evicted = true;
  return left_[StripeOf(tag)].refunded.load(std::memory_order_acquire);
}

Bucket* BucketTable::FindOrInsert(uint64_t tag, int64_t now_ns) {
  if (Bucket* bucket = Find(tag)) return bucket;
  MutexLock lock(&insert_locks_[StripeOf(tag)]);
  // acquire: see Reassign.
  if (Bucket* bucket = Find(tag, std::memory_order_acquire)) return bucket;
  for (;;) {
    int64_t inherited = 0;
    Bucket* victim = ChooseVictim(tag, now_ns, inherited);
    if (inherited == Bucket::kMoved) return nullptr;
    // acquire: nothing below may be seen before the lock. Only if the time is still the one chosen.
    if (!victim->empties_at.compare_exchange_strong(
            inherited, Bucket::kLocked, std::memory_order_acquire, std::memory_order_relaxed)) {
      continue;
    }
    if (inherited > now_ns) live_evictions_.fetch_add(1, std::memory_order_relaxed);
    inherited = Reassign(*victim, tag, inherited, now_ns);
    // release: whoever sees this time sees the new tag, and that somebody was evicted.
    victim->empties_at.store(inherited, std::memory_order_release);
    return victim;
  }
}

}  // namespace headgate::engine
