// Copying a table while it is charged.
//
// Each cell is read by itself, its time first. A newcomer's tag may come with the time of the one
// that it evicted: it inherited that time, so this is what it owed before it was charged. A table
// is therefore never read as one instant, but every bucket as some instant during the copy.

#include "server/decide/engine/bucket_table.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {

void BucketTable::Save(int64_t now_ns, SavedTable& saved) const {
  saved.filled_until_ns = filled_until_;
  saved.live_evictions = live_evictions();
  saved.lines.resize(mask_ + 1);
  saved.buckets.clear();
  for (size_t i = 0; i <= mask_; ++i) {
    uint8_t owing = 0;
    for (int way = 0; way < kWays; ++way) {
      const Bucket& bucket = lines_[i].ways[way];
      const int64_t at = bucket.EmptiesAt();
      if (at <= now_ns || at == Bucket::kMoved) continue;
      owing |= static_cast<uint8_t>(1U << way);
      // relaxed: EmptiesAt has ordered it.
      saved.buckets.push_back({bucket.tag.load(std::memory_order_relaxed), at});
    }
    saved.lines[i] = owing;
  }
}

void BucketTable::Restore(const SavedTable& saved) {
  filled_until_ = saved.filled_until_ns;
  // All of this is relaxed: nobody else uses the table yet.
  live_evictions_.store(saved.live_evictions, std::memory_order_relaxed);
  auto from = saved.buckets.begin();
  for (size_t i = 0; i <= mask_; ++i) {
    for (int way = 0; way < kWays; ++way) {
      if ((saved.lines[i] >> way & 1) == 0) continue;
      lines_[i].ways[way].tag.store(from->tag, std::memory_order_relaxed);
      lines_[i].ways[way].empties_at.store(from->empties_at_ns, std::memory_order_relaxed);
      ++from;
    }
  }
}

void BucketTable::Overwrite(const SavedTable& owed, absl::FunctionRef<int64_t(int64_t)> here) {
  filled_until_ = here(owed.filled_until_ns);
  // relaxed, all of it: nobody decides by this table meanwhile, and each cell's time is stored
  // last, with release. The lock keeps out what only looks like an owner: a Report that comes late.
  live_evictions_.store(owed.live_evictions, std::memory_order_relaxed);
  for (Left& left : left_) {
    left.refunded.store(0, std::memory_order_relaxed);
    left.place.store(0, std::memory_order_relaxed);
  }
  auto from = owed.buckets.begin();
  for (size_t i = 0; i <= mask_; ++i) {
    for (int way = 0; way < kWays; ++way) {
      const bool owes = (owed.lines[i] >> way & 1) != 0;
      const SavedBucket saved = owes ? *from++ : SavedBucket{};
      Bucket& bucket = lines_[i].ways[way];
      int64_t at = bucket.EmptiesAt();
      while (at != Bucket::kMoved &&
             !bucket.empties_at.compare_exchange_weak(
                 at, Bucket::kLocked, std::memory_order_acquire, std::memory_order_acquire)) {
        if (at == Bucket::kLocked) at = bucket.EmptiesAt();
      }
      bucket.refunded.store(0, std::memory_order_relaxed);
      bucket.tag.store(saved.tag, std::memory_order_relaxed);
      bucket.empties_at.store(here(saved.empties_at_ns), std::memory_order_release);
    }
  }
}

bool BucketTable::MayStandIn(uint64_t tag, size_t line, size_t lines) {
  // Tag 0: a newcomer's place in a table that was filled.
  return tag == 0 || FirstPlace(tag, lines - 1) == line || SecondPlace(tag, lines - 1) == line;
}

}  // namespace headgate::engine
