// HolderCells: in which cell the permits of a holder are counted, and what the holder is called.
//
// A holder is counted in a cell of its own. Callers have a cell for every 32 permits of the table,
// at most 16,384, and root identities have as many. Holders that find no free cell share one more
// cell of their kind, and have one share together: that costs them permits, and nobody else. A cell
// stays its holder's for a minute after its last permit, so that a flood of new names takes no cell
// from a holder that is at work.
//
// A cell is  | tag: the upper bits of the holder's key | 28 bits of count |.  Both change in one
// compare-and-swap, so that a count never lands on another holder. Cells are probed linearly from a
// home that the tag's own bits tell; root identities have the first half of them, callers the
// other.
//
// Thread-safe. No lock is taken for a holder that has a cell.
//
//   const uint16_t cell = cells.CellFor(holder, now_ns);
//   const uint64_t tag = HolderCells::TagOf(holder.key);
//   if (cells.TakeAt(cell, cells.CountedAs(cell, tag), limit)) cells.Touch(cell, now_ns);

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/decide/engine/permit_holder.h"

namespace headgate::engine {

struct SavedHolder;

class HolderCells {
 public:
  static constexpr uint16_t kNone = 0xffff;
  static constexpr uint64_t kMaxCount = (uint64_t{1} << 28) - 1;

  // For a table with room for `permits`.
  explicit HolderCells(size_t permits);
  HolderCells(const HolderCells&) = delete;
  HolderCells& operator=(const HolderCells&) = delete;

  // What a cell keeps of a key; never 0.
  static uint64_t TagOf(uint64_t key) { return (key & ~kMaxCount) | (uint64_t{1} << 28); }
  static bool IsCallers(uint64_t tag) { return tag >> 63 != 0; }
  uint16_t HomeOf(uint64_t tag) const { return static_cast<uint16_t>(tag >> home_shift_); }
  uint16_t SharedCell(uint64_t tag) const {
    return static_cast<uint16_t>(2 * own_cells_ + static_cast<uint32_t>(tag >> 63));
  }
  // The tag of those who share a cell.
  static uint64_t SharedTag(uint64_t tag) { return TagOf(tag & PermitHolder::kCallerBit); }
  // The tag under which a cell counts a holder with this one.
  uint64_t CountedAs(uint16_t cell, uint64_t tag) const {
    return cell == SharedCell(tag) ? SharedTag(tag) : tag;
  }
  // The holder's cell; kNone: it has none of its own.
  uint16_t Find(uint64_t tag) const;
  // A cell of the holder's own, or the shared one; kNone is never returned.
  uint16_t CellFor(const PermitHolder& holder, int64_t now_ns) ABSL_LOCKS_EXCLUDED(names_mutex_);

  // One more in the cell, if that is still this tag's and counts less than the limit. False as well
  // where somebody else just counts there.
  bool TryTakeAt(uint16_t cell, uint64_t tag, uint64_t limit) {
    // relaxed, here and below: whether there is a permit is decided by the exchange alone, and a
    // count publishes nothing. A permit's body is published by its slot.
    std::atomic<uint64_t>& word = cells_[cell].word;
    uint64_t before = word.load(std::memory_order_relaxed);
    // Another's tag makes it larger than any limit.
    return before - tag < limit &&
           word.compare_exchange_strong(before, before + 1, std::memory_order_relaxed);
  }
  // The same, tried again where somebody else counts there.
  bool TakeAt(uint16_t cell, uint64_t tag, uint64_t limit);
  void Touch(uint16_t cell, int64_t now_ns) {
    cells_[cell].last_at_ns.store(now_ns, std::memory_order_relaxed);
  }
  // One less; whether it is a caller's.
  bool Release(uint16_t cell) {
    return IsCallers(cells_[cell].word.fetch_sub(1, std::memory_order_relaxed));
  }
  // One more, whatever there is: one that was saved.
  void Restore(uint16_t cell, int64_t now_ns);

  int64_t CountAt(uint16_t cell) const {
    return static_cast<int64_t>(cells_[cell].word.load(std::memory_order_relaxed) & kMaxCount);
  }
  void CountTurnedAway(uint16_t cell) {
    cells_[cell].turned_away.fetch_add(1, std::memory_order_relaxed);
  }

  // Those with permits or with Checks that were turned away: most permits first.
  std::vector<PermitHolderView> Top(size_t most) const ABSL_LOCKS_EXCLUDED(names_mutex_);

  // The bits of a holder's key that its cell keeps. 0: there is no such cell.
  uint64_t SavedKeyOf(uint16_t cell) const;
  void SaveNames(std::vector<SavedHolder>& names) const ABSL_LOCKS_EXCLUDED(names_mutex_);
  void RestoreNames(const std::vector<SavedHolder>& names) ABSL_LOCKS_EXCLUDED(names_mutex_);

 private:
  static constexpr uint32_t kWindow = 16;
  static constexpr size_t kMaxNameBytes = 128;
  static constexpr int64_t kKeptNs = 60'000'000'000;

  struct alignas(32) Cell {
    std::atomic<uint64_t> word{0};  // tag | count; 0: nobody's yet
    std::atomic<int64_t> last_at_ns{0};
    std::atomic<int64_t> turned_away{0};
  };

  // The i-th behind its home, of the same half.
  uint32_t Nth(uint64_t tag, uint32_t i) const {
    const uint32_t home = HomeOf(tag);
    return (home & own_cells_) | ((home + i) & (own_cells_ - 1));
  }
  // Cells in which a holder may be.
  uint32_t window() const { return std::min(kWindow, own_cells_); }
  uint32_t all_cells() const { return 2 * (own_cells_ + 1); }
  // Whether nobody needs the cell any more.
  static bool IsFree(const Cell& cell, int64_t now_ns);

  const uint32_t own_cells_;  // of a kind, but for the shared one; a power of two
  const int home_shift_;
  const std::unique_ptr<Cell[]> cells_;
  mutable Mutex names_mutex_;  // for cells that change hands; not taken by who has one
  std::vector<std::string> names_ ABSL_GUARDED_BY(names_mutex_);
};

}  // namespace headgate::engine
