#include <algorithm>

#include "server/engine/cost_model.h"
#include "server/engine/saved_state.h"

namespace headgate::engine {
namespace {

SavedAverage Plain(const auto& average) { return {.value = average.value, .count = average.count}; }

}  // namespace

void CostModel::Save(SavedState& state) const {
  state.patterns.clear();
  for (uint64_t set = 0; set <= mask_; ++set) {
    MutexLock lock(&locks_[set & (kStripes - 1)]);
    for (const Cell& cell : sets_[set].ways) {
      const uint64_t key = cell.key.load(std::memory_order_relaxed);  // its lock is held
      if (key == 0) continue;
      state.patterns.push_back({.key = key,
                                .learnt_at = cell.learnt_at,
                                .estimate = Plain(cell.estimate),
                                .actual = Plain(cell.actual),
                                .mean = Plain(cell.mean)});
    }
  }
}

void CostModel::Restore(const SavedState& state) {
  uint64_t latest = 0;
  for (const SavedPattern& saved : state.patterns) {
    latest = std::max(latest, saved.learnt_at);
    const uint64_t set = (saved.key >> 20) & mask_;
    MutexLock lock(&locks_[set & (kStripes - 1)]);
    auto& ways = sets_[set].ways;
    Cell& cell = *std::min_element(ways.begin(), ways.end(), [](const Cell& a, const Cell& b) {
      return a.learnt_at < b.learnt_at;
    });
    if (cell.learnt_at >= saved.learnt_at) continue;  // a smaller table keeps the latest
    cell.learnt_at = saved.learnt_at;
    cell.estimate = {saved.estimate.value, saved.estimate.count};
    cell.actual = {saved.actual.value, saved.actual.count};
    cell.mean = {saved.mean.value, saved.mean.count};
    // relaxed: nobody else uses the model yet.
    cell.published.store(PublishedOf(cell), std::memory_order_relaxed);
    cell.key.store(saved.key, std::memory_order_relaxed);
  }
  reports_.store(latest, std::memory_order_relaxed);
}

}  // namespace headgate::engine
