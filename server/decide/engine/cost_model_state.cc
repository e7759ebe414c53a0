#include <algorithm>
#include <utility>

#include "server/decide/engine/cost_model.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {

void CostModel::Save(SavedState& state) const {
  state.patterns.clear();
  for (uint64_t set = 0; set <= mask_; ++set) {
    MutexLock lock(&LockOf(set));
    for (const Cell& cell : sets_[set].ways) {
      if (cell.key.load(std::memory_order_relaxed) == 0) continue;  // its lock is held
      const Details& details = details_[PlaceOf(cell)];
      SavedPattern& saved = state.patterns.emplace_back();
      saved.subject = details.subject;
      saved.learnt_at = details.learnt_at;
      saved.reported_at_ns = details.reported_at_ns;
      saved.reports = details.reports.load(std::memory_order_relaxed);
      details.cost.Save(saved.cost);
      details.busy.Save(saved.busy);
      if (details.names != nullptr) {
        saved.named = true;
        saved.names = *details.names;
      }
    }
  }
}

void CostModel::Restore(const SavedState& state) {
  uint64_t latest = 0;
  for (const SavedPattern& saved : state.patterns) {
    latest = std::max(latest, saved.learnt_at);
    const uint64_t owner = saved.subject.Owner();
    const bool of_owner = saved.subject.pattern == 0;
    const uint64_t key = of_owner ? owner : CostSubject::PatternKey(owner, saved.subject.pattern);
    const size_t set = SetOf(key);
    MutexLock lock(&LockOf(set));
    auto& ways = sets_[set].ways;
    const auto learnt_at = [&](const Cell& cell) { return details_[PlaceOf(cell)].learnt_at; };
    Cell& cell = *std::min_element(ways.begin(), ways.end(), [&](const Cell& a, const Cell& b) {
      return learnt_at(a) < learnt_at(b);
    });
    Details& details = details_[PlaceOf(cell)];
    if (details.learnt_at >= saved.learnt_at) continue;  // a smaller table keeps the latest
    details.subject = saved.subject;
    details.learnt_at = saved.learnt_at;
    details.reported_at_ns = saved.reported_at_ns;
    details.reports.store(saved.reports, std::memory_order_relaxed);
    details.cost.Restore(saved.cost);
    details.busy.Restore(saved.busy);
    SetNames(details, saved.named ? CostNames::Keep(saved.names.views()) : nullptr);
    Publish(cell, details);
    // relaxed: nobody else uses the model yet.
    cell.key.store(key, std::memory_order_relaxed);
  }
  reports_.store(latest, std::memory_order_relaxed);
}

}  // namespace headgate::engine
