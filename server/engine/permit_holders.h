// How many permits each holder has, and whether it may have another: in fixed memory.
//
// A holder is the caller that a Check names, or else the root of its identity. An eighth of the
// table is kept for those who have few. Of the rest a holder may have at most so many times as many
// as are left of it that, alone, it comes to max_share of the table (Choudhury and Hahne, Dynamic
// Queue Length Thresholds for Shared-Memory Packet Switches, 1998): of many that want all they can
// get, each gets as many as the others. Of the eighth, those get one who have none, and some more
// while more than half of it is left. So whoever has a cell, as below, and no permit always gets
// one. Nobody's permit is taken away where the limit falls: its holder gets no more until it has
// fewer.
//
// Names are free where nobody checks them, so all that is held without a caller's name is besides
// one holder among the named ones, once there has been any of those: beyond its share, each of them
// has one permit.
//
// Each kind has a cell for every 32 permits of the table, 16,384 at most, and one more for those
// who find none: they have one share together, which is to their loss and nobody else's. A cell
// stays its holder's for a minute after its last permit, so that a flood of new names takes it from
// nobody who is at work.
//
// How many are free is counted in stripes, of which a thread writes one, and summed up once in a
// while: by then, a 16th of what was free may have been given away without having been noticed, and
// where fewer than 512 are free, none. A refusal always sums up first.
//
// Thread-safe. Take and Release are two read-modify-writes each for a holder that is known.
//
//   const PermitHolder etl{.key = PermitHolder::RootKey(hash), .name = "job-7:etl"};
//   const uint16_t cell = holders.Take(etl, now_ns, stripe, turn);
//   if (cell != PermitHolders::kNone) holders.Release(cell, stripe);

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace headgate::engine {

struct SavedHolder;

// Who holds a permit. The name is read only where it was not known before.
struct PermitHolder {
  // Of a keyed hash of the name. The kind is in it.
  static constexpr uint64_t kCallerBit = uint64_t{1} << 63;
  static uint64_t CallerKey(uint64_t hash) { return hash | kCallerBit; }
  static uint64_t RootKey(uint64_t hash) { return hash & ~kCallerBit; }

  uint64_t key = 0;
  std::string_view name = {};  // of a caller; else an identity, whose root it is

  bool is_caller() const { return key >> 63 != 0; }
};

// One holder, for people.
struct PermitHolderView {
  std::string name;  // empty: those who found no cell of their own, together
  bool is_caller = false;
  int64_t permits = 0;
  int64_t turned_away = 0;  // Checks, since it has its cell
};

class PermitHolders {
 public:
  static constexpr uint16_t kNone = 0xffff;
  static constexpr uint32_t kStripes = 16;

  // Of a table with room for `permits`; 0 < max_share <= 1, where 1 is no limit.
  PermitHolders(size_t permits, double max_share);
  PermitHolders(const PermitHolders&) = delete;
  PermitHolders& operator=(const PermitHolders&) = delete;

  // Counts a permit for the holder and returns its cell, or else kNone. `stripe` is below kStripes
  // and mostly this thread's own; `turn` counts up from one of its calls to the next.
  ABSL_ATTRIBUTE_ALWAYS_INLINE uint16_t Take(const PermitHolder& holder, int64_t now_ns,
                                             uint32_t stripe, uint64_t turn) {
    const uint64_t tag = TagOf(holder.key);
    const uint32_t place = HomeOf(tag);
    Cell& home = cells_[place];
    // relaxed, all of it: the exchange decides, and what a count orders is ordered by the slots.
    uint64_t word = home.word.load(std::memory_order_relaxed);
    const Limits::Of& limits = limits_.of[tag >> 63];
    // Another's tag makes it larger than any limit.
    if ((turn & limits.between_sums.load(std::memory_order_relaxed)) != 0 &&
        word - tag < limits.limit.load(std::memory_order_relaxed) &&
        home.word.compare_exchange_strong(word, word + 1, std::memory_order_relaxed)) [[likely]] {
      home.last_at_ns.store(now_ns, std::memory_order_relaxed);
      Count(tag, stripe, 1);
      return static_cast<uint16_t>(place);
    }
    return TakeOtherwise(holder, now_ns, stripe, turn);
  }
  // Gives one back that was taken, or restored into the table.
  void Release(uint16_t cell, uint32_t stripe) {
    Count(cells_[cell].word.fetch_sub(1, std::memory_order_relaxed), stripe, -1);
  }

  // The holder's cell, kNone where it has none.
  uint16_t Find(const PermitHolder& holder) const;

  // What a holder that may have no more is told.
  struct Standing {
    int64_t permits = 0;
    int64_t limit = 0;
    bool table_full = false;
    bool may_take = false;
  };
  Standing StandingOf(const PermitHolder& holder) const;
  // The same, and it is counted that a Check was turned away.
  Standing TurnAway(const PermitHolder& holder);
  // Counts a Check that was charged but got no permit, because it can do without.
  void NoteWithout() { without_permit_.fetch_add(1, std::memory_order_relaxed); }

  int64_t turned_away() const { return turned_away_.load(std::memory_order_relaxed); }
  int64_t without_permit() const { return without_permit_.load(std::memory_order_relaxed); }
  double max_share() const { return max_share_; }
  // What one who has none now could come to, if others took no more.
  int64_t RoomForOne() const;
  // Those with permits or with Checks that were turned away: most permits first.
  std::vector<PermitHolderView> Top(size_t most) const ABSL_LOCKS_EXCLUDED(names_mutex_);

  // For PermitTable::Save and Restore. Of a key that is saved, the bits that cells keep are left.
  uint64_t SavedKeyOf(uint16_t cell) const;
  void SaveNames(std::vector<SavedHolder>& names) const ABSL_LOCKS_EXCLUDED(names_mutex_);
  // Into a table that nobody uses yet. `counts`: it takes one of the places for new permits.
  uint16_t Restore(uint64_t saved_key, int64_t now_ns, bool counts)
      ABSL_LOCKS_EXCLUDED(names_mutex_);
  void RestoreNames(const std::vector<SavedHolder>& names) ABSL_LOCKS_EXCLUDED(names_mutex_);
  // One that was restored beside the table.
  void ReleaseBeside(uint16_t cell) { cells_[cell].word.fetch_sub(1, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kWindow = 16;
  static constexpr size_t kMaxNameBytes = 128;
  static constexpr int kCountBits = 28;
  static constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;
  static constexpr int64_t kKeptNs = 60'000'000'000;

  struct alignas(32) Cell {
    std::atomic<uint64_t> word{0};  // tag | count; 0: nobody's yet
    std::atomic<int64_t> last_at_ns{0};
    std::atomic<int64_t> turned_away{0};
  };
  // Written by few threads, and by none that does not take or release a permit.
  struct alignas(64) Stripe {
    std::array<std::atomic<int64_t>, 2> taken{};  // of root identities, of callers
  };
  // Read by all threads at each Take, written when the sums have changed.
  struct alignas(64) Limits {
    struct Of {
      std::atomic<uint64_t> limit{0};
      std::atomic<uint64_t> between_sums{0};  // a mask of `turn`: sum up where all are zero
    };
    std::array<Of, 2> of;
    std::atomic<bool> any_caller{false};
  };
  struct Sums {
    int64_t free = 0;
    int64_t without_name = 0;
    int64_t limit = 0;
    int64_t limit_without_name = 0;

    uint64_t LimitOf(bool is_caller) const {
      return static_cast<uint64_t>(is_caller ? limit : limit_without_name);
    }
  };

  static uint64_t TagOf(uint64_t key) {
    return (key & ~kCountMask) | (uint64_t{1} << kCountBits);  // never 0
  }
  // Of the bits that tags keep, so that it can be found again from a tag: roots have the first half
  // of the cells, callers the other.
  uint32_t HomeOf(uint64_t tag) const { return static_cast<uint32_t>(tag >> home_shift_); }
  // The i-th behind its home, of the same half.
  uint32_t Nth(uint64_t tag, uint32_t i) const {
    const uint32_t home = HomeOf(tag);
    return (home & own_cells_) | ((home + i) & (own_cells_ - 1));
  }
  uint32_t SharedCell(uint64_t tag) const {
    return 2 * own_cells_ + static_cast<uint32_t>(tag >> 63);
  }
  static uint64_t SharedTag(uint64_t tag) { return TagOf(tag & PermitHolder::kCallerBit); }
  // Cells in which a holder may be.
  uint32_t window() const { return std::min(kWindow, own_cells_); }
  uint32_t all_cells() const { return 2 * (own_cells_ + 1); }

  // `tag` says of which kind.
  void Count(uint64_t tag, uint32_t stripe, int64_t by) {
    stripes_[stripe].taken[tag >> 63].fetch_add(by, std::memory_order_relaxed);
  }
  Sums SumUp() const;
  void Publish(const Sums& sums);
  // One more in the cell, if that is this holder's still.
  bool TakeAt(uint32_t place, uint64_t tag, uint64_t limit);
  uint16_t TakeOtherwise(const PermitHolder& holder, int64_t now_ns, uint32_t stripe, uint64_t turn)
      ABSL_LOCKS_EXCLUDED(names_mutex_);
  uint16_t FindTag(uint64_t tag) const;
  // A cell of the holder's own, or the shared one.
  uint32_t CellFor(const PermitHolder& holder, int64_t now_ns) ABSL_LOCKS_EXCLUDED(names_mutex_);
  // Whether nobody needs the cell any more.
  static bool IsFree(const Cell& cell, int64_t now_ns);

  const int64_t capacity_;
  const double max_share_;
  const int64_t kept_;          // for those who have few
  const double share_of_rest_;  // infinite: no limit
  const uint32_t own_cells_;    // of a kind, but for the shared one; a power of two
  const int home_shift_;
  const std::unique_ptr<Cell[]> cells_;
  std::array<Stripe, kStripes> stripes_;
  Limits limits_;
  std::atomic<int64_t> turned_away_{0};
  std::atomic<int64_t> without_permit_{0};
  mutable Mutex names_mutex_;  // for cells that change hands; not taken by who has one
  std::vector<std::string> names_ ABSL_GUARDED_BY(names_mutex_);
};

}  // namespace headgate::engine
