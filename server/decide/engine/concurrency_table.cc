#include "server/decide/engine/concurrency_table.h"

#include <algorithm>
#include <bit>

namespace headgate::engine {

ConcurrencyTable::ConcurrencyTable(size_t cells)
    : cells_(std::make_unique<Cell[]>(std::bit_ceil(std::max<size_t>(cells, 2 * kWindow)))),
      mask_(std::bit_ceil(std::max<size_t>(cells, 2 * kWindow)) - 1) {}

void ConcurrencyTable::MakeRoom(size_t cells) {
  if (cells <= mask_ + 1) return;
  mask_ = std::bit_ceil(cells) - 1;
  cells_ = std::make_unique<Cell[]>(mask_ + 1);
}

uint32_t ConcurrencyTable::Find(uint64_t key) const {
  const uint64_t tag = TagOf(key);
  for (int i = 0; i < kWindow; ++i) {
    const uint64_t at = (Home(key) + i) & mask_;
    // relaxed: a hint; Increment decides on the word it exchanges.
    const uint64_t word = cells_[at].word.load(std::memory_order_relaxed);
    if ((word & ~kCountMask) == tag && word != 0) return static_cast<uint32_t>(at);
  }
  return kNone;
}

int64_t ConcurrencyTable::Count(uint64_t key) const {
  const uint32_t cell = Find(key);
  if (cell == kNone) return 0;
  return static_cast<int64_t>(cells_[cell].word.load(std::memory_order_relaxed) & kCountMask);
}

int64_t ConcurrencyTable::EarliestExpiry(uint64_t key) const {
  const uint32_t cell = Find(key);
  return cell == kNone ? 0 : cells_[cell].earliest_expiry.load(std::memory_order_relaxed);
}

ConcurrencyTable::Outcome ConcurrencyTable::Increment(Cell& cell, uint64_t tag, int64_t limit,
                                                      int64_t expires_at_ns, bool& gone) {
  uint64_t word = cell.word.load(std::memory_order_relaxed);
  do {
    gone = (word & ~kCountMask) != tag;
    if (gone) return Outcome::kAtLimit;
    if (static_cast<int64_t>(word & kCountMask) >= limit) return Outcome::kAtLimit;
    // acq_rel: a permit released by another thread is released in full before its place is taken.
  } while (!cell.word.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
  // relaxed, and never raised here: a bound that is too low costs one needless sweep.
  int64_t bound = cell.earliest_expiry.load(std::memory_order_relaxed);
  while (expires_at_ns < bound && !cell.earliest_expiry.compare_exchange_weak(
                                      bound, expires_at_ns, std::memory_order_relaxed)) {
  }
  return Outcome::kAcquired;
}

ConcurrencyTable::Outcome ConcurrencyTable::Acquire(uint64_t key, int64_t limit,
                                                    int64_t expires_at_ns, uint32_t& cell) {
  cell = Find(key);
  if (cell != kNone) {
    bool gone = false;
    const Outcome outcome = Increment(cells_[cell], TagOf(key), limit, expires_at_ns, gone);
    if (!gone) return outcome;
  }
  return Insert(key, limit, expires_at_ns, cell);
}

ConcurrencyTable::Outcome ConcurrencyTable::Insert(uint64_t key, int64_t limit,
                                                   int64_t expires_at_ns, uint32_t& cell) {
  const uint64_t tag = TagOf(key);
  // One inserter for each key, or two cells might come to count for it.
  MutexLock lock(&insert_locks_[(key >> 16) % kStripes]);
  for (;;) {
    cell = Find(key);
    if (cell != kNone) {
      bool gone = false;
      const Outcome outcome = Increment(cells_[cell], tag, limit, expires_at_ns, gone);
      if (!gone) return outcome;
      continue;
    }
    bool contended = false;
    for (int i = 0; i < kWindow; ++i) {
      const uint64_t at = (Home(key) + i) & mask_;
      uint64_t word = cells_[at].word.load(std::memory_order_relaxed);
      if ((word & kCountMask) != 0) continue;
      if (!cells_[at].word.compare_exchange_strong(word, tag | 1, std::memory_order_acq_rel)) {
        contended = true;
        break;
      }
      cells_[at].earliest_expiry.store(expires_at_ns, std::memory_order_relaxed);
      cell = static_cast<uint32_t>(at);
      return Outcome::kAcquired;
    }
    if (!contended) return Outcome::kTableFull;
  }
}

void ConcurrencyTable::Release(uint32_t cell) {
  // acq_rel: see Increment.
  cells_[cell].word.fetch_sub(1, std::memory_order_acq_rel);
}

void ConcurrencyTable::SetEarliestExpiry(uint32_t cell, int64_t at_ns) {
  cells_[cell].earliest_expiry.store(at_ns, std::memory_order_relaxed);
}

}  // namespace headgate::engine
