// How many permits each bucket of each budget has outstanding, in fixed memory.
//
//   cell:  | 48 bits of the key | 16 bits of count |   + a time before which no permit here expires
//
// Key and count change in one compare-and-swap, so a count never lands on another key. A cell whose
// count is 0 may be taken over; one whose count is not is never evicted, for then a limit would be
// forgotten. Keys are probed linearly within a window; where all of it is taken, the table is full
// and says so. There are several times as many cells as there can be permits, so only colliding
// hashes can bring that about.
//
// `earliest_expiry` is a lower bound, so that a Check refused by concurrency knows without a timer
// whether looking for expired permits can help: see PermitTable::Sweep.
//
// Thread-safe. Acquire on a known key and Release take no lock.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/mutex.h"

namespace headgate::engine {

class ConcurrencyTable {
 public:
  static constexpr int64_t kMaxLimit = 0xffff;
  static constexpr uint32_t kNone = 0xffffffff;

  enum class Outcome : uint8_t { kAcquired, kAtLimit, kTableFull };

  // At least `cells` cells: a power of two, 64 at least.
  explicit ConcurrencyTable(size_t cells);
  ConcurrencyTable(const ConcurrencyTable&) = delete;
  ConcurrencyTable& operator=(const ConcurrencyTable&) = delete;

  // The same for a table that nobody has used yet; it never shrinks.
  void MakeRoom(size_t cells);

  // The key's cell, or kNone.
  uint32_t Find(uint64_t key) const;
  int64_t Count(uint64_t key) const;
  // No permit of the key expires before this; 0 where the key is unknown. Monotonic time.
  int64_t EarliestExpiry(uint64_t key) const;

  // Takes one of `limit` (1..kMaxLimit) for a permit that expires at `expires_at_ns`. On kAcquired
  // `cell` is what to release.
  Outcome Acquire(uint64_t key, int64_t limit, int64_t expires_at_ns, uint32_t& cell);
  void Release(uint32_t cell);

  // What is kept of a key: KeyOf gives this back.
  static uint64_t Kept(uint64_t key) { return TagOf(key); }
  // The key that a cell counts for. Bits that cells do not keep are lost; Acquire ignores them too.
  uint64_t KeyOf(uint32_t cell) const {
    // relaxed: the caller holds one of its count, or finds out that nobody does.
    return TagOf(cells_[cell].word.load(std::memory_order_relaxed));
  }

  // Raises the bound of a cell after a look at all permits.
  void SetEarliestExpiry(uint32_t cell, int64_t at_ns);

 private:
  static constexpr int kWindow = 32;
  static constexpr int kStripes = 64;
  static constexpr uint64_t kCountMask = 0xffff;

  struct Cell {
    std::atomic<uint64_t> word{0};
    std::atomic<int64_t> earliest_expiry{0};
  };

  static uint64_t TagOf(uint64_t key) { return key & ~kCountMask; }
  // It follows from the bits that cells keep, so that a table of another size can be made from one.
  uint64_t Home(uint64_t key) const { return ((key >> 16) ^ (key >> 40)) & mask_; }
  Outcome Increment(Cell& cell, uint64_t tag, int64_t limit, int64_t expires_at_ns, bool& gone);
  Outcome Insert(uint64_t key, int64_t limit, int64_t expires_at_ns, uint32_t& cell);

  std::unique_ptr<Cell[]> cells_;
  uint64_t mask_;
  std::array<Mutex, kStripes> insert_locks_;
};

}  // namespace headgate::engine
