#include "server/decide/engine/permit_holders.h"

#include <algorithm>

namespace headgate::engine {

uint16_t PermitHolders::TakeOtherwise(const PermitHolder& holder, int64_t now_ns,
                                      const Asking& asking) {
  const uint64_t tag = HolderCells::TagOf(holder.key);
  const bool is_caller = holder.is_caller();
  uint16_t cell = cells_.Find(tag);  // perhaps behind another's
  if (is_caller && cell == kNone) share_.NoteCaller();
  if (cell == kNone || share_.IsSumDue(is_caller, asking.turn) ||
      !cells_.TakeAt(cell, tag, share_.LimitOf(is_caller))) {
    cell = cells_.CellFor(holder, now_ns);
    const PermitShare::Sums sums = share_.SumUp();
    share_.Publish(sums);
    // A cell that was taken over just now, for want of permits, is as good as none.
    const auto limit = static_cast<uint64_t>(sums.LimitOf(is_caller));
    if (!cells_.TakeAt(cell, cells_.CountedAs(cell, tag), limit)) return kNone;
  }
  cells_.Touch(cell, now_ns);
  share_.Count(is_caller, asking.stripe, 1);
  return cell;
}

uint16_t PermitHolders::KnownCellOf(const PermitHolder& holder) const {
  const uint16_t known = Find(holder);
  return known != kNone ? known : cells_.SharedCell(holder.key);
}

PermitHolders::Standing PermitHolders::StandingOf(const PermitHolder& holder) const {
  const PermitShare::Sums sums = share_.SumUp();
  Standing standing{.permits = cells_.CountAt(KnownCellOf(holder)),
                    .limit = sums.LimitOf(holder.is_caller()),
                    .table_full = sums.free == 0};
  standing.may_take = standing.permits < standing.limit;
  return standing;
}

PermitHolders::Standing PermitHolders::CountTurnedAway(const PermitHolder& holder) {
  cells_.CountTurnedAway(KnownCellOf(holder));
  turned_away_.fetch_add(1, std::memory_order_relaxed);
  Standing standing = StandingOf(holder);
  // Others may have released some since it was refused.
  standing.permits = std::max(standing.permits, standing.limit);
  return standing;
}

uint16_t PermitHolders::Restore(uint64_t saved_key, int64_t now_ns, bool counts) {
  const uint64_t tag = HolderCells::TagOf(saved_key);
  const bool is_caller = HolderCells::IsCallers(tag);
  uint16_t cell = cells_.SharedCell(tag);
  if (tag != HolderCells::SharedTag(tag)) {
    if (is_caller && cells_.Find(tag) == kNone) share_.NoteCaller();
    cell = cells_.CellFor({.key = saved_key, .name = {}}, now_ns);
  }
  cells_.Restore(cell, now_ns);
  if (counts) share_.Count(is_caller, 0, 1);
  share_.Publish(share_.SumUp());
  return cell;
}

}  // namespace headgate::engine
