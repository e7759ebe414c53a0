// How many permits each holder has, and whether it may have another: in fixed memory.
//
// How many it may have is for permit_share.h to say, and where it is counted for holder_cells.h.
// Both together have it that whoever has a cell and no permit always gets one. A refusal always
// sums up first, so that none is by sums that are out of date.
//
// Thread-safe. Take and Release are two read-modify-writes each for a holder that is known.
//
//   const uint16_t cell = holders.Take(etl, now_ns, {.stripe = stripe, .turn = turn});
//   if (cell != PermitHolders::kNone) holders.Release(cell, stripe);

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/attributes.h"
#include "server/decide/engine/holder_cells.h"
#include "server/decide/engine/permit_holder.h"
#include "server/decide/engine/permit_share.h"

namespace headgate::engine {

struct SavedHolder;

class PermitHolders {
 public:
  static constexpr uint16_t kNone = HolderCells::kNone;
  static constexpr uint32_t kStripes = PermitShare::kStripes;

  // See PermitShare.
  PermitHolders(size_t permits, double max_share) : share_(permits, max_share), cells_(permits) {}
  PermitHolders(const PermitHolders&) = delete;
  PermitHolders& operator=(const PermitHolders&) = delete;

  // Threads are spread over the stripes in the order in which they first ask.
  static uint32_t StripeOfThread() {
    static std::atomic<uint32_t> next{0};
    thread_local uint32_t mine = 0;  // 0: not yet
    if (mine == 0) mine = next.fetch_add(1, std::memory_order_relaxed) + 1;
    return mine % kStripes;
  }

  // Which thread asks: its stripe, which is below kStripes, and mostly no other thread's as well;
  // and `turn`, which counts up with the calls of that stripe.
  struct Asking {
    uint32_t stripe = 0;
    uint64_t turn = 0;
  };
  // Counts a permit for the holder and returns its cell; kNone where it may have no more.
  ABSL_ATTRIBUTE_ALWAYS_INLINE uint16_t Take(const PermitHolder& holder, int64_t now_ns,
                                             const Asking& asking) {
    const uint64_t tag = HolderCells::TagOf(holder.key);
    const uint16_t home = cells_.HomeOf(tag);
    const bool is_caller = HolderCells::IsCallers(tag);
    if (!share_.IsSumDue(is_caller, asking.turn) &&
        cells_.TryTakeAt(home, tag, share_.LimitOf(is_caller))) [[likely]] {
      cells_.Touch(home, now_ns);
      share_.Count(is_caller, asking.stripe, 1);
      return home;
    }
    return TakeOtherwise(holder, now_ns, asking);
  }
  // Gives one back that was taken, or restored into the table.
  void Release(uint16_t cell, uint32_t stripe) { share_.Count(cells_.Release(cell), stripe, -1); }

  // The holder's cell, kNone where it has none.
  uint16_t Find(const PermitHolder& holder) const {
    return cells_.Find(HolderCells::TagOf(holder.key));
  }

  // What a holder that may have no more is told.
  struct Standing {
    int64_t permits = 0;
    int64_t limit = 0;
    bool table_full = false;
    bool may_take = false;
  };
  Standing StandingOf(const PermitHolder& holder) const;
  // The same, and counts a Check that was refused because of it.
  Standing CountTurnedAway(const PermitHolder& holder);
  // Counts a Check that was charged but got no permit, because it can do without.
  void NoteWithout() { without_permit_.fetch_add(1, std::memory_order_relaxed); }

  int64_t turned_away() const { return turned_away_.load(std::memory_order_relaxed); }
  int64_t without_permit() const { return without_permit_.load(std::memory_order_relaxed); }
  double max_share() const { return share_.max_share(); }
  // What one who has none now could come to, if others took no more.
  int64_t RoomForOne() const { return share_.RoomForOne(); }
  // Those with permits or with Checks that were turned away: most permits first.
  std::vector<PermitHolderView> Top(size_t most) const { return cells_.Top(most); }

  // For PermitTable::Save and Restore. Of a key that is saved, the bits that cells keep are left.
  uint64_t SavedKeyOf(uint16_t cell) const { return cells_.SavedKeyOf(cell); }
  void SaveNames(std::vector<SavedHolder>& names) const { cells_.SaveNames(names); }
  // Into a table that nobody uses yet. `counts`: it takes one of the places for new permits.
  uint16_t Restore(uint64_t saved_key, int64_t now_ns, bool counts);
  void RestoreNames(const std::vector<SavedHolder>& names) { cells_.RestoreNames(names); }
  // Gives one back that was restored with `counts` false.
  void ReleaseUncounted(uint16_t cell) { cells_.Release(cell); }

 private:
  uint16_t TakeOtherwise(const PermitHolder& holder, int64_t now_ns, const Asking& asking);
  // Its own, or the one that it shares.
  uint16_t KnownCellOf(const PermitHolder& holder) const;

  PermitShare share_;
  HolderCells cells_;
  std::atomic<int64_t> turned_away_{0};
  std::atomic<int64_t> without_permit_{0};
};

}  // namespace headgate::engine
