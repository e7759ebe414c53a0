// Listing what was learnt, and forgetting it.

#include "server/decide/engine/cost_model.h"

namespace headgate::engine {

CostModel::Entry CostModel::EntryOf(const Details& details) const {
  return {.subject = details.subject,
          .cost = details.cost,
          .busy = details.busy,
          .reports = details.reports.load(std::memory_order_relaxed),
          .reported_at_ns = details.reported_at_ns,
          .names = details.names == nullptr ? CostNames::Names{} : details.names->views()};
}

void CostModel::ForEach(absl::FunctionRef<void(const Entry&)> visit) const {
  for (size_t set = 0; set <= mask_; ++set) {
    MutexLock lock(&LockOf(set));
    for (const Cell& cell : sets_[set].ways) {
      // relaxed: its lock is held.
      if (cell.key.load(std::memory_order_relaxed) == 0) continue;
      visit(EntryOf(details_[PlaceOf(cell)]));
    }
  }
}

void CostModel::ForgetIf(absl::FunctionRef<bool(const Entry&)> is_it) {
  for (size_t set = 0; set <= mask_; ++set) {
    MutexLock lock(&LockOf(set));
    for (Cell& cell : sets_[set].ways) {
      Details& details = details_[PlaceOf(cell)];
      if (cell.key.load(std::memory_order_relaxed) == 0 || !is_it(EntryOf(details))) continue;
      // release: whoever still sees what stood there has seen its key.
      cell.key.store(0, std::memory_order_release);
      details.learnt_at = 0;
      SetNames(details, nullptr);
    }
  }
}

}  // namespace headgate::engine
